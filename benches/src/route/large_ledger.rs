//! A million events in the ledger, written by Python with SQLite's own means, so that it does not take an hour: events of
//! a thousand peers, each with its sender, its place in the word index and its entry in the journal of routing.

use crate::served_project::ServedProject;
use anyhow::{Context as _, Result, ensure};
use std::process::Command;

const EVENTS: u32 = 1_000_000;

const SCRIPT: &str = r#"
import sqlite3, sys
db, count = sqlite3.connect(sys.argv[1], isolation_level=None), int(sys.argv[2])
names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
def table(end):
    return '"' + min((name for name in names if name.endswith(end)), key=len) + '"'
db.execute("PRAGMA synchronous=OFF")
db.execute("PRAGMA cache_size=-400000")
db.execute("BEGIN")
threads, events, people = table("threads"), table("events"), table("event_participants")
routes, cursors = table("event_routes"), table("route_cursors")
last = db.execute(f"SELECT coalesce(max(sequence), 0) FROM {events}").fetchone()[0]
key = db.execute(f"SELECT coalesce(max(id), 0) FROM {threads}").fetchone()[0]
workspace = db.execute(f"SELECT workspace FROM {cursors}").fetchone()[0]
db.executemany(f"INSERT INTO {threads} (id, channel, account, peer_kind, peer, thread, made_at) VALUES (?, 'old', 'default', 'dm', ?, '', 1)",
    ((key + 1 + peer, f"peer{peer}") for peer in range(1000)))
def rows():
    for n in range(count):
        peer = n % 1000
        yield (last + 1 + n, f"old:{n}", f"{n}", f"peer{peer}", f"peer{peer}", key + 1 + peer,
               f"event number {n} about topic {n % 997} of week {n % 52}", 1_600_000_000_000 + n)
db.executemany(f"""INSERT INTO {events} (sequence, id, channel, account, external_id, sender, peer_kind, peer, thread,
    thread_key, content, content_type, sent_at, received_at, metadata)
    VALUES (?1, ?2, 'old', 'default', ?3, ?4, 'dm', ?5, NULL, ?6, ?7, 'text', ?8, ?8, '{{}}')""", rows())
db.execute(f"INSERT INTO {people} (event, role, identity) SELECT sequence, 'from', sender FROM {events} WHERE sequence > ?", (last,))
db.execute(f"""INSERT INTO {routes} (event, sequence, workspace, conversation, state, fence, lease_until, not_before, attempts, hops, at)
    SELECT id, sequence, ?, '["old","default","' || peer || '"]', 'routed', 1, 0, 0, 0, 0, received_at FROM {events} WHERE sequence > ?""", (workspace, last))
db.execute(f"UPDATE {cursors} SET sequence = (SELECT max(sequence) FROM {events})")
db.execute("COMMIT")
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
print(db.execute(f"SELECT count(*) FROM {events}").fetchone()[0])
"#;

/// Fills the ledger of a project whose server does not run.
pub(super) fn fill(project: &ServedProject) -> Result<()> {
    let database = project.folder().join("home/dispatch.db");
    let output = Command::new("python3").args(["-c", SCRIPT]).arg(&database).arg(EVENTS.to_string()).output();
    let output = output.context("python3 writes the events")?;
    ensure!(output.status.success(), "the ledger was not filled: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
