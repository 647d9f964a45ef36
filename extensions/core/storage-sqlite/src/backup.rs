//! Copies of the database from before it was changed by a migration: for the owner alone, few, and
//! made through SQLite.

use crate::database::Database;
use crate::resolved_location::beside;
use dispatch_contracts::storage::StorageError;
use dispatch_os::files::{self, Access, create_new};
use dispatch_os::time::unix_ms;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How many copies are kept.
pub(crate) const KEPT_BACKUPS: usize = 3;

const SUFFIX: &str = ".backup";
const UNFINISHED: &str = ".part";
const UNFINISHED_AGE: Duration = Duration::from_secs(60 * 60);

/// Copies the database beside itself. A copy is there whole or not at all.
pub(crate) fn make(database: &Database) -> Result<Option<PathBuf>, StorageError> {
    let Some(path) = database.place.path() else { return Ok(None) };
    remove_unfinished(path);
    let target = beside(path, &format!(".{:013}-{}{SUFFIX}", unix_ms().max(0), dispatch_os::process::id()));
    let part = beside(&target, UNFINISHED);
    let copied = copy(database, &part).and_then(|()| {
        files::rename(&part, &target).map_err(|error| format!("cannot name {}: {error}", target.display()))
    });
    if let Err(why) = copied {
        _ = files::remove_file(&part);
        let said = format!("cannot make a backup, so the tables were not changed: {why}");
        return Err(StorageError::Unwritable(said));
    }
    for old in all(path).into_iter().rev().skip(KEPT_BACKUPS) {
        // One that stays costs room, nothing else.
        _ = files::remove_file(old);
    }
    Ok(Some(target))
}

/// The newest copy of a database.
pub(crate) fn newest(path: &Path) -> Option<PathBuf> {
    all(path).pop()
}

fn copy(database: &Database, part: &Path) -> Result<(), String> {
    drop(create_new(part, Access::OwnerOnly).map_err(|error| error.to_string())?);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut target = Connection::open_with_flags(part, flags).map_err(|error| error.to_string())?;
    target.busy_timeout(crate::database::BUSY_WAIT).map_err(|error| error.to_string())?;
    let backup = Backup::new(database.trusted(), &mut target).map_err(|error| error.to_string())?;
    match backup.step(-1).map_err(|error| error.to_string())? {
        StepResult::Done => Ok(()),
        _ => Err("another process holds the database".to_owned()),
    }
}

/// The copies of a database, oldest first: their names hold the time.
fn all(path: &Path) -> Vec<PathBuf> {
    let mut found = siblings(path, SUFFIX);
    found.sort();
    found
}

/// A copy that a killed process left behind is of no use to anybody. A young one may be under way.
fn remove_unfinished(path: &Path) {
    let is_old = |part: &PathBuf| {
        let written = files::symlink_metadata(part).and_then(|metadata| metadata.modified());
        written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > UNFINISHED_AGE))
    };
    for part in siblings(path, UNFINISHED).into_iter().filter(is_old) {
        _ = files::remove_file(part);
    }
}

fn siblings(path: &Path, suffix: &str) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let Ok(entries) = files::read_dir(folder) else { return Vec::new() };
    let start = format!("{name}.");
    let ours = |found: &str| {
        let middle = found.strip_prefix(&start).and_then(|rest| rest.strip_suffix(suffix));
        middle.is_some_and(|middle| {
            middle.trim_end_matches(SUFFIX).bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        })
    };
    let found = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(ours));
    found.map(|entry| entry.path()).collect()
}
