//! `.akira/logs/hooks.log`: one line of JSON for each step of a run, for scripts and for people who look back.

use crate::contract::ExecutionRecord;
use dispatch_os::files::{self, append_line};
use dispatch_os::paths::resolve_inside;
use dispatch_os::{AppendOptions, FileLock, LockKind, OsError};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file, below the workspace.
const FOLDER: &str = ".akira/logs";
const NAME: &str = "hooks.log";
/// A file of this size is put aside.
const ROTATE_BYTES: u64 = 5 * 1024 * 1024;
/// How many are put aside.
const KEPT_FILES: u32 = 3;
const LOCK_WAIT: Duration = Duration::from_millis(50);
/// The longest reason that a line repeats.
const REASON_CHARACTERS: usize = 1_000;

/// Writes a line about a run.
///
/// # Errors
/// When the file cannot be written, or lies outside the workspace.
pub(crate) fn write(workspace: &Path, now: &str, record: &ExecutionRecord) -> Result<(), OsError> {
    let folder = folder(workspace)?;
    let path = folder.join(NAME);
    if files::symlink_metadata(&path).is_ok_and(|found| found.len() >= ROTATE_BYTES) {
        rotate(&folder)?;
    }
    append_line(&path, line(now, record).as_bytes(), AppendOptions::default())
}

fn line(now: &str, record: &ExecutionRecord) -> String {
    let cut = |text: &str| text.chars().take(REASON_CHARACTERS).collect::<String>();
    json!({
        "ts": now,
        "runId": record.id,
        "hookId": record.hook_id,
        "status": record.status,
        "attempts": record.attempts,
        "durationMs": record.duration_ms(),
        "reason": cut(&record.reason),
        "summary": cut(&record.summary()),
    })
    .to_string()
}

/// The folder, made if it is missing. A link that leads out of the workspace is not followed.
fn folder(workspace: &Path) -> Result<PathBuf, OsError> {
    let found = resolve_inside(workspace, Path::new(FOLDER))?;
    if !found.is_inside() {
        return Err(OsError::Outside { path: FOLDER.into(), root: workspace.to_path_buf() });
    }
    if !files::is_dir(&found.path) {
        let failed = |source| OsError::Io { action: "create", path: found.path.clone(), source };
        files::create_dir_all(&found.path).map_err(failed)?;
        // What a run printed does not belong into a commit.
        let _ = files::write(found.path.join(".gitignore"), "*\n");
    }
    Ok(found.path)
}

/// Puts the file aside, once, whoever else wants to.
fn rotate(folder: &Path) -> Result<(), OsError> {
    let _lock = FileLock::acquire(&folder.join(".hooks.lock"), LockKind::Exclusive, LOCK_WAIT)?;
    let name = |number: u32| match number {
        0 => folder.join(NAME),
        number => folder.join(format!("{NAME}.{number}")),
    };
    if !files::symlink_metadata(name(0)).is_ok_and(|found| found.len() >= ROTATE_BYTES) {
        return Ok(());
    }
    for number in (0..KEPT_FILES).rev() {
        match files::rename(name(number), name(number + 1)) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(OsError::Io { action: "put aside", path: name(number), source });
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{RunId, Status, Usage};

    fn record() -> ExecutionRecord {
        ExecutionRecord {
            id: RunId("01R".into()),
            hook_id: "lint".into(),
            start_ts: "2026-01-01T00:00:00.000Z".into(),
            end_ts: Some("2026-01-01T00:00:01.250Z".into()),
            status: Status::Failed,
            exit_code: Some(2),
            attempts: 3,
            logs: Some("not in the log".into()),
            trigger: "manual".into(),
            files: vec![],
            metadata: serde_json::Map::new(),
            content_hash: None,
            reason: "it did not like\nthe file".into(),
            workspace: "/w".into(),
            wrote: vec![],
            usage: Usage::default(),
            session: None,
            patch: false,
            retry_of: None,
        }
    }

    #[test]
    fn a_line_is_one_object_and_says_it_in_words_too() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "2026-01-01T00:00:01.250Z", &record()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(".akira/logs/hooks.log")).unwrap();
        assert_eq!(text.lines().count(), 1);
        let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        let expected = json!({
            "ts": "2026-01-01T00:00:01.250Z", "runId": "01R", "hookId": "lint", "status": "failed", "attempts": 3,
            "durationMs": 1250, "reason": "it did not like\nthe file",
            "summary": "lint: failed in 1.250 s, exit code 2, 3 attempts: it did not like\nthe file",
        });
        assert_eq!(line, expected);
        assert!(folder.path().join(".akira/logs/.gitignore").is_file());
    }

    #[test]
    fn a_full_file_is_put_aside_and_three_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join(FOLDER);
        files::create_dir_all(&logs).unwrap();
        for number in 0..5 {
            let file = std::fs::File::create(logs.join(NAME)).unwrap();
            file.set_len(ROTATE_BYTES + number).unwrap();
            write(folder.path(), "now", &record()).unwrap();
        }
        let size = |name: &str| logs.join(name).metadata().map(|found| found.len()).ok();
        assert!(size(NAME).is_some_and(|size| size < 10_000));
        let kept: Vec<_> = (1..5).map(|number| size(&format!("{NAME}.{number}"))).collect();
        assert_eq!(kept, [Some(ROTATE_BYTES + 4), Some(ROTATE_BYTES + 3), Some(ROTATE_BYTES + 2), None]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_is_not_followed() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), folder.path().join(".akira")).unwrap();
        assert!(write(folder.path(), "now", &record()).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
        std::fs::remove_file(folder.path().join(".akira")).unwrap();
        files::create_dir_all(folder.path().join(FOLDER)).unwrap();
        let target = outside.path().join("target");
        std::os::unix::fs::symlink(&target, folder.path().join(FOLDER).join(NAME)).unwrap();
        assert!(write(folder.path(), "now", &record()).is_err());
        assert!(!target.exists());
    }
}
