//! The tables that runs are kept in. Each index is there for one statement, so that finished runs cost nothing.

use dispatch_contracts::migration::Migration;

/// The steps that the tables go through.
pub(crate) const MIGRATIONS: &[Migration] =
    &[Migration::new(1, "the runs of workspace hooks", RUNS), Migration::new(2, "events from the ledger", LEDGER)];

/// How far a workspace has taken up the event ledger, and what its latest events did.
const LEDGER: &[&str] = &[
    "CREATE TABLE hook_positions (workspace TEXT PRIMARY KEY, sequence INTEGER NOT NULL)",
    "CREATE TABLE hook_receipts (
            workspace TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            receipts TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (workspace, sequence)
        )",
    "CREATE INDEX hook_receipts_at ON hook_receipts (at)",
];

const RUNS: &[&str] = &[
    "CREATE TABLE hook_runs (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            workspace TEXT NOT NULL,
            hook TEXT NOT NULL,
            subject TEXT NOT NULL,
            status TEXT NOT NULL,
            content TEXT,
            attempts INTEGER NOT NULL,
            reason TEXT NOT NULL,
            queued_at INTEGER NOT NULL,
            not_before INTEGER NOT NULL,
            started_at INTEGER,
            ended_at INTEGER,
            run_owner TEXT,
            stop INTEGER NOT NULL,
            version INTEGER NOT NULL,
            facts TEXT NOT NULL
        )",
    "CREATE INDEX hook_runs_due ON hook_runs (workspace, hook, not_before, number) WHERE status = 'queued'",
    "CREATE INDEX hook_runs_waiting ON hook_runs (workspace, hook, subject, number) WHERE status = 'queued'",
    "CREATE INDEX hook_runs_going ON hook_runs (workspace, hook, subject) WHERE status = 'running'",
    "CREATE INDEX hook_runs_begun ON hook_runs (workspace, hook, subject, started_at)
            WHERE started_at IS NOT NULL",
    "CREATE INDEX hook_runs_pace ON hook_runs (workspace, hook, started_at) WHERE started_at IS NOT NULL",
    "CREATE INDEX hook_runs_ended ON hook_runs (ended_at) WHERE ended_at IS NOT NULL",
    "CREATE INDEX hook_runs_version ON hook_runs (version, number)",
    "CREATE TABLE hook_outputs (run INTEGER PRIMARY KEY, output TEXT NOT NULL)",
    "CREATE TABLE hook_changes (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)",
    "INSERT INTO hook_changes (id, version) VALUES (1, 0)",
    "CREATE TABLE hook_events (
            workspace TEXT NOT NULL,
            event TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (workspace, event)
        )",
    "CREATE INDEX hook_events_at ON hook_events (at)",
    "CREATE TABLE hook_writes (
            workspace TEXT NOT NULL,
            path TEXT NOT NULL,
            run INTEGER NOT NULL,
            live INTEGER NOT NULL,
            content TEXT,
            at INTEGER NOT NULL,
            PRIMARY KEY (workspace, path, run)
        )",
    "CREATE INDEX hook_writes_run ON hook_writes (run)",
    "CREATE INDEX hook_writes_at ON hook_writes (at)",
    "CREATE TABLE hook_spending (
            workspace TEXT NOT NULL,
            hook TEXT NOT NULL,
            day INTEGER NOT NULL,
            tokens INTEGER NOT NULL,
            micro_usd INTEGER NOT NULL,
            PRIMARY KEY (workspace, hook, day)
        )",
    "CREATE TABLE hook_owners (name TEXT PRIMARY KEY, heard_at INTEGER NOT NULL)",
];
