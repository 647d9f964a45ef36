//! The workspace whose hook events a command is about: where its rules are, and which sessions left a log.

use crate::failure::Failure;
use crate::settings::Loaded;
use dispatch_hook_module::{HOOKS_FOLDER, Paths, Record, RecordType, find_workspace};
use dispatch_os::files;
use dispatch_os::paths::safe_file_name;
use dispatch_os::time::UNIX_EPOCH;
use ext_hook_pipeline::contract::{PipelineManifest, RuleTrust, workspace_paths};
use ext_intents::contract::IntentWorkspace;
use std::path::{Path, PathBuf};

/// How much of a log shows whether a call has ended.
const CALL_LINES: usize = 40;
const CALL_BYTES: u64 = 256 * 1024;
/// A call is answered this soon after its hook.
const CALL_MS: i64 = 60_000;
/// How many candidates an error names.
const SHOWN_CANDIDATES: usize = 5;

/// A folder with rules, or one that could have them.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// What the user approved, for what may move files.
    trust_file: PathBuf,
}

/// One session that left a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionLog {
    pub(crate) id: String,
    pub(crate) events_file: PathBuf,
    /// When the log last grew, in Unix milliseconds.
    pub(crate) modified_ms: i64,
}

impl Workspace {
    /// The workspace that the command is run in.
    pub(crate) fn of(loaded: &Loaded) -> Self {
        Self::at(loaded, &loaded.start)
    }

    /// The workspace of this folder.
    pub(crate) fn at(loaded: &Loaded, folder: &Path) -> Self {
        Self { root: find_workspace(folder), trust_file: loaded.trust_file.clone() }
    }

    /// Whether it has rules or intents.
    pub(crate) fn has_something(&self) -> bool {
        files::is_dir(self.root.join(HOOKS_FOLDER)) || IntentWorkspace::at(&self.root).exists()
    }

    /// The same, where the command makes no sense without rules.
    pub(crate) fn with_rules(loaded: &Loaded) -> Result<Self, Failure> {
        let workspace = Self::of(loaded);
        if files::is_dir(workspace.root.join(HOOKS_FOLDER)) {
            return Ok(workspace);
        }
        Err(Failure::usage(format!("{} has no {HOOKS_FOLDER}", workspace.root.display()))
            .hint("`dispatch init` sets up the hook pipeline here"))
    }

    pub(crate) fn paths(&self, session: &str) -> Paths {
        workspace_paths(&self.root, session, RuleTrust::File(&self.trust_file))
    }

    /// The manifest of its pipeline, with the problems found in the file.
    pub(crate) fn manifest(&self) -> (PipelineManifest, Vec<String>) {
        PipelineManifest::load(&self.paths("modules").manifest_file())
    }

    /// The path relative to the workspace, if it is inside.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(inside) if !inside.as_os_str().is_empty() => inside.display().to_string(),
            _ => path.display().to_string(),
        }
    }

    /// Every session with a log, oldest first.
    pub(crate) fn sessions(&self) -> Vec<SessionLog> {
        let paths = self.paths("sessions");
        let folders = files::read_dir(&paths.work_root);
        let names = folders.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<SessionLog> = names.filter_map(|name| session_log(&paths, &name)).collect();
        found.sort_by(|one, other| (one.modified_ms, &one.id).cmp(&(other.modified_ms, &other.id)));
        found
    }

    /// The sessions a command is about: all of them, or the one that is named.
    pub(crate) fn chosen(&self, wanted: Option<&str>) -> Result<Vec<SessionLog>, Failure> {
        let sessions = self.sessions();
        match wanted {
            None => Ok(sessions),
            Some(wanted) => choose(sessions, wanted).map(|session| vec![session]),
        }
    }

    /// The session that is named, by the start of its id; else the one that was active last. Two that were active
    /// lately are ambiguous.
    pub(crate) fn only_session(&self, wanted: Option<&str>) -> Result<SessionLog, Failure> {
        let sessions = self.sessions();
        let newest_ms = sessions.iter().filter_map(|session| self.last_event_ms(&session.id)).max().unwrap_or_default();
        let is_active = |session: &&SessionLog| {
            self.last_event_ms(&session.id).is_some_and(|last_ms| newest_ms - last_ms < ACTIVE_MS)
        };
        let active: Vec<&str> = sessions.iter().filter(is_active).map(|session| session.id.as_str()).collect();
        if wanted.is_none() && active.len() > 1 {
            let names = active.iter().take(SHOWN_CANDIDATES).copied().collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!("{} sessions are active here: {names}", active.len()))
                .hint("name one with --session; in an agent, call the tool of its own host instead"));
        }
        self.session(wanted)
    }

    /// The session whose hook reported a call of this tool that has not ended, if there is exactly one.
    pub(crate) fn session_calling(&self, tool: &str) -> Option<String> {
        let is_calling = |session: &SessionLog| {
            let lines = files::tail_lines(&self.paths(&session.id).events_file(), CALL_LINES, CALL_BYTES);
            let lines = lines.unwrap_or_default();
            let newest = lines.iter().rev().filter_map(|line| Record::parse(line)).find(|record| {
                matches!(record.kind, RecordType::ToolCall | RecordType::ToolResult)
                    && record.data.to_string().contains(tool)
            });
            newest.is_some_and(|record| record.kind == RecordType::ToolCall)
        };
        let now_ms = dispatch_os::time::unix_ms();
        let is_recent = |session: &SessionLog| now_ms - session.modified_ms < CALL_MS;
        let mut calling = self.sessions().into_iter().filter(|session| is_recent(session) && is_calling(session));
        calling.next().filter(|_| calling.next().is_none()).map(|session| session.id)
    }

    fn last_event_ms(&self, id: &str) -> Option<i64> {
        let modified = files::metadata(self.paths(id).events_file()).ok()?.modified().ok()?;
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    }

    /// The session that is named, by the start of its id; else the one that was active last.
    pub(crate) fn session(&self, wanted: Option<&str>) -> Result<SessionLog, Failure> {
        let mut sessions = self.sessions();
        match wanted {
            Some(wanted) => choose(sessions, wanted),
            None => sessions.pop().ok_or_else(|| {
                Failure::usage(format!("no session has left a log in {}", self.root.display()))
                    .hint("a session begins with the first event of an agent; `dispatch init` registers the hooks")
            }),
        }
    }
}

/// Sessions whose last events are less than this apart count as active at the same time.
const ACTIVE_MS: i64 = 15 * 60 * 1000;

/// The session with this id, or the only one whose id begins so.
fn choose(sessions: Vec<SessionLog>, wanted: &str) -> Result<SessionLog, Failure> {
    let exact = sessions.iter().position(|session| session.id == wanted);
    let mut fitting: Vec<SessionLog> = match exact {
        Some(at) => sessions.into_iter().skip(at).take(1).collect(),
        None => sessions.into_iter().filter(|session| !wanted.is_empty() && session.id.starts_with(wanted)).collect(),
    };
    match (fitting.len(), fitting.pop()) {
        (1, Some(session)) => Ok(session),
        (_, None) => Err(Failure::usage(format!("unknown session `{wanted}`"))
            .hint("`dispatch events` lists the sessions of this workspace")),
        (many, Some(last)) => {
            let names = fitting.iter().chain([&last]).take(SHOWN_CANDIDATES).map(|session| session.id.as_str());
            Err(Failure::usage(format!("`{wanted}` is ambiguous: {many} sessions start with it"))
                .hint(format!("choose one: {}", names.collect::<Vec<_>>().join(", "))))
        }
    }
}

fn session_log(paths: &Paths, name: &str) -> Option<SessionLog> {
    if safe_file_name(name) != name {
        return None;
    }
    let events_file = paths.of_session(name).events_file();
    let found = files::symlink_metadata(&events_file).ok().filter(files::Metadata::is_file)?;
    let age = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(SessionLog { id: name.to_owned(), events_file, modified_ms: i64::try_from(age.as_millis()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_hook_module::WORK_FOLDER;

    fn workspace(sessions: &[&str]) -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        for id in sessions {
            let session = folder.path().join(WORK_FOLDER).join(id);
            std::fs::create_dir_all(&session).unwrap();
            std::fs::write(session.join("events.jsonl"), "").unwrap();
        }
        let root = folder.path().to_path_buf();
        let trust_file = root.join("trust.json");
        (folder, Workspace { root, trust_file })
    }

    #[test]
    fn a_session_is_named_by_the_start_of_its_id() {
        let (_folder, workspace) = workspace(&["aa11bb22", "aa33cc44", "ff00ff00"]);
        assert_eq!(workspace.session(Some("ff")).unwrap().id, "ff00ff00");
        assert_eq!(workspace.session(Some("aa33cc44")).unwrap().id, "aa33cc44");
        let many = workspace.session(Some("aa")).unwrap_err();
        assert!(many.hints[0].contains("aa11bb22, aa33cc44"), "{many:?}");
        for wrong in ["", "zz", "..", "../x"] {
            assert!(workspace.session(Some(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_folders_with_a_log_are_sessions() {
        let (folder, workspace) = workspace(&[]);
        assert!(workspace.session(None).is_err());
        let work = folder.path().join(WORK_FOLDER);
        std::fs::create_dir_all(work.join("empty")).unwrap();
        std::fs::write(work.join("exceptions.json"), "{}").unwrap();
        assert_eq!(workspace.sessions(), []);
    }
}
