//! A look at a database from outside, for people who ask what is wrong: nothing is made or repaired.

use crate::backup;
use crate::contract::Location;
use crate::database::BUSY_WAIT;
use crate::error::translate;
use crate::resolved_location::{ResolvedLocation, beside};
use dispatch_contracts::storage::StorageError;
use dispatch_os::files::{Exposure, free_bytes, symlink_metadata};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// The most findings of SQLite that are shown.
const SHOWN_FINDINGS: usize = 20;
/// A log that should have been folded into the file long ago.
const LARGE_LOG_BYTES: u64 = 256 * 1024 * 1024;
/// Less room than this is worth a word.
const LITTLE_ROOM_BYTES: u64 = 256 * 1024 * 1024;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseInspection {
    /// The file; none for a database in memory, and none when there is no file yet.
    pub path: Option<PathBuf>,
    /// Its size.
    pub bytes: u64,
    /// The size of the log beside it.
    pub log_bytes: u64,
    /// What may still be written on its disk, where the system says.
    pub free_bytes: Option<u64>,
    /// The newest copy from before a migration.
    pub backup: Option<PathBuf>,
    /// What is wrong; empty when all is well.
    pub problems: Vec<DatabaseProblem>,
}

/// Something wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseProblem {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// Looks at a database that need not be there. Reads all of it, so it takes a while for a large one.
#[must_use]
pub fn inspect(location: &Location) -> DatabaseInspection {
    let Location::File(named) = location else { return DatabaseInspection::default() };
    let path = match ResolvedLocation::find(named) {
        Ok(Some(path)) => path,
        Ok(None) => {
            return DatabaseInspection {
                free_bytes: named.parent().and_then(free_bytes),
                ..DatabaseInspection::default()
            };
        }
        Err(error) => {
            let hint = "name a regular file in `storage.url`";
            return DatabaseInspection { problems: vec![problem(error, hint)], ..DatabaseInspection::default() };
        }
    };
    let mut found = DatabaseInspection {
        bytes: size(&path),
        log_bytes: size(&beside(&path, "-wal")),
        free_bytes: path.parent().and_then(free_bytes),
        backup: backup::newest(&path),
        problems: surroundings(&path),
        path: Some(path.clone()),
    };
    if found.log_bytes > LARGE_LOG_BYTES {
        let what = format!("the log beside the database has {} bytes", found.log_bytes);
        found.problems.push(problem(what, "stop every process that uses it; the next start folds the log in"));
    }
    if found.free_bytes.is_some_and(|free| free < LITTLE_ROOM_BYTES) {
        let what = format!("only {} bytes are left on the disk", found.free_bytes.unwrap_or_default());
        found.problems.push(problem(what, "make room: a full disk stops every turn"));
    }
    found.problems.extend(content(&path, found.backup.as_deref()));
    found
}

fn surroundings(path: &Path) -> Vec<DatabaseProblem> {
    let mut problems = Vec::new();
    let folder = path.parent().unwrap_or(path);
    for place in [path, folder] {
        let Ok(metadata) = symlink_metadata(place) else { continue };
        let exposure = Exposure::of(&metadata);
        if !exposure.owned {
            let what = format!("{} belongs to another user", place.display());
            problems.push(problem(what, "run as its owner, or name another file in `storage.url`"));
        }
        if exposure.open_to_others && place == path {
            let what = format!("{} can be opened by other users", place.display());
            problems.push(problem(what, "chmod 600 the file: conversations are private"));
        }
        if metadata.permissions().readonly() {
            let what = format!("{} is read-only", place.display());
            problems.push(problem(what, "make it writable for its owner"));
        }
    }
    problems
}

fn content(path: &Path, backup: Option<&Path>) -> Vec<DatabaseProblem> {
    let hint = match backup {
        Some(backup) => {
            format!("stop every process that uses it, keep a copy, and put {} in its place", backup.display())
        }
        None => {
            "stop every process that uses it, keep a copy, and recover what can be had with `sqlite3 FILE .recover`"
                .to_owned()
        }
    };
    match check(path) {
        Ok(findings) => findings.into_iter().map(|finding| problem(finding, &hint)).collect(),
        Err(error) => {
            let error = translate(&ResolvedLocation::File(path.to_owned()), &error);
            let hint = match error {
                StorageError::Busy => "another process holds it; try again",
                _ => &hint,
            };
            vec![problem(&error, hint)]
        }
    }
}

/// `integrity_check` reads everything, indexes included; foreign keys are checked apart from it.
fn check(path: &Path) -> rusqlite::Result<Vec<String>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_WAIT)?;
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({SHOWN_FINDINGS})"))?;
    let said: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut findings: Vec<String> = said.into_iter().filter(|line| line != "ok").collect();
    let mut statement = connection.prepare("SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1")?;
    let broken = statement.query_map([], |row| {
        let (table, count): (String, i64) = (row.get(0)?, row.get(1)?);
        Ok(format!("{count} rows of `{table}` point at rows that are not there"))
    })?;
    findings.extend(broken.take(SHOWN_FINDINGS).collect::<rusqlite::Result<Vec<_>>>()?);
    Ok(findings)
}

fn size(path: &Path) -> u64 {
    symlink_metadata(path).map_or(0, |metadata| metadata.len())
}

fn problem(what: impl ToString, hint: &str) -> DatabaseProblem {
    DatabaseProblem { what: what.to_string(), hint: hint.to_owned() }
}
