//! `workspace.json`: what the folders and files of sessions are called. No name in it leads out of `.ai/tmp`.
//!
//! Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::paths::WORK_FOLDER;

/// The largest file that is read.
pub const LAYOUT_LIMIT_BYTES: u64 = 16 * 1024;
/// The longest name, and the longest path of a folder.
const MAX_NAME_BYTES: usize = 64;
const MAX_PATH_BYTES: usize = 200;

/// Where sessions are kept, and what their files are called. What is left out has its default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct WorkLayout {
    /// The version of the format.
    pub version: u32,
    /// The folder of all sessions: `.ai/tmp` or a folder below it.
    pub work_root: String,
    /// The cached state of a session.
    pub state_file: String,
    /// The log of a session, which is the truth.
    pub events_file: String,
    /// The prompts of a session.
    pub prompts_file: String,
    /// What the modules of a session made.
    pub registry_file: String,
    /// The trace of the pipeline itself, beside the sessions.
    pub trace_file: String,
    /// The user's exceptions, beside the sessions.
    pub exceptions_file: String,
    /// The folder of a module's logs, below its own.
    pub logs_folder: String,
    /// The folder of a module's files, below its own.
    pub output_folder: String,
}

impl Default for WorkLayout {
    fn default() -> Self {
        Self {
            version: 1,
            work_root: WORK_FOLDER.to_owned(),
            state_file: "state.json".to_owned(),
            events_file: "events.jsonl".to_owned(),
            prompts_file: "p.jsonl".to_owned(),
            registry_file: "registry.jsonl".to_owned(),
            trace_file: "dispatch.log".to_owned(),
            exceptions_file: "exceptions.json".to_owned(),
            logs_folder: "logs".to_owned(),
            output_folder: "output".to_owned(),
        }
    }
}

impl WorkLayout {
    /// Every key but the version.
    pub const KEYS: [&'static str; 9] = [
        "workRoot",
        "stateFile",
        "eventsFile",
        "promptsFile",
        "registryFile",
        "traceFile",
        "exceptionsFile",
        "logsFolder",
        "outputFolder",
    ];

    /// Reads the file. Whatever is wrong with it is told, and the default stands in its place.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> (Self, Vec<String>) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let fields = match serde_json::from_slice(text) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return (Self::default(), vec!["not an object, so the defaults hold".to_owned()]),
            Err(error) => return (Self::default(), vec![format!("not JSON, so the defaults hold: {error}")]),
        };
        let mut layout = Self::default();
        let mut problems = Vec::new();
        for (key, value) in &fields {
            if let Err(problem) = layout.set(key, value) {
                problems.push(format!("`{key}` {problem}"));
            }
        }
        if layout.has_twice() {
            problems.push("two files have the same name, so the defaults hold".to_owned());
            layout = Self::default();
        }
        (layout, problems)
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), &'static str> {
        let slot = match key {
            "version" | "$schema" => return Ok(()),
            "workRoot" => &mut self.work_root,
            "stateFile" => &mut self.state_file,
            "eventsFile" => &mut self.events_file,
            "promptsFile" => &mut self.prompts_file,
            "registryFile" => &mut self.registry_file,
            "traceFile" => &mut self.trace_file,
            "exceptionsFile" => &mut self.exceptions_file,
            "logsFolder" => &mut self.logs_folder,
            "outputFolder" => &mut self.output_folder,
            _ => return Err("is not known"),
        };
        let text = value.as_str().ok_or("is not a text, so its default holds")?;
        if key == "workRoot" {
            if !is_below_work_folder(text) {
                return Err("is not `.ai/tmp` or a plain folder below it, so its default holds");
            }
        } else if !is_plain_name(text) {
            return Err("is not a plain name (letters, digits, `.`, `_`, `-`), so its default holds");
        } else if key.ends_with("File") != text.contains('.') {
            // Folders of modules have no dot, so no file can take the place of one.
            return Err("needs a dot in the name of a file and none in that of a folder, so its default holds");
        }
        text.clone_into(slot);
        Ok(())
    }

    fn has_twice(&self) -> bool {
        let session = [&self.state_file, &self.events_file, &self.prompts_file, &self.registry_file];
        let twice = session.iter().enumerate().any(|(at, name)| session[..at].contains(name));
        twice || self.trace_file == self.exceptions_file || self.logs_folder == self.output_folder
    }
}

/// A name that stays in its folder on every system, and is not one of a device or a hidden file.
fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['.', '-'])
}

fn is_below_work_folder(path: &str) -> bool {
    match path.strip_prefix(WORK_FOLDER) {
        Some("") => true,
        Some(rest) => {
            path.len() <= MAX_PATH_BYTES
                && rest.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_plain_name))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(value: &Value) -> (WorkLayout, Vec<String>) {
        WorkLayout::parse(value.to_string().as_bytes())
    }

    #[test]
    fn what_is_named_counts_and_the_rest_has_its_default() {
        assert_eq!(parsed(&json!({})), (WorkLayout::default(), Vec::new()));
        let (layout, problems) = parsed(&json!({"version": 1, "workRoot": ".ai/tmp/team", "eventsFile": "log.jsonl"}));
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!((layout.work_root.as_str(), layout.events_file.as_str()), (".ai/tmp/team", "log.jsonl"));
        assert_eq!(layout.state_file, "state.json");
        let keys = serde_json::to_value(WorkLayout::default()).expect("an object");
        assert!(WorkLayout::KEYS.iter().all(|key| keys.get(key).is_some()), "{keys}");
    }

    #[test]
    fn no_name_leads_out_of_the_work_folder() {
        let roots = [
            "/etc",
            "/",
            "..",
            ".ai",
            ".ai/hooks",
            ".ai/tmp/..",
            ".ai/tmp/../hooks",
            ".ai/tmpx",
            ".ai/tmp//x",
            ".ai/tmp/",
            ".ai/tmp/a\\b",
            "C:\\x",
            ".ai/tmp/.hidden",
            "~/x",
            ".ai/tmp/\u{0}",
            "",
            ".git",
        ];
        for root in roots {
            let (layout, problems) = parsed(&json!({ "workRoot": root }));
            assert_eq!((layout, problems.len()), (WorkLayout::default(), 1), "{root:?}");
        }
        for key in &WorkLayout::KEYS[1..] {
            for name in
                ["../x.json", "/etc/x.json", "a/b.json", "..", ".", "", "-rf.json", ".x.json", "a\\b.json", "a:b.json"]
            {
                let (layout, problems) = parsed(&json!({ *key: name }));
                assert_eq!((layout, problems.len()), (WorkLayout::default(), 1), "{key} {name:?}");
            }
        }
    }

    #[test]
    fn mistakes_cost_what_they_are_about() {
        let (layout, problems) =
            parsed(&json!({"stateFile": 1, "eventsFile": "e.jsonl", "odd": "x", "logsFolder": "l.d"}));
        assert_eq!((layout.events_file.as_str(), problems.len()), ("e.jsonl", 3));
        let (layout, problems) = parsed(&json!({"stateFile": "p.jsonl"}));
        assert_eq!((layout, problems.len()), (WorkLayout::default(), 1));
        for text in ["[]", "{", "\u{0}"] {
            assert_eq!(WorkLayout::parse(text.as_bytes()).0, WorkLayout::default(), "{text}");
        }
    }
}
