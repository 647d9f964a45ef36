//! The broker's tables.
//!
//! Pure.

use dispatch_contracts::migration::Migration;

/// The steps that the tables go through.
pub(crate) const MIGRATIONS: &[Migration] =
    &[Migration::new(1, "routing", ROUTING), Migration::new(2, "dispatches by session", BY_SESSION)];

/// For the question whether a session has to wait.
const BY_SESSION: &[&str] =
    &["CREATE INDEX route_dispatches_labels ON route_dispatches (label, not_before) WHERE state = 'waiting'"];

const ROUTING: &[&str] = &[
    "CREATE TABLE route_cursors (workspace TEXT PRIMARY KEY, sequence INTEGER NOT NULL)",
    "CREATE TABLE event_routes (
            event TEXT PRIMARY KEY,
            sequence INTEGER NOT NULL,
            workspace TEXT NOT NULL,
            conversation TEXT NOT NULL,
            state TEXT NOT NULL,
            owner TEXT,
            fence INTEGER NOT NULL,
            lease_until INTEGER NOT NULL,
            not_before INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            hops INTEGER NOT NULL,
            at INTEGER NOT NULL
        )",
    "CREATE INDEX event_routes_open ON event_routes (workspace, sequence) WHERE state = 'open'",
    "CREATE INDEX event_routes_conversations ON event_routes (conversation, sequence) WHERE state = 'open'",
    "CREATE TABLE hook_states (
            origin TEXT NOT NULL,
            hook TEXT NOT NULL,
            enabled INTEGER NOT NULL,
            reason TEXT NOT NULL,
            event TEXT,
            at INTEGER NOT NULL,
            PRIMARY KEY (origin, hook)
        )",
    "CREATE TABLE hook_invocations (
            event TEXT NOT NULL,
            hook TEXT NOT NULL,
            version TEXT NOT NULL,
            outcome TEXT NOT NULL,
            reason TEXT NOT NULL,
            result TEXT,
            ms INTEGER NOT NULL,
            sequence INTEGER NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (event, hook)
        )",
    "CREATE INDEX hook_invocations_hook ON hook_invocations (hook, sequence)",
    "CREATE TABLE route_dispatches (
            id TEXT PRIMARY KEY,
            event TEXT NOT NULL,
            hook TEXT NOT NULL,
            workspace TEXT NOT NULL,
            sequence INTEGER NOT NULL,
            place INTEGER NOT NULL,
            label TEXT NOT NULL,
            persona TEXT NOT NULL,
            mode TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL,
            merged_into TEXT,
            permissions TEXT NOT NULL,
            submission TEXT,
            not_before INTEGER NOT NULL,
            at INTEGER NOT NULL,
            UNIQUE (event, hook)
        )",
    "CREATE INDEX route_dispatches_open ON route_dispatches (workspace, sequence, place) WHERE state = 'waiting'",
];
