//! Offers compaction to the session orchestrator, and its undoing to the program.

use crate::compaction_store::{CompactionStore, in_force};
use crate::contract::{COMPACTIONS, Compaction, CompactionError, Compactions};
use crate::fitting_provider::{CompactionShared, FittingConversation, FittingProvider, HistoryView};
use crate::settings::CompactionSettings;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::Level;
use dispatch_contracts::provider::Provider;
use ext_conversation_store::contract::{CONVERSATIONS, ConversationError};
use ext_session_orchestrator::contract::{HISTORY, HistoryCompaction, PastTurn, ReadConversation, past_turns};
use serde_json::Map;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

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
        Box::pin(std::future::ready(register(&host)))
    }
}

fn register(host: &Host) -> Result<(), ExtensionError> {
    let shared = Arc::new(CompactionShared {
        host: host.clone(),
        store: CompactionStore::new(host.storage().ok()),
        settings: CompactionSettings::read(&host.settings()),
        windows: Mutex::new(BTreeMap::new()),
    });
    let service = Arc::new(CompactionService { shared });
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
        session: &dispatch_contracts::ids::SessionId,
        turns: &[PastTurn],
    ) -> Result<Option<(usize, Compaction)>, dispatch_contracts::storage::StorageError> {
        let known = self.shared.store.load_all(turns).await?;
        let own = self.shared.store.load(session).await?;
        let known = [known, vec![own.clone()]].concat();
        Ok(in_force(turns, &known, &own.undone).map(|(turns, compaction)| (turns, compaction.clone())))
    }

    async fn take_back(&self, label: &str) -> Result<Compaction, CompactionError> {
        let conversations = self.shared.host.service(&CONVERSATIONS);
        let conversations = conversations.map_err(|_| ConversationError::NoSession { label: label.to_owned() })?;
        let history = conversations.history(label).await?;
        let session = history.session.id.clone();
        let turns = past_turns(history);
        let found = self.found(&session, &turns).await?;
        let (_, compaction) = found.ok_or_else(|| CompactionError::Nothing { label: label.to_owned() })?;
        let mut own = self.shared.store.load(&session).await?;
        own.undone.push(compaction.through.clone());
        self.shared.store.save(&session, &own).await?;
        Ok(compaction)
    }
}

impl HistoryCompaction for CompactionService {
    fn read<'a>(
        &'a self,
        session: &'a dispatch_contracts::ids::SessionId,
        turns: Vec<PastTurn>,
        provider: Arc<dyn Provider>,
    ) -> BoxFuture<'a, ReadConversation> {
        Box::pin(async move {
            let found = self.found(session, &turns).await.unwrap_or_else(|error| {
                let message = format!("the summary of a conversation cannot be read, all of it is sent: {error}");
                self.shared.host.log(Level::Warn, &message, Map::new());
                None
            });
            let view = found.map_or_else(HistoryView::default, |(summarised, compaction)| HistoryView {
                summarised,
                summary: Some(compaction.summary),
            });
            let mut conversation = FittingConversation {
                shared: Arc::clone(&self.shared),
                session: session.clone(),
                turns,
                view: Mutex::new(view),
                begun_with: 0,
            };
            let history = conversation.history();
            conversation.begun_with = history.len();
            let provider = FittingProvider { provider, conversation: Arc::new(conversation) };
            ReadConversation { history, provider: Arc::new(provider) }
        })
    }
}

impl Compactions for CompactionService {
    fn undo<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<Compaction, CompactionError>> {
        Box::pin(self.take_back(label))
    }
}
