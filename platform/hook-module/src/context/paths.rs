//! Where everything of one workspace and one session is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dispatch_os::paths::{normalise_path, safe_file_name};

use super::work_layout::WorkLayout;

/// The folder of configuration, below the repository.
pub const HOOKS_FOLDER: &str = ".ai/hooks";
/// The folder of everything the pipeline writes, below the repository.
pub const WORK_FOLDER: &str = ".ai/tmp";

/// What the folders and files of sessions are called, below the folder of configuration.
pub const LAYOUT_NAME: &str = "workspace.json";

/// The folder of the user's own rules, below the user's configuration.
pub const USER_HOOKS_FOLDER: &str = "hooks";
/// The folder of what the pipeline writes where a workspace has no rules of its own, below the user's data.
const USER_WORK_FOLDER: &str = "hook-sessions";

/// All paths of one invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The workspace.
    pub repo_root: PathBuf,
    /// `.ai/hooks`
    pub hooks_root: PathBuf,
    /// `.ai/tmp`
    pub work_root: PathBuf,
    /// `.ai/tmp/<sid>`
    pub session_root: PathBuf,
    /// What the files are called, where the workspace says so.
    layout: Option<Arc<WorkLayout>>,
}

impl Paths {
    /// The paths of a session. An id that could name another folder is made harmless.
    #[must_use]
    pub fn new(repo_root: &Path, session_id: &str) -> Self {
        Self::laid_out(repo_root, session_id, None)
    }

    /// The same, with the names that the workspace gives its files.
    #[must_use]
    pub fn laid_out(repo_root: &Path, session_id: &str, layout: Option<Arc<WorkLayout>>) -> Self {
        let work_root = repo_root.join(layout.as_deref().map_or(WORK_FOLDER, |layout| &layout.work_root));
        let session_root = work_root.join(safe_file_name(session_id));
        let hooks_root = repo_root.join(HOOKS_FOLDER);
        Self { repo_root: repo_root.to_path_buf(), hooks_root, work_root, session_root, layout }
    }

    /// The same workspace and session, ruled by what another folder holds.
    #[must_use]
    pub fn ruled_by(&self, hooks_root: PathBuf) -> Self {
        Self { hooks_root, ..self.clone() }
    }

    /// The paths of another session of the same workspace.
    #[must_use]
    pub fn of_session(&self, session_id: &str) -> Self {
        Self { session_root: self.work_root.join(safe_file_name(session_id)), ..self.clone() }
    }

    fn name<'a>(&'a self, chosen: impl FnOnce(&'a WorkLayout) -> &'a str, usual: &'a str) -> &'a str {
        self.layout.as_deref().map_or(usual, chosen)
    }

    /// The paths of a session in a workspace without rules of its own: the user's hold, and nothing is written there.
    #[must_use]
    pub fn of_user(repo_root: &Path, hooks_root: &Path, data: &Path, session_id: &str) -> Self {
        let work_root = data.join(USER_WORK_FOLDER);
        let session_root = work_root.join(safe_file_name(session_id));
        let (repo_root, hooks_root) = (repo_root.to_path_buf(), hooks_root.to_path_buf());
        Self { repo_root, hooks_root, work_root, session_root, layout: None }
    }

    /// The folders between the folder of sessions and `.ai`, where the workspace has its own for sessions.
    pub fn work_folders_above(&self) -> impl Iterator<Item = &Path> {
        let is_own = self.layout.is_some();
        let above = self.work_root.ancestors().skip(1);
        above.take_while(move |folder| is_own && folder.parent() != Some(&self.repo_root))
    }

    /// The folder above what the pipeline writes: `.ai`.
    #[must_use]
    pub fn top_folder(&self) -> Option<&Path> {
        match self.layout {
            None => self.work_root.parent(),
            Some(_) => self.work_root.ancestors().find(|folder| folder.parent() == Some(&self.repo_root)),
        }
    }

    /// The cached state of the session.
    #[must_use]
    pub fn state_file(&self) -> PathBuf {
        self.session_root.join(self.name(|layout| &layout.state_file, "state.json"))
    }

    /// The log, which is the truth.
    #[must_use]
    pub fn events_file(&self) -> PathBuf {
        self.session_root.join(self.name(|layout| &layout.events_file, "events.jsonl"))
    }

    /// The prompts.
    #[must_use]
    pub fn prompts_file(&self) -> PathBuf {
        self.session_root.join(self.name(|layout| &layout.prompts_file, "p.jsonl"))
    }

    /// What modules made.
    #[must_use]
    pub fn registry_file(&self) -> PathBuf {
        self.session_root.join(self.name(|layout| &layout.registry_file, "registry.jsonl"))
    }

    /// The trace of the pipeline itself.
    #[must_use]
    pub fn trace_file(&self) -> PathBuf {
        self.work_root.join(self.name(|layout| &layout.trace_file, "dispatch.log"))
    }

    /// The user's exceptions.
    #[must_use]
    pub fn exceptions_file(&self) -> PathBuf {
        self.work_root.join(self.name(|layout| &layout.exceptions_file, "exceptions.json"))
    }

    /// What the folders and files of sessions are called.
    #[must_use]
    pub fn layout_file(&self) -> PathBuf {
        self.hooks_root.join(LAYOUT_NAME)
    }

    /// The configuration of the modules.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.hooks_root.join("config.json")
    }

    /// Which modules run, and how.
    #[must_use]
    pub fn manifest_file(&self) -> PathBuf {
        self.hooks_root.join("dispatch.manifest.json")
    }

    /// Which work must be delegated.
    #[must_use]
    pub fn policy_file(&self) -> PathBuf {
        self.hooks_root.join("rlm-policy.json")
    }

    /// Which reminders are given when.
    #[must_use]
    pub fn followup_rules_file(&self) -> PathBuf {
        self.hooks_root.join("followup-rules.json")
    }

    /// The JSON Schemas.
    #[must_use]
    pub fn schema_dir(&self) -> PathBuf {
        self.hooks_root.join("schema")
    }

    /// The folder of a script module's source.
    #[must_use]
    pub fn module_source(&self, name: &str) -> PathBuf {
        self.hooks_root.join("features").join(name)
    }

    /// A module's own folder in the session.
    #[must_use]
    pub fn module_folder(&self, name: &str) -> PathBuf {
        self.session_root.join(folder_name(name))
    }

    /// Where a module's log goes.
    #[must_use]
    pub fn module_logs(&self, name: &str) -> PathBuf {
        self.module_folder(name).join(self.name(|layout| &layout.logs_folder, "logs"))
    }

    /// Where a module's files go.
    #[must_use]
    pub fn module_output(&self, name: &str) -> PathBuf {
        self.module_folder(name).join(self.name(|layout| &layout.output_folder, "output"))
    }

    /// The folders of a module.
    #[must_use]
    pub fn module_folders(&self, name: &str) -> ModuleFolders {
        ModuleFolders { root: self.module_folder(name), logs: self.module_logs(name), output: self.module_output(name) }
    }

    /// The path below the session's folder, with `/` between the parts.
    #[must_use]
    pub fn rel_ref(&self, path: &Path) -> Option<String> {
        below(&self.session_root, path)
    }

    /// The path below the workspace, with `/` between the parts; the workspace itself is `""`.
    #[must_use]
    pub fn repo_relative(&self, path: &Path) -> Option<String> {
        below(&self.repo_root, path)
    }
}

/// The folders of one module in one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFolders {
    /// Its own folder.
    pub root: PathBuf,
    /// Its logs.
    pub logs: PathBuf,
    /// Its files.
    pub output: PathBuf,
}

/// Module names are file names already, apart from letters in upper case, which stay readable.
fn folder_name(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !name.is_empty() && name.len() <= 64 && name.bytes().all(plain) && !name.starts_with('-') {
        return name.to_owned();
    }
    safe_file_name(name)
}

fn below(root: &Path, path: &Path) -> Option<String> {
    let path = normalise_path(path);
    let rest = path.strip_prefix(root).ok()?;
    let parts: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_stays_below_the_session_whatever_the_ids_say() {
        let paths = Paths::new(Path::new("/repo"), "../../etc");
        assert!(paths.session_root.starts_with("/repo/.ai/tmp"));
        assert_eq!(paths.session_root.parent(), Some(paths.work_root.as_path()));
        for name in ["../x", "/etc", "a/b", "", ".", "..", "-rf", "\u{0}"] {
            let root = paths.module_folder(name);
            assert_eq!(root.parent(), Some(paths.session_root.as_path()), "{name:?}");
        }
        assert!(paths.module_output("planGraph-exec").ends_with("planGraph-exec/output"));
    }

    #[test]
    fn relative_forms_are_below_their_root_or_nothing() {
        let paths = Paths::new(Path::new("/repo"), "a3f0c812");
        assert_eq!(paths.repo_relative(Path::new("/repo/src/../a.rs")).as_deref(), Some("a.rs"));
        assert_eq!(paths.repo_relative(Path::new("/repo")).as_deref(), Some(""));
        assert_eq!(paths.repo_relative(Path::new("/repo/../x")), None);
        assert_eq!(paths.repo_relative(Path::new("/repository")), None);
        assert_eq!(paths.rel_ref(&paths.module_output("x")).as_deref(), Some("x/output"));
    }
}
