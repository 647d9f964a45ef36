//! Events as rows: the statements that add one inside a transaction, and those that find some.

use crate::channel_counts::add_duplicate;
use crate::contract::{AdapterPosition, Appended, Event, EventFilter, EventOrigin, PeerKind};
use crate::prepared_event::PreparedEvent;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record, SqlValue, Statement, StorageError, Transaction};
use serde_json::Value;

/// The columns of an event, in the order that [`read`] knows.
pub(crate) const COLUMNS: [&str; 16] = [
    "sequence",
    "id",
    "channel",
    "account",
    "sender",
    "peer_kind",
    "peer",
    "thread",
    "content",
    "content_type",
    "sent_at",
    "received_at",
    "metadata",
    "origin_event",
    "origin_hops",
    "thread_key",
];

/// What every append holds: numbers are given and committed one after the other.
pub(crate) const APPEND_KEY: &str = "event-ledger:append";

/// Adds an event, or finds it. The transaction holds [`APPEND_KEY`].
pub(crate) fn append(tx: &mut dyn Transaction, event: &PreparedEvent) -> Result<Appended, StorageError> {
    let thread = match known_thread(tx, event)? {
        Some(known) => known,
        None => match repeated(tx, event)? {
            Some(known) => return Ok(known),
            None => make_thread(tx, event)?,
        },
    };
    let metadata = Value::Object(event.metadata.clone()).to_string();
    let mut id = plain_id(event);
    // Most events are new and their plain id is free, so that is tried before anything is looked up.
    let mut inserted = insert(tx, event, &id, thread, &metadata)?;
    if inserted.is_none() {
        if let Some(known) = repeated(tx, event)? {
            return Ok(known);
        }
        id = free_id(tx, event)?;
        inserted = insert(tx, event, &id, thread, &metadata)?;
    }
    let sequence = inserted.ok_or_else(|| StorageError::Statement("an event got no number".to_owned()))?;
    add_participants(tx, sequence, event)?;
    Ok(Appended { event: stored(event, id, sequence), fresh: true })
}

/// The event as it was stored before, if it was. That it came again is counted.
fn repeated(tx: &mut dyn Transaction, event: &PreparedEvent) -> Result<Option<Appended>, StorageError> {
    let found = tx.query(&by_external_id(event))?;
    let Some(known) = found.first() else { return Ok(None) };
    tx.execute(&add_duplicate(&event.channel, &event.account, event.received_at))?;
    Ok(Some(Appended { event: read(known)?, fresh: false }))
}

/// The number of the row; none if its id is taken or the account has the event.
fn insert(
    tx: &mut dyn Transaction,
    event: &PreparedEvent,
    id: &str,
    thread: i64,
    metadata: &str,
) -> Result<Option<u64>, StorageError> {
    let inserted = tx.query(&statement!(
        "INSERT INTO events (id, channel, account, external_id, sender, peer_kind, peer, thread, thread_key, content,
             content_type, sent_at, received_at, metadata, origin_event, origin_hops)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
         ON CONFLICT DO NOTHING RETURNING sequence",
        id,
        &event.channel,
        &event.account,
        &event.external_id,
        &event.sender,
        event.peer_kind.word(),
        &event.peer,
        event.thread.as_deref(),
        thread,
        &event.content,
        &event.content_type,
        event.sent_at,
        event.received_at,
        metadata,
        event.origin.as_ref().map(|origin| origin.event.as_str()),
        event.origin.as_ref().map(|origin| origin.hops)
    ))?;
    inserted.first().map(|number| number.unsigned(0)).transpose()
}

/// Stores how far an account was read.
pub(crate) fn set_position(
    tx: &mut dyn Transaction,
    position: &AdapterPosition,
    now_ms: u64,
) -> Result<(), StorageError> {
    tx.execute(&statement!(
        "INSERT INTO adapter_positions (channel, account, read_up_to, changed_at) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (channel, account) DO UPDATE SET read_up_to = ?3, changed_at = ?4",
        &position.channel,
        &position.account,
        &position.position,
        now_ms
    ))
    .map(drop)
}

/// An event from a row with [`COLUMNS`].
pub(crate) fn read(record: &Record) -> Result<Event, StorageError> {
    let origin = match (record.optional_text(13)?, record.optional_unsigned(14)?) {
        (Some(event), Some(hops)) => {
            Some(EventOrigin { event: event.to_owned(), hops: u32::try_from(hops).unwrap_or(u32::MAX) })
        }
        _ => None,
    };
    Ok(Event {
        sequence: record.unsigned(0)?,
        id: record.text(1)?.to_owned(),
        channel: record.text(2)?.to_owned(),
        account_id: record.text(3)?.to_owned(),
        from: record.text(4)?.to_owned(),
        peer_kind: PeerKind::of_word(record.text(5)?).unwrap_or_default(),
        peer_id: record.text(6)?.to_owned(),
        thread_id: record.optional_text(7)?.map(str::to_owned),
        content: record.text(8)?.to_owned(),
        content_type: record.text(9)?.to_owned(),
        timestamp: record.unsigned(10)?,
        received_at: record.unsigned(11)?,
        metadata: serde_json::from_str(record.text(12)?).unwrap_or_default(),
        origin,
    })
}

/// The event with an id.
pub(crate) fn by_id(id: &str) -> Statement {
    statement!(format!("SELECT {} FROM events WHERE id = ?1", listed()), id)
}

/// The number of the event with an id.
pub(crate) fn number_of(id: &str) -> Statement {
    statement!("SELECT sequence FROM events WHERE id = ?1", id)
}

/// The events behind a number.
pub(crate) fn after(sequence: u64, limit: u32) -> Statement {
    statement!(
        format!("SELECT {} FROM events WHERE sequence > ?1 ORDER BY sequence LIMIT ?2", listed()),
        sequence,
        limit
    )
}

/// The events of a channel behind a number, oldest first.
pub(crate) fn after_in(channel: &str, sequence: u64, limit: u32) -> Statement {
    statement!(
        format!("SELECT {} FROM events WHERE sequence > ?1 AND channel = ?2 ORDER BY sequence LIMIT ?3", listed()),
        sequence,
        channel,
        limit
    )
}

/// The highest number.
pub(crate) fn last() -> Statement {
    statement!("SELECT coalesce(max(sequence), 0) FROM events")
}

/// What came before an event in its conversation, newest first.
pub(crate) fn before_in_thread(event: &Event, limit: u32) -> Statement {
    let sql = format!(
        "SELECT {} FROM events WHERE sequence < ?5 AND thread_key =
             (SELECT t.id FROM threads t WHERE t.channel = ?1 AND t.account = ?2 AND t.peer = ?3 AND t.thread = ?4)
         ORDER BY sequence DESC LIMIT ?6",
        listed()
    );
    let thread = event.thread_id.as_deref().unwrap_or_default();
    statement!(sql, &event.channel, &event.account_id, &event.peer_id, thread, event.sequence, limit)
}

/// The newest events that fit a filter.
pub(crate) fn newest(filter: &EventFilter, limit: u32) -> Statement {
    let mut parameters = vec![SqlValue::from(limit)];
    let mut tests = Vec::new();
    let mut test = |value: SqlValue, test: &str| {
        parameters.push(value);
        tests.push(test.replace('?', &format!("?{}", parameters.len())));
    };
    if let Some(channel) = &filter.channel {
        test(channel.into(), "channel = ?");
    }
    if let Some(from) = &filter.from {
        test(from.into(), "sender = ?");
    }
    if let Some(since) = filter.since_ms {
        test(since.into(), "received_at >= ?");
    }
    if let Some(tag) = &filter.tag {
        test(tag.into(), "sequence IN (SELECT g.event FROM event_tags g WHERE g.tag = ?)");
    }
    if let Some(status) = filter.status {
        // What nobody touched has no row, and is unread.
        let known = "coalesce((SELECT s.status FROM event_state s WHERE s.event = sequence), 'unread') = ?";
        test(status.word().into(), known);
    }
    let tests = if tests.is_empty() { String::new() } else { format!("WHERE {}", tests.join(" AND ")) };
    Statement::new(format!("SELECT {} FROM events {tests} ORDER BY sequence DESC LIMIT ?1", listed()), parameters)
}

fn listed() -> String {
    COLUMNS.join(", ")
}

fn by_external_id(event: &PreparedEvent) -> Statement {
    statement!(
        format!("SELECT {} FROM events WHERE channel = ?1 AND account = ?2 AND external_id = ?3", listed()),
        &event.channel,
        &event.account,
        &event.external_id
    )
}

/// The conversation of an event, if it is not its first one.
fn known_thread(tx: &mut dyn Transaction, event: &PreparedEvent) -> Result<Option<i64>, StorageError> {
    let found = tx.query(&statement!(
        "SELECT id FROM threads WHERE channel = ?1 AND account = ?2 AND peer = ?3 AND thread = ?4",
        &event.channel,
        &event.account,
        &event.peer,
        event.thread.as_deref().unwrap_or_default()
    ))?;
    found.first().map(|known| known.integer(0)).transpose()
}

fn make_thread(tx: &mut dyn Transaction, event: &PreparedEvent) -> Result<i64, StorageError> {
    let made = tx.query(&statement!(
        "INSERT INTO threads (channel, account, peer_kind, peer, thread, made_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id",
        &event.channel,
        &event.account,
        event.peer_kind.word(),
        &event.peer,
        event.thread.as_deref().unwrap_or_default(),
        event.received_at
    ))?;
    made.first().ok_or_else(|| StorageError::Statement("a thread got no number".to_owned()))?.integer(0)
}

/// `CHANNEL:EXTERNALID`, which an event has unless another account of the channel has one of that name.
fn plain_id(event: &PreparedEvent) -> String {
    format!("{}:{}", event.channel, event.external_id)
}

/// The id of an event whose plain one may be taken.
fn free_id(tx: &mut dyn Transaction, event: &PreparedEvent) -> Result<String, StorageError> {
    let plain = plain_id(event);
    let mut id = plain.clone();
    let mut more = 1_u32;
    while !tx.query(&number_of(&id))?.is_empty() {
        id = if more == 1 { format!("{plain}#{}", event.account) } else { format!("{plain}#{}#{more}", event.account) };
        more += 1;
    }
    Ok(id)
}

fn add_participants(tx: &mut dyn Transaction, sequence: u64, event: &PreparedEvent) -> Result<(), StorageError> {
    let others = event.participants.iter().map(|one| ("to", one));
    for (role, identity) in std::iter::once(("from", &event.sender)).chain(others) {
        tx.execute(&statement!(
            "INSERT INTO event_participants (event, role, identity) VALUES (?1, ?2, ?3)
             ON CONFLICT (event, role, identity) DO NOTHING",
            sequence,
            role,
            identity
        ))?;
    }
    Ok(())
}

fn stored(event: &PreparedEvent, id: String, sequence: u64) -> Event {
    Event {
        id,
        sequence,
        channel: event.channel.clone(),
        account_id: event.account.clone(),
        from: event.sender.clone(),
        peer_kind: event.peer_kind,
        peer_id: event.peer.clone(),
        thread_id: event.thread.clone(),
        content: event.content.clone(),
        content_type: event.content_type.clone(),
        timestamp: event.sent_at,
        received_at: event.received_at,
        metadata: event.metadata.clone(),
        origin: event.origin.clone(),
    }
}
