//! The service: reads through the storage's readers, changes in one transaction each.

use crate::contract::ledger::{
    self, NewSession, by_turn, find_session, in_order, label_key, load_chain, load_turn, open_session, session_key,
    title_line,
};
use crate::contract::records::{self, CALL, ROW, SESSION, TURN};
use crate::contract::{
    CallLog, ConversationError, Conversations, EXPORT_FORMAT, Export, History, Hit, MAX_PAGE, Session, SessionFilter,
    StoredRow, Turn, TurnLog, TurnState, check_label,
};
use crate::removal::remove;
use crate::search;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Keys, SqlValue, Statement, Storage, StorageError, Transaction};
use dispatch_kernel::reconcile::reconcile;
use std::sync::{Arc, Mutex, PoisonError};

/// The ledger as a service.
pub(crate) struct Ledger {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

type Outcome<T> = Result<T, ConversationError>;

impl Ledger {
    async fn find(&self, label: &str) -> Outcome<Option<Session>> {
        let sql = format!("SELECT {SESSION} FROM agent_sessions WHERE label = ?1");
        let found = self.storage.query(statement!(sql, label)).await?;
        Ok(found.first().map(|record| records::session(record)).transpose()?)
    }

    async fn known(&self, label: &str) -> Outcome<Session> {
        self.find(label).await?.ok_or_else(|| no_session(label))
    }

    /// The turns of a session from the root to its head, with their rows. Turns are never changed
    /// behind the head that was read, so the statements need no common transaction.
    async fn chain(&self, session: &Session) -> Outcome<(Vec<Turn>, Vec<Vec<StoredRow>>)> {
        let Some(head) = &session.head else { return Ok(Default::default()) };
        let turns = self.storage.query(statement!(ledger::turns_of_chain(), head)).await?;
        let rows = self.storage.query(statement!(ledger::rows_of_chain(), head)).await?;
        let turns = in_order(records::all(&turns, records::turn)?, head);
        if turns.is_empty() {
            // Somebody deleted the session since it was read.
            return Err(no_session(&session.label));
        }
        let rows = by_turn(&turns, records::all(&rows, records::row)?);
        Ok((turns, rows))
    }

    async fn calls(&self, turn: &TurnId) -> Outcome<Vec<CallLog>> {
        let sql = format!(
            "SELECT {CALL} FROM agent_tool_calls WHERE turn = ?1 ORDER BY COALESCE(started_at, ended_at), call_id"
        );
        let found = self.storage.query(statement!(sql, turn)).await?;
        Ok(records::all(&found, records::call)?)
    }

    /// Runs a change whose refusal is more than a failure of the storage.
    async fn change<T: Send + 'static>(
        &self,
        keys: Keys,
        work: impl FnOnce(&mut dyn Transaction) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let slot = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&slot);
        let work = Box::new(move |tx: &mut dyn Transaction| {
            let (told, kind) = match work(tx) {
                Err(ConversationError::Storage(error)) => return Err(error),
                Err(refused) => (Err(StorageError::GivenUp(refused.to_string())), Err(refused)),
                Ok(value) => (Ok(Vec::new()), Ok(value)),
            };
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(kind);
            told
        });
        let outcome = self.storage.transact(keys, work).await;
        let kind = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (outcome, kind) {
            (Ok(_), Some(kind)) | (Err(StorageError::GivenUp(_)), Some(kind @ Err(_))) => kind,
            (Err(error), _) => Err(error.into()),
            (Ok(_), None) => Err(StorageError::GivenUp("the work left no result".to_owned()).into()),
        }
    }

    async fn create_session(&self, label: &str, persona: &str) -> Outcome<Session> {
        check_label(label)?;
        let (id, now) = (SessionId::new(self.ids.next_id()), self.clock.now_ms());
        let (label, persona) = (label.to_owned(), persona.to_owned());
        self.change(Keys::of([label_key(&label)]), move |tx| {
            let new =
                NewSession { id: id.clone(), label: label.clone(), persona, title: None, folder: None, at_ms: now };
            let session = open_session(tx, &new)?;
            if session.id == id { Ok(session) } else { Err(ConversationError::LabelTaken { label }) }
        })
        .await
    }

    async fn fork_session(&self, label: &str, at: Option<&TurnId>, new_label: &str) -> Outcome<Session> {
        check_label(new_label)?;
        let (id, now) = (SessionId::new(self.ids.next_id()), self.clock.now_ms());
        let (label, at, new_label) = (label.to_owned(), at.cloned(), new_label.to_owned());
        self.change(Keys::of([label_key(&label), label_key(&new_label)]), move |tx| {
            let origin = held_session(tx, &label)?;
            let at = at.or_else(|| origin.head.clone());
            if let Some(turn) = &at {
                check_fork_point(tx, &origin, turn)?;
            }
            let new = NewSession {
                id: id.clone(),
                label: new_label.clone(),
                persona: origin.persona.clone(),
                folder: origin.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned()),
                title: origin.title.clone(),
                at_ms: now,
            };
            if open_session(tx, &new)?.id != id {
                return Err(ConversationError::LabelTaken { label: new_label });
            }
            tx.execute(&statement!(
                "UPDATE agent_sessions SET head_turn = ?2, forked_from = ?3, forked_at = ?2 WHERE id = ?1",
                &id,
                at.as_ref(),
                &origin.id
            ))?;
            find_session(tx, &new_label)?.ok_or_else(|| no_session(&new_label))
        })
        .await
    }

    /// Changes one column of a session, and gives the session as it is then.
    async fn update(&self, keys: Keys, label: &str, column: &'static str, value: Option<String>) -> Outcome<Session> {
        let label = label.to_owned();
        self.change(keys, move |tx| {
            let session = held_session(tx, &label)?;
            let sql = format!("UPDATE agent_sessions SET {column} = ?2 WHERE id = ?1");
            let changed = tx.execute(&statement!(sql, &session.id, value.clone()));
            match (changed, value) {
                (Err(StorageError::Constraint(_)), Some(taken)) => {
                    return Err(ConversationError::LabelTaken { label: taken });
                }
                (changed, _) => changed?,
            };
            ledger::load_session(tx, &session.id)?.ok_or_else(|| no_session(&label))
        })
        .await
    }
}

impl Conversations for Ledger {
    fn session<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Outcome<Option<Session>>> {
        Box::pin(self.find(label))
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Outcome<Vec<Session>>> {
        Box::pin(async move {
            let found = self.storage.query(listing(&filter)).await?;
            Ok(records::all(&found, records::session)?)
        })
    }

    fn create<'a>(&'a self, label: &'a str, persona: &'a str) -> BoxFuture<'a, Outcome<Session>> {
        Box::pin(self.create_session(label, persona))
    }

    fn history<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Outcome<History>> {
        Box::pin(async move {
            let session = self.known(label).await?;
            let (turns, rows) = self.chain(&session).await?;
            let rows: Vec<Row> = rows.into_iter().flatten().map(|stored| stored.row).collect();
            Ok(History { session, turns, rows: reconcile(&rows).rows })
        })
    }

    fn rows_after<'a>(
        &'a self,
        session: &'a SessionId,
        seq: u64,
        limit: u32,
    ) -> BoxFuture<'a, Outcome<Vec<StoredRow>>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {ROW} FROM agent_messages m WHERE m.session = ?1 AND m.seq > ?2 ORDER BY m.seq LIMIT ?3"
            );
            let found = self.storage.query(statement!(sql, session, seq, page(limit))).await?;
            Ok(records::all(&found, records::row)?)
        })
    }

    fn turn<'a>(&'a self, turn: &'a TurnId) -> BoxFuture<'a, Outcome<Option<TurnLog>>> {
        Box::pin(async move {
            let sql = format!("SELECT {TURN} FROM agent_turns t WHERE t.id = ?1");
            let found = self.storage.query(statement!(sql, turn)).await?;
            let Some(record) = found.first() else { return Ok(None) };
            let sql = format!("SELECT {ROW} FROM agent_messages m WHERE m.turn = ?1 ORDER BY m.seq");
            let rows = self.storage.query(statement!(sql, turn)).await?;
            let rows = records::all(&rows, records::row)?;
            Ok(Some(TurnLog { turn: records::turn(record)?, rows, calls: self.calls(turn).await? }))
        })
    }

    fn output<'a>(&'a self, turn: &'a TurnId, name: &'a str) -> BoxFuture<'a, Outcome<Option<Vec<u8>>>> {
        Box::pin(async move { Ok(ledger::joined(self.storage.query(ledger::output(turn, name)).await?)) })
    }

    fn fork<'a>(
        &'a self,
        label: &'a str,
        at: Option<&'a TurnId>,
        new_label: &'a str,
    ) -> BoxFuture<'a, Outcome<Session>> {
        Box::pin(self.fork_session(label, at, new_label))
    }

    fn rename<'a>(&'a self, label: &'a str, new_label: &'a str) -> BoxFuture<'a, Outcome<Session>> {
        Box::pin(async move {
            check_label(new_label)?;
            let keys = Keys::of([label_key(label), label_key(new_label)]);
            self.update(keys, label, "label", Some(new_label.to_owned())).await
        })
    }

    fn set_title<'a>(&'a self, label: &'a str, title: Option<&'a str>) -> BoxFuture<'a, Outcome<Session>> {
        Box::pin(self.update(Keys::of([label_key(label)]), label, "title", title.and_then(title_line)))
    }

    fn delete<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Outcome<()>> {
        let label = label.to_owned();
        // Turns go unless any other session goes on from them.
        Box::pin(self.change(Keys::Everything, move |tx| {
            let session = find_session(tx, &label)?.ok_or_else(|| no_session(&label))?;
            if ledger::is_running(tx, &session.id)? {
                return Err(ConversationError::Running { label });
            }
            Ok(remove(tx, &session)?)
        }))
    }

    fn search<'a>(&'a self, text: &'a str, limit: u32) -> BoxFuture<'a, Outcome<Vec<Hit>>> {
        Box::pin(async move { Ok(search::search(self.storage.as_ref(), text, limit).await?) })
    }

    fn export<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Outcome<Export>> {
        Box::pin(async move {
            let session = self.known(label).await?;
            let (turns, rows) = self.chain(&session).await?;
            let mut logs = Vec::with_capacity(turns.len());
            for (turn, rows) in turns.into_iter().zip(rows) {
                let calls = self.calls(&turn.id).await?;
                logs.push(TurnLog { turn, rows, calls });
            }
            Ok(Export { format: EXPORT_FORMAT.to_owned(), session, turns: logs })
        })
    }
}

/// The session with this label, and its key.
fn held_session(tx: &mut dyn Transaction, label: &str) -> Outcome<Session> {
    let session = find_session(tx, label)?.ok_or_else(|| no_session(label))?;
    tx.lock(&session_key(&session.id))?;
    // Read again: somebody may have written a turn while the key was waited for.
    find_session(tx, label)?.ok_or_else(|| no_session(label))
}

fn no_session(label: &str) -> ConversationError {
    ConversationError::NoSession { label: label.to_owned() }
}

/// A fork begins at a turn that is over, in the history of the session or written in it.
fn check_fork_point(tx: &mut dyn Transaction, origin: &Session, at: &TurnId) -> Outcome<()> {
    let foreign = || ConversationError::NoTurn { label: origin.label.clone(), turn: at.clone() };
    let turn = load_turn(tx, at)?.ok_or_else(foreign)?;
    if turn.state == TurnState::Running {
        return Err(ConversationError::Running { label: origin.label.clone() });
    }
    if turn.session != origin.id && !load_chain(tx, &origin.id)?.iter().any(|known| known.id == *at) {
        return Err(foreign());
    }
    Ok(())
}

fn listing(filter: &SessionFilter) -> Statement {
    let mut tests = String::new();
    let mut values = vec![SqlValue::from(page(filter.limit))];
    let mut test = |text: &str, value: SqlValue| {
        values.push(value);
        tests.push_str(&format!(" AND {}", text.replace("{}", &format!("?{}", values.len()))));
    };
    if let Some(prefix) = &filter.label_prefix {
        test("substr(label, 1, length({})) = {}", SqlValue::from(prefix));
    }
    if let Some(persona) = &filter.persona {
        test("persona = {}", SqlValue::from(persona));
    }
    if let Some(folder) = &filter.folder {
        test("folder = {}", SqlValue::from(folder.to_string_lossy().into_owned()));
    }
    if let Some(before_ms) = filter.updated_before_ms {
        test("updated_at < {}", SqlValue::from(before_ms));
    }
    let sql = format!("SELECT {SESSION} FROM agent_sessions WHERE 1 = 1{tests} ORDER BY updated_at DESC, id LIMIT ?1");
    Statement::new(sql, values)
}

fn page(limit: u32) -> u32 {
    if limit == 0 { MAX_PAGE } else { limit.min(MAX_PAGE) }
}
