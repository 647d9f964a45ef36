//! The facts about a hook process that its payload leaves out, taken in as plain values.

/// Environment variables that tell which host started the process, or where its project is.
pub const HINT_VARIABLES: [&str; 13] = [
    "CURSOR_VERSION",
    "CURSOR_PROJECT_DIR",
    "QWEN_PROJECT_DIR",
    "GEMINI_SESSION_ID",
    "GEMINI_PROJECT_DIR",
    "FACTORY_PROJECT_DIR",
    "DEVIN_PROJECT_DIR",
    "CRUSH",
    "CRUSH_PROJECT_DIR",
    "COPILOT_CLI",
    "CLAUDE_PROJECT_DIR",
    "DROID_PLUGIN_ROOT",
    "USER_PROMPT",
];

/// The variables among them that hold the project's folder.
const PROJECT_VARIABLES: [&str; 7] = [
    "CURSOR_PROJECT_DIR",
    "QWEN_PROJECT_DIR",
    "GEMINI_PROJECT_DIR",
    "FACTORY_PROJECT_DIR",
    "DEVIN_PROJECT_DIR",
    "CRUSH_PROJECT_DIR",
    "CLAUDE_PROJECT_DIR",
];

/// What the caller knows about its process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    variables: Vec<(&'static str, String)>,
    process_cwd: Option<String>,
    is_input_unfinished: bool,
}

impl Hints {
    /// Asks `lookup` for each of [`HINT_VARIABLES`] and keeps the ones that are not empty.
    #[must_use]
    pub fn collect(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let variables = HINT_VARIABLES
            .into_iter()
            .filter_map(|name| Some((name, lookup(name)?)))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        Self { variables, process_cwd: None, is_input_unfinished: false }
    }

    /// Adds the directory the process runs in, the last resort for an event's `cwd`.
    #[must_use]
    pub fn with_process_cwd(mut self, directory: impl Into<String>) -> Self {
        self.process_cwd = Some(directory.into());
        self
    }

    /// Adds that the host was still writing, or had not begun to, when reading stopped.
    #[must_use]
    pub fn with_unfinished_input(mut self) -> Self {
        self.is_input_unfinished = true;
        self
    }

    pub(crate) fn is_input_unfinished(&self) -> bool {
        self.is_input_unfinished
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The projects that the variables of hosts name.
    pub fn project_folders(&self) -> impl Iterator<Item = &str> {
        PROJECT_VARIABLES.into_iter().filter_map(|name| self.get(name))
    }

    /// The directory the process runs in.
    #[must_use]
    pub fn process_cwd(&self) -> Option<&str> {
        self.process_cwd.as_deref()
    }
}
