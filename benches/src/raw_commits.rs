//! What SQLite itself commits per second, asked through Python so that nothing of ours is in between.

use std::path::Path;
use std::process::Command;

const SCRIPT: &str = "
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('PRAGMA journal_mode=WAL')
db.execute('PRAGMA synchronous=FULL')
db.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)')
start, count = time.time(), 0
while time.time() - start < 2:
    db.execute('INSERT INTO t (body) VALUES (?)', ('x' * 300,))
    count += 1
print(round(count / (time.time() - start)))
";

/// The rate; `None` where there is no Python.
pub(crate) fn per_second(folder: &Path) -> Option<f64> {
    let output = Command::new("python3").args(["-c", SCRIPT]).arg(folder.join("raw.db")).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
