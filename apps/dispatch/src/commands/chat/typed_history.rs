//! What was typed before, kept in a file that only its owner can read, without secrets.

use super::keyboard::MAX_HISTORY;
use dispatch_os::OsError;
use dispatch_os::files::{
    Access, AppendOptions, ReplaceOptions, SymlinkPolicy, TailRepair, append_line, create_dir_owner_only,
    read_private_at_most, replace_with,
};
use dispatch_redact::Redactor;
use std::path::{Path, PathBuf};

/// The name of the file in the state folder.
const FILE_NAME: &str = "chat-history.jsonl";
/// The largest file that is read; a larger one is begun anew.
const LIMIT_BYTES: u64 = 4 * 1024 * 1024;
/// A message that is longer is not worth typing again.
const MAX_LINE_BYTES: usize = 16 * 1024;

const OWNER_ONLY: AppendOptions =
    AppendOptions { tail: TailRepair::Check, access: Access::OwnerOnly, symlink: SymlinkPolicy::Refuse };

/// The file of typed messages.
pub(super) struct TypedHistory {
    path: PathBuf,
    redactor: Redactor,
}

impl TypedHistory {
    pub(super) fn new(state_folder: &Path, redactor: Redactor) -> Self {
        Self { path: state_folder.join(FILE_NAME), redactor }
    }

    /// The messages, oldest first. A file that cannot be read is as good as none; one that has grown is cut.
    pub(super) fn load(&self) -> Vec<String> {
        let bytes = read_private_at_most(&self.path, LIMIT_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut lines: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if lines.len() > 2 * MAX_HISTORY {
            lines.drain(..lines.len() - MAX_HISTORY);
            // A file that stays long is cut the next time.
            let _ = self.replace(&lines);
        }
        lines.drain(..lines.len().saturating_sub(MAX_HISTORY));
        lines
    }

    /// Adds a message; what was kept of it is given back.
    pub(super) fn add(&self, message: &str) -> Result<String, OsError> {
        let kept = self.redactor.redact(message).into_owned();
        if kept.len() <= MAX_LINE_BYTES {
            if let Some(folder) = self.path.parent() {
                create_dir_owner_only(folder)?;
            }
            append_line(&self.path, encoded(&kept).as_bytes(), OWNER_ONLY)?;
        }
        Ok(kept)
    }

    fn replace(&self, lines: &[String]) -> Result<(), OsError> {
        let text: String = lines.iter().map(|line| encoded(line) + "\n").collect();
        replace_with(&self.path, text.as_bytes(), ReplaceOptions { access: Access::OwnerOnly, ..Default::default() })
    }
}

/// A message of several lines on one line.
fn encoded(message: &str) -> String {
    serde_json::Value::from(message).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(folder: &Path) -> TypedHistory {
        TypedHistory::new(folder, Redactor::new(dispatch_redact::Options::default()).unwrap())
    }

    #[test]
    fn messages_come_back_without_their_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let history = history(&folder.path().join("state"));
        assert_eq!(history.load(), Vec::<String>::new());
        history.add("first\nsecond").unwrap();
        let secret = ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
        history.add(&format!("my token is {secret}")).unwrap();
        let known = history.load();
        assert_eq!(known[0], "first\nsecond");
        assert!(known.len() == 2 && !known[1].contains(&secret), "{known:?}");
    }

    #[test]
    fn a_long_history_is_cut_and_bad_lines_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let history = history(folder.path());
        history.replace(&(0..2 * MAX_HISTORY + 5).map(|number| number.to_string()).collect::<Vec<_>>()).unwrap();
        assert_eq!(history.load().len(), MAX_HISTORY);
        append_line(&history.path, b"{ torn", OWNER_ONLY).unwrap();
        let again = history.load();
        assert_eq!((again.len(), again.last().unwrap().as_str()), (MAX_HISTORY, "2004"));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let history = history(folder.path());
        history.add("x").unwrap();
        assert_eq!(history.path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
