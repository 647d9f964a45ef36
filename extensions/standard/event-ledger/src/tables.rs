//! The tables of the ledger. Events are only ever added to; what changes stands beside them.

use dispatch_contracts::migration::Migration;
use dispatch_contracts::storage::WordIndex;

/// The index over what events say.
pub(crate) fn content_index() -> WordIndex {
    WordIndex::on("events", "content")
}

/// The steps.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration::new(1, "events", EVENTS),
    Migration::new(2, "kept replies", KEPT_REPLIES),
    Migration::new(3, "counts per channel", CHANNEL_COUNTS),
    Migration::new(4, "accounts that are read", READ_ACCOUNTS),
];

const CHANNEL_COUNTS: &[&str] = &["CREATE TABLE channel_counts (
        day INTEGER NOT NULL, channel TEXT NOT NULL, account TEXT NOT NULL, what TEXT NOT NULL, total INTEGER NOT NULL,
        PRIMARY KEY (day, channel, account, what))"];

const READ_ACCOUNTS: &[&str] = &["CREATE TABLE read_accounts (
        channel TEXT NOT NULL, account TEXT NOT NULL, owner TEXT, fence INTEGER NOT NULL, lease_until INTEGER NOT NULL,
        node TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, changed_at INTEGER NOT NULL, retries INTEGER NOT NULL,
        PRIMARY KEY (channel, account))"];

const KEPT_REPLIES: &[&str] = &[
    "CREATE TABLE kept_replies (
        sequence INTEGER PRIMARY KEY, channel TEXT NOT NULL, peer TEXT NOT NULL, message TEXT NOT NULL UNIQUE,
        thread TEXT, reply_to TEXT, content TEXT NOT NULL, content_type TEXT NOT NULL, made_at INTEGER NOT NULL)",
    "CREATE INDEX kept_replies_peer ON kept_replies (channel, peer, sequence)",
    "CREATE INDEX kept_replies_event ON kept_replies (reply_to)",
];

const EVENTS: &[&str] = &[
    "CREATE TABLE threads (
        id INTEGER PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL, peer_kind TEXT NOT NULL,
        peer TEXT NOT NULL, thread TEXT NOT NULL, made_at INTEGER NOT NULL,
        UNIQUE (channel, account, peer, thread))",
    "CREATE TABLE events (
        sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, account TEXT NOT NULL,
        external_id TEXT NOT NULL, sender TEXT NOT NULL, peer_kind TEXT NOT NULL, peer TEXT NOT NULL, thread TEXT,
        thread_key INTEGER NOT NULL, content TEXT NOT NULL, content_type TEXT NOT NULL, sent_at INTEGER NOT NULL,
        received_at INTEGER NOT NULL, metadata TEXT NOT NULL, origin_event TEXT, origin_hops INTEGER,
        UNIQUE (channel, account, external_id))",
    "CREATE INDEX events_thread ON events (thread_key, sequence)",
    "CREATE INDEX events_received ON events (received_at)",
    "CREATE WORD INDEX ON events (content)",
    "CREATE TABLE event_participants (
        event INTEGER NOT NULL, role TEXT NOT NULL, identity TEXT NOT NULL, PRIMARY KEY (event, role, identity))",
    "CREATE TABLE event_state (event INTEGER PRIMARY KEY, status TEXT NOT NULL, changed_at INTEGER NOT NULL)",
    "CREATE INDEX event_state_status ON event_state (status, event)",
    "CREATE TABLE event_tags (
        tag TEXT NOT NULL, event INTEGER NOT NULL, added_at INTEGER NOT NULL, PRIMARY KEY (tag, event))",
    "CREATE INDEX event_tags_event ON event_tags (event)",
    "CREATE TABLE persons (name TEXT PRIMARY KEY, made_at INTEGER NOT NULL)",
    "CREATE TABLE person_identities (
        channel TEXT NOT NULL, identity TEXT NOT NULL, person TEXT NOT NULL, linked_at INTEGER NOT NULL,
        PRIMARY KEY (channel, identity))",
    "CREATE INDEX person_identities_person ON person_identities (person)",
    "CREATE TABLE adapter_positions (
        channel TEXT NOT NULL, account TEXT NOT NULL, read_up_to TEXT NOT NULL, changed_at INTEGER NOT NULL,
        PRIMARY KEY (channel, account))",
];
