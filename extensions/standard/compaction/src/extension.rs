//! Offers compaction to the session orchestrator, and its undoing to the program.

use crate::compaction_store::{CompactionStore, MIGRATIONS, SessionCompactions, in_force};
use crate::contract::{COMPACTIONS, Compaction, CompactionError, Compactions};
use crate::fitting_provider::{CompactionShared, FittingConversation, FittingProvider, HistoryView, RunningTurn};
use crate::settings::CompactionSettings;
use crate::size::of_messages;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Row, project};
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::hooks::{TURN_SEALED, TurnSealed};
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::ports::Level;
use dispatch_contracts::provider::Provider;
use ext_conversation_store::contract::{CONVERSATIONS, ConversationError};
use ext_session_orchestrator::contract::{HISTORY, HistoryCompaction, PastTurn, ReadConversation, past_turns};
use futures_util::FutureExt;
use serde_json::Map;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a turn waits for the summary that is made behind the one before it.
const SUMMARY_WAIT_MS: u64 = 60_000;

/// The extension.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    Arc::new(CompactionExtension)
}

struct CompactionExtension;

impl Extension for CompactionExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let storage = host.storage().ok();
            if storage.is_some() {
                host.define_migrations(MIGRATIONS.to_vec()).await?;
            }
            register(&host, CompactionStore::new(storage))
        })
    }
}

fn register(host: &Host, store: CompactionStore) -> Result<(), ExtensionError> {
    let shared = Arc::new(CompactionShared {
        host: host.clone(),
        store,
        settings: CompactionSettings::read(&host.settings()),
        windows: Mutex::default(),
        running: Mutex::default(),
    });
    let service = Arc::new(CompactionService { shared });
    let sealed = Arc::clone(&service);
    let on_sealed = move |ended: Arc<TurnSealed>| {
        sealed.turn_ended(&ended);
        std::future::ready(Ok(()))
    };
    host.on(&TURN_SEALED, on_sealed).map_err(ExtensionError::new)?;
    let reading = host.service(&HISTORY).map_err(ExtensionError::new)?;
    reading.compact_with(Some(Arc::clone(&service) as Arc<dyn HistoryCompaction>));
    host.provide(&COMPACTIONS, service as Arc<dyn Compactions>).map(drop).map_err(ExtensionError::new)
}

struct CompactionService {
    shared: Arc<CompactionShared>,
}

impl CompactionService {
    /// The compaction in force for a history that a session goes on from.
    async fn found(
        &self,
        session: &SessionId,
        turns: &[PastTurn],
    ) -> Result<Option<(usize, Compaction)>, dispatch_contracts::storage::StorageError> {
        if turns.is_empty() {
            return Ok(None);
        }
        let mut known = self.shared.store.load_others(turns, session).await?;
        let made = self.shared.store.made(session).await?;
        known.push(SessionCompactions { made, undone: Vec::new() });
        if known.iter().all(|session| session.made.is_empty()) {
            return Ok(None);
        }
        let undone = self.shared.store.undone(session).await?;
        Ok(in_force(turns, &known, &undone).map(|(turns, compaction)| (turns, compaction.clone())))
    }

    async fn take_back(&self, label: &str) -> Result<Compaction, CompactionError> {
        let conversations = self.shared.host.service(&CONVERSATIONS);
        let conversations = conversations.map_err(|_| ConversationError::NoSession { label: label.to_owned() })?;
        let history = conversations.history(label).await?;
        let session = history.session.id.clone();
        let turns = past_turns(history);
        let found = self.found(&session, &turns).await?;
        let (_, compaction) = found.ok_or_else(|| CompactionError::Nothing { label: label.to_owned() })?;
        self.shared.store.undo(&session, &compaction.through).await?;
        Ok(compaction)
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<SessionId, RunningTurn>> {
        self.shared.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the summary that the next turn would wait for, beside whatever comes.
    fn turn_ended(&self, ended: &TurnSealed) {
        let session = &ended.turn.session;
        let mut running = self.running();
        let Some(RunningTurn::Open(conversation, provider)) = running.remove(session) else { return };
        // Most turns are far from the window's end.
        if !conversation.may_compact_ahead() {
            return;
        }
        let (host, turn) = (self.shared.host.clone(), ended.turn.turn.clone());
        let work = async move {
            let replied = reply_size(&host, &turn).await;
            conversation.compact_ahead(provider.as_ref(), replied).await;
        };
        let work = (Box::pin(work) as BoxFuture<'static, ()>).shared();
        running.insert(session.clone(), RunningTurn::Summarising(work.clone()));
        drop(running);
        let (shared, session) = (Arc::clone(&self.shared), session.clone());
        let job = async move {
            work.await;
            let mut running = shared.running.lock().unwrap_or_else(PoisonError::into_inner);
            // The next turn may run by now.
            if let Some(RunningTurn::Summarising(_)) = running.get(&session) {
                running.remove(&session);
            }
            Ok(())
        };
        // A host that is gone runs nothing any more; the next turn makes the summary.
        let _ = self.shared.host.spawn("summary", job);
    }

    /// Waits for a summary that is being made, but not for good.
    async fn summary_behind(&self, session: &SessionId) {
        let work = match self.running().get(session) {
            Some(RunningTurn::Summarising(work)) => work.clone(),
            _ => return,
        };
        let limit = self.shared.host.clock().sleep_ms(SUMMARY_WAIT_MS);
        futures_util::future::select(work, limit).await;
    }
}

/// The size of what the model said last in a turn; nothing where that cannot be read.
async fn reply_size(host: &Host, turn: &TurnId) -> u64 {
    let Ok(conversations) = host.service(&CONVERSATIONS) else { return 0 };
    let rows: Vec<Row> = match conversations.turn(turn).await {
        Ok(Some(log)) => log.rows.into_iter().map(|stored| stored.row).collect(),
        Ok(None) | Err(_) => return 0,
    };
    project(&rows).last().map_or(0, |last| of_messages(std::slice::from_ref(last)))
}

impl HistoryCompaction for CompactionService {
    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        turns: Vec<PastTurn>,
        provider: Arc<dyn Provider>,
    ) -> BoxFuture<'a, ReadConversation> {
        Box::pin(async move {
            self.summary_behind(session).await;
            let found = self.found(session, &turns).await.unwrap_or_else(|error| {
                let message = format!("the summary of a conversation cannot be read, all of it is sent: {error}");
                self.shared.host.log(Level::Warn, &message, Map::new());
                None
            });
            let view = found.map_or_else(HistoryView::default, |(summarised, compaction)| HistoryView {
                summarised,
                summary: Some(compaction.summary),
            });
            let begun_summarised = view.summarised;
            let mut conversation = FittingConversation {
                shared: Arc::clone(&self.shared),
                session: session.clone(),
                turns,
                view: Mutex::new(view),
                begun_with: 0,
                begun_summarised,
                last: Mutex::default(),
            };
            let history = conversation.history();
            conversation.begun_with = history.len();
            let conversation = Arc::new(conversation);
            let open = RunningTurn::Open(Arc::clone(&conversation), Arc::clone(&provider));
            self.running().insert(session.clone(), open);
            let provider = FittingProvider { provider, conversation };
            ReadConversation { history, provider: Arc::new(provider) }
        })
    }
}

impl Compactions for CompactionService {
    fn undo<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<Compaction, CompactionError>> {
        Box::pin(self.take_back(label))
    }
}
