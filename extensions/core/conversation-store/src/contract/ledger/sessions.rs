//! Sessions in the ledger: a label, a persona and a pointer to the head turn.

use crate::contract::records::{self, SESSION};
use crate::contract::{MAX_TITLE_CHARS, Session, check_label};
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{StorageError, Transaction};

/// The key of whatever changes a session: its queue, its turns, its head.
#[must_use]
pub fn session_key(session: &SessionId) -> String {
    format!("session:{session}")
}

/// The key of whatever finds a session by its label, or gives a label away. Stands before every [`session_key`].
#[must_use]
pub fn label_key(label: &str) -> String {
    format!("label:{label}")
}

/// A session that may be there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The id that it gets.
    pub id: SessionId,
    /// What people call it.
    pub label: String,
    /// Who answers in it.
    pub persona: String,
    /// A line for people.
    pub title: Option<String>,
    /// The folder that it is about.
    pub folder: Option<String>,
    /// In Unix milliseconds.
    pub at_ms: u64,
}

/// The session with this label. If there is none, it is made; if there is one, it stays as it is, but for a folder
/// that is not known yet.
pub fn open_session(tx: &mut dyn Transaction, new: &NewSession) -> Result<Session, StorageError> {
    check_label(&new.label).map_err(|error| StorageError::GivenUp(error.to_string()))?;
    let mut session = match find_session(tx, &new.label)? {
        Some(known) => known,
        None => insert(tx, new)?,
    };
    if let (None, Some(folder)) = (&session.folder, &new.folder) {
        tx.execute(&statement!("UPDATE agent_sessions SET folder = ?2 WHERE id = ?1", &session.id, folder))?;
        session.folder = Some(folder.into());
    }
    Ok(session)
}

/// Another process may make it at the same moment; then that one counts.
fn insert(tx: &mut dyn Transaction, new: &NewSession) -> Result<Session, StorageError> {
    tx.execute(&statement!(
        "INSERT INTO agent_sessions (id, label, persona, title, folder, next_ord, next_seq, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, 0, 1, ?6, ?6) ON CONFLICT (label) DO NOTHING",
        &new.id,
        &new.label,
        &new.persona,
        new.title.as_deref().and_then(title_line),
        new.folder.as_deref(),
        new.at_ms
    ))?;
    let vanished = || StorageError::GivenUp(format!("session `{}` vanished", new.label));
    find_session(tx, &new.label)?.ok_or_else(vanished)
}

/// A text as a title: on one line, of a bounded length.
pub(crate) fn title_line(text: &str) -> Option<String> {
    let words = text.split(|shown: char| shown.is_whitespace() || shown.is_control()).filter(|word| !word.is_empty());
    // The first words are enough for any title.
    let line = words.take(MAX_TITLE_CHARS).collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| line.chars().take(MAX_TITLE_CHARS).collect())
}

/// The session with this label.
pub fn find_session(tx: &mut dyn Transaction, label: &str) -> Result<Option<Session>, StorageError> {
    let found = tx.query(&statement!(format!("SELECT {SESSION} FROM agent_sessions WHERE label = ?1"), label))?;
    found.first().map(|record| records::session(record)).transpose()
}

/// The session with this id.
pub fn load_session(tx: &mut dyn Transaction, id: &SessionId) -> Result<Option<Session>, StorageError> {
    let found = tx.query(&statement!(format!("SELECT {SESSION} FROM agent_sessions WHERE id = ?1"), id))?;
    found.first().map(|record| records::session(record)).transpose()
}

pub(super) fn no_session(session: &SessionId) -> StorageError {
    StorageError::GivenUp(format!("there is no session with the id `{session}`"))
}
