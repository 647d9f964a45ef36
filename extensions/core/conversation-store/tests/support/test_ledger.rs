//! A ledger over a real SQLite database, and a writer of turns.
#![allow(dead_code, reason = "each test binary uses a part of the ledger")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Chunk, ChunkState, ResultStatus, Role, Row, RowBody, ToolCall, ToolResult};
use dispatch_contracts::ids::{RowId, SessionId, TurnId};
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::provider::{Finish, Usage};
use dispatch_contracts::storage::{Keys, Storage, StorageBackend, StorageError, Transaction};
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::ledger::{NewTurn, append_row, append_rows, begin_turn, end_turn, load_session};
use ext_conversation_store::contract::{Conversations, NAMESPACE};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Counts up with every look, so that every order is visible.
pub(crate) struct CountingClock(AtomicU64);

impl Clock for CountingClock {
    fn now_ms(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn monotonic_ms(&self) -> u64 {
        self.now_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(ms)))
    }
}

pub(crate) struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn next_id(&self) -> String {
        format!("id-{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

pub(crate) struct TestLedger {
    pub(crate) backend: SqliteBackend,
    pub(crate) conversations: Arc<dyn Conversations>,
    /// As the orchestrator opens it.
    pub(crate) joined: Arc<dyn Storage>,
    pub(crate) folder: Option<TempDir>,
    clock: Arc<CountingClock>,
    runtime: tokio::runtime::Runtime,
}

impl TestLedger {
    pub(crate) fn file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("dispatch.db"));
        Self::open(&location, Some(folder))
    }

    pub(crate) fn memory() -> Self {
        Self::open(&Location::Memory, None)
    }

    fn open(location: &Location, folder: Option<TempDir>) -> Self {
        let ledger = Self::over(SqliteBackend::open(location).unwrap(), |store| store);
        Self { folder, ..ledger }
    }

    /// A ledger over a backend whose store is seen through something.
    pub(crate) fn over(backend: SqliteBackend, seen: impl FnOnce(Arc<dyn Storage>) -> Arc<dyn Storage>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let clock = Arc::new(CountingClock(AtomicU64::new(1_000)));
        let ids = Arc::new(CountingIds(AtomicU64::new(1)));
        let store = seen(StorageBackend::open(&backend, NAMESPACE));
        let opened = ext_conversation_store::contract::open(store, Arc::clone(&clock) as _, ids);
        let conversations = runtime.block_on(opened).unwrap();
        let joined = backend.open_joined("session-orchestrator", &[NAMESPACE]);
        Self { backend, conversations, joined, folder: None, clock, runtime }
    }

    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Transaction) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let slot = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&slot);
        self.run(self.joined.transact(
            Keys::Everything,
            Box::new(move |tx| {
                *kept.lock().unwrap() = Some(work(tx)?);
                Ok(Vec::new())
            }),
        ))?;
        let value = slot.lock().unwrap().take().unwrap();
        Ok(value)
    }

    pub(crate) fn session(&self, label: &str) -> SessionId {
        self.run(self.conversations.create(label, "coder")).unwrap().id
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Begins a turn behind the head, and makes it the head.
    pub(crate) fn begin(&self, session: &SessionId, turn: &str, fence: u64) -> TurnId {
        let id = TurnId::new(turn);
        let (session, turn, at_ms) = (session.clone(), id.clone(), self.now());
        self.write(move |tx| {
            let session = load_session(tx, &session)?.unwrap();
            begin_turn(tx, &session, &NewTurn { id: turn, fence, model: "m".into(), at_ms }, &[])
        })
        .unwrap();
        id
    }

    pub(crate) fn append(&self, session: &SessionId, fence: u64, row: &Row) -> Result<u64, StorageError> {
        let (session, row) = (session.clone(), row.clone());
        self.write(move |tx| append_row(tx, &session, fence, &row))
    }

    pub(crate) fn append_all(&self, session: &SessionId, fence: u64, rows: Vec<Row>) {
        let session = session.clone();
        self.write(move |tx| append_rows(tx, &session, fence, &rows)).unwrap();
    }

    pub(crate) fn end(&self, turn: &TurnId, fence: u64) -> Result<(), StorageError> {
        let (turn, at_ms) = (turn.clone(), self.now());
        self.write(move |tx| end_turn(tx, &turn, fence, &TurnEnd::Finished, &Usage::default(), at_ms))
    }

    /// A whole turn of one question and one answer.
    pub(crate) fn exchange(&self, session: &SessionId, turn: &str, question: &str, answer: &str) -> TurnId {
        let id = self.begin(session, turn, 1);
        self.append_all(session, 1, said(turn, question, answer));
        self.end(&id, 1).unwrap();
        id
    }
}

pub(crate) fn row(turn: &str, number: usize, step: u32, body: RowBody) -> Row {
    Row { id: RowId::new(format!("{turn}-{number}")), turn: turn.into(), step, at_ms: 5_000, body }
}

pub(crate) fn text(role: Role, index: u32, part: u32, text: &str) -> RowBody {
    RowBody::Chunk { role, index, part, chunk: Chunk::Text { text: text.to_owned() }, state: ChunkState::Whole }
}

pub(crate) fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: format!("tool-{id}"), arguments: serde_json::Map::new() }
}

pub(crate) fn asked(index: u32, id: &str) -> RowBody {
    RowBody::Chunk { role: Role::Assistant, index, part: 0, chunk: Chunk::ToolCall(call(id)), state: ChunkState::Whole }
}

pub(crate) fn started(index: u32, id: &str) -> RowBody {
    RowBody::CallStarted { index, call: call(id) }
}

pub(crate) fn ended(id: &str, status: ResultStatus) -> RowBody {
    let result = ToolResult { call: id.into(), status, text: format!("result of {id}"), images: Vec::new() };
    RowBody::CallEnded { result }
}

pub(crate) fn step_ended() -> RowBody {
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    RowBody::StepEnded { finish: Finish::Stop, usage }
}

pub(crate) fn said(turn: &str, question: &str, answer: &str) -> Vec<Row> {
    let bodies = [
        text(Role::User, 0, 0, question),
        text(Role::Assistant, 0, 0, answer),
        step_ended(),
        RowBody::TurnEnded { end: TurnEnd::Finished },
    ];
    bodies.into_iter().enumerate().map(|(number, body)| row(turn, number, 0, body)).collect()
}
