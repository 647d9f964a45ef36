//! The ledger as a service: prepares events, asks the storage, and wakes whoever waits for events.

use crate::account_rows::AccountLease;
use crate::append_queue::{AppendQueue, AppendRequest};
use crate::channel_counts::channel_counts;
use crate::contract::{
    AdapterPosition, Appended, ChannelCount, Event, EventFilter, EventLedger, EventReceipt, EventReceipts, EventStatus,
    Identity, KeptReply, LedgerError, NewEvent, Person,
};
use crate::event_rows::{self, COLUMNS};
use crate::kept_replies::KeptReplies;
use crate::person_rows;
use crate::prepared_event::{PreparedEvent, check_channel, prepare};
use crate::tables::content_index;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Statement, Storage, StorageError, WordSearch};
use dispatch_durable_queue::{WakeSignal, transact};
use dispatch_redact::Redactor;
use futures_channel::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

/// The most events that are read at once.
const MAX_PAGE: u32 = 1_000;
/// The longest tag, and the longest name of a person.
const MAX_WORD_BYTES: usize = 200;
/// What a change of persons holds.
const PERSONS_KEY: &str = "event-ledger:persons";

/// The field of an event's metadata that names the workspace it belongs to.
const WORKSPACE: &str = "workspace";

/// The ledger over a store.
pub(crate) struct LedgerService {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) queue: AppendQueue,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) appended: Arc<WakeSignal>,
    pub(crate) replies: Arc<KeptReplies>,
    /// The folder that this process works in.
    pub(crate) workspace: String,
    pub(crate) receipts: Mutex<Option<Arc<dyn EventReceipts>>>,
}

impl LedgerService {
    fn prepared(&self, mut event: NewEvent) -> Result<PreparedEvent, LedgerError> {
        // What came in here is routed by the hooks of this workspace.
        event.metadata.insert(WORKSPACE.to_owned(), self.workspace.clone().into());
        prepare(event, &self.redactor, self.clock.now_ms(), || self.ids.next_id())
    }

    async fn store(
        &self,
        events: Vec<NewEvent>,
        position: Option<AdapterPosition>,
        lease: Option<AccountLease>,
    ) -> Result<Vec<Appended>, LedgerError> {
        let events = events.into_iter().map(|event| self.prepared(event)).collect::<Result<_, _>>()?;
        self.queue.append(AppendRequest { events, position, lease, now_ms: self.clock.now_ms() }).await
    }

    /// Stores events of an account that is read, and how far it was read with them, while it is held.
    pub(crate) async fn store_read(
        &self,
        lease: AccountLease,
        events: Vec<NewEvent>,
        position: String,
    ) -> Result<Vec<Appended>, LedgerError> {
        let position = AdapterPosition { channel: lease.channel.clone(), account: lease.account.clone(), position };
        self.store(events, Some(position), Some(lease)).await
    }

    async fn events(&self, query: Statement) -> Result<Vec<Event>, LedgerError> {
        let found = self.storage.query(query).await?;
        Ok(found.iter().map(event_rows::read).collect::<Result<_, _>>()?)
    }

    async fn number(&self, id: &str) -> Result<u64, LedgerError> {
        let found = self.storage.query(event_rows::number_of(id)).await?;
        let number = found.first().ok_or_else(|| LedgerError::NoEvent { id: id.to_owned() })?;
        Ok(number.unsigned(0)?)
    }

    async fn change(&self, change: Statement) -> Result<(), LedgerError> {
        let work = move |tx: &mut dyn dispatch_contracts::storage::Transaction| tx.execute(&change).map(drop);
        Ok(transact::<(), StorageError>(self.storage.as_ref(), Keys::none(), work).await?)
    }
}

fn checked_word<'a>(field: &'static str, word: &'a str) -> Result<&'a str, LedgerError> {
    let problem = match word {
        "" => "it is empty".to_owned(),
        word if word.len() > MAX_WORD_BYTES => format!("it is longer than {MAX_WORD_BYTES} bytes"),
        word if word.chars().any(char::is_control) => "it contains a control character".to_owned(),
        word => return Ok(word),
    };
    Err(LedgerError::Invalid { field, problem })
}

impl EventLedger for LedgerService {
    fn append(&self, event: NewEvent) -> BoxFuture<'_, Result<Appended, LedgerError>> {
        Box::pin(async move {
            let stored = self.store(vec![event], None, None).await?;
            stored.into_iter().next().ok_or(LedgerError::Closed)
        })
    }

    fn append_all(&self, events: Vec<NewEvent>) -> BoxFuture<'_, Result<Vec<Appended>, LedgerError>> {
        Box::pin(self.store(events, None, None))
    }

    fn append_with_position(
        &self,
        events: Vec<NewEvent>,
        position: AdapterPosition,
    ) -> BoxFuture<'_, Result<Vec<Appended>, LedgerError>> {
        Box::pin(self.store(events, Some(position), None))
    }

    fn position<'a>(
        &'a self,
        channel: &'a str,
        account: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, LedgerError>> {
        Box::pin(async move {
            let query = statement!(
                "SELECT read_up_to FROM adapter_positions WHERE channel = ?1 AND account = ?2",
                channel,
                account
            );
            let found = self.storage.query(query).await?;
            Ok(found.first().map(|row| row.text(0).map(str::to_owned)).transpose()?)
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Event>, LedgerError>> {
        Box::pin(async move { Ok(self.events(event_rows::by_id(id)).await?.into_iter().next()) })
    }

    fn after(&self, sequence: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Event>, LedgerError>> {
        Box::pin(self.events(event_rows::after(sequence, limit.min(MAX_PAGE))))
    }

    fn after_in<'a>(
        &'a self,
        channel: &'a str,
        sequence: u64,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<Event>, LedgerError>> {
        Box::pin(self.events(event_rows::after_in(channel, sequence, limit.min(MAX_PAGE))))
    }

    fn newest(&self, filter: EventFilter, limit: u32) -> BoxFuture<'_, Result<Vec<Event>, LedgerError>> {
        Box::pin(self.events(event_rows::newest(&filter, limit.min(MAX_PAGE))))
    }

    fn last_sequence(&self) -> BoxFuture<'_, Result<u64, LedgerError>> {
        Box::pin(async move {
            let found = self.storage.query(event_rows::last()).await?;
            Ok(found.first().map_or(Ok(0), |row| row.unsigned(0))?)
        })
    }

    fn thread_history<'a>(&'a self, event: &'a Event, limit: u32) -> BoxFuture<'a, Result<Vec<Event>, LedgerError>> {
        Box::pin(async move {
            let mut found = self.events(event_rows::before_in_thread(event, limit.min(MAX_PAGE))).await?;
            found.reverse();
            Ok(found)
        })
    }

    fn search<'a>(&'a self, question: &'a str, limit: u32) -> BoxFuture<'a, Result<Vec<Event>, LedgerError>> {
        Box::pin(async move {
            let search = WordSearch {
                index: content_index(),
                columns: COLUMNS.map(str::to_owned).to_vec(),
                question: question.to_owned(),
                limit: limit.min(MAX_PAGE),
            };
            if search.words().is_empty() {
                return Ok(Vec::new());
            }
            let found = self.storage.search(search).await?;
            Ok(found.iter().map(event_rows::read).collect::<Result<_, _>>()?)
        })
    }

    fn person_of<'a>(&'a self, channel: &'a str, id: &'a str) -> BoxFuture<'a, Result<Option<Person>, LedgerError>> {
        Box::pin(async move {
            let rows = self.storage.query(person_rows::identities_beside(channel, id)).await?;
            Ok(person_rows::people(&rows)?.into_iter().next())
        })
    }

    fn persons(&self) -> BoxFuture<'_, Result<Vec<Person>, LedgerError>> {
        Box::pin(async move {
            let rows = self.storage.query(person_rows::all_identities()).await?;
            Ok(person_rows::people(&rows)?)
        })
    }

    fn link<'a>(&'a self, person: &'a str, identity: Identity) -> BoxFuture<'a, Result<Person, LedgerError>> {
        Box::pin(async move {
            let person = checked_word("person", person)?.to_owned();
            check_channel(&identity.channel)?;
            checked_word("identity", &identity.id)?;
            let now_ms = self.clock.now_ms();
            let work = move |tx: &mut dyn dispatch_contracts::storage::Transaction| {
                person_rows::link(tx, &person, &identity, now_ms)
            };
            Ok(transact::<_, StorageError>(self.storage.as_ref(), Keys::of([PERSONS_KEY]), work).await?)
        })
    }

    fn status<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<EventStatus, LedgerError>> {
        Box::pin(async move {
            let event = self.number(id).await?;
            let rows = self.storage.query(statement!("SELECT status FROM event_state WHERE event = ?1", event)).await?;
            let word = rows.first().map(|row| row.text(0)).transpose()?;
            Ok(word.and_then(EventStatus::of_word).unwrap_or_default())
        })
    }

    fn set_status<'a>(&'a self, id: &'a str, status: EventStatus) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            let event = self.number(id).await?;
            self.change(statement!(
                "INSERT INTO event_state (event, status, changed_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (event) DO UPDATE SET status = ?2, changed_at = ?3",
                event,
                status.word(),
                self.clock.now_ms()
            ))
            .await
        })
    }

    fn tags<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<String>, LedgerError>> {
        Box::pin(async move {
            let event = self.number(id).await?;
            let query = statement!("SELECT tag FROM event_tags WHERE event = ?1 ORDER BY tag", event);
            let rows = self.storage.query(query).await?;
            Ok(rows.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<_, _>>()?)
        })
    }

    fn tag<'a>(&'a self, id: &'a str, tag: &'a str) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            let (event, tag) = (self.number(id).await?, checked_word("tag", tag)?);
            self.change(statement!(
                "INSERT INTO event_tags (tag, event, added_at) VALUES (?1, ?2, ?3) ON CONFLICT (tag, event) DO NOTHING",
                tag,
                event,
                self.clock.now_ms()
            ))
            .await
        })
    }

    fn untag<'a>(&'a self, id: &'a str, tag: &'a str) -> BoxFuture<'a, Result<(), LedgerError>> {
        Box::pin(async move {
            let event = self.number(id).await?;
            self.change(statement!("DELETE FROM event_tags WHERE tag = ?1 AND event = ?2", tag, event)).await
        })
    }

    fn channel_counts(&self, since_ms: u64) -> BoxFuture<'_, Result<Vec<ChannelCount>, LedgerError>> {
        Box::pin(async move { Ok(channel_counts(self.storage.as_ref(), since_ms).await?) })
    }

    fn listen(&self) -> Receiver<()> {
        self.appended.listen()
    }

    fn receipts_from(&self, receipts: Arc<dyn EventReceipts>) {
        *self.receipts.lock().unwrap_or_else(PoisonError::into_inner) = Some(receipts);
    }

    fn kept_replies<'a>(&'a self, event: &'a str) -> BoxFuture<'a, Result<Vec<KeptReply>, LedgerError>> {
        Box::pin(async move { Ok(self.replies.to_event(event).await?) })
    }

    fn receipt<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<EventReceipt, LedgerError>> {
        Box::pin(async move {
            let known = self.receipts.lock().unwrap_or_else(PoisonError::into_inner).clone();
            match known {
                Some(receipts) => receipts.receipt(id).await,
                None => Ok(EventReceipt::default()),
            }
        })
    }
}
