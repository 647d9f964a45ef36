//! Reads one mailbox until the connection ends: what was missed first, then what the server tells of.

use crate::account_settings::MailAccount;
use crate::failed_fetches::{FailedFetches, FetchPace};
use crate::imap_session::ImapSession;
use crate::mail_event::{FetchedMail, mail_event, unreadable_event};
use crate::mailbox_position::{MailboxPosition, Resumption, resume};
use dispatch_contracts::secret::Secret;
use ext_event_ledger::contract::{ChannelError, Inbox, LedgerError, NewEvent};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many mails are fetched and stored together.
const BATCH: usize = 20;
/// A shorter secret is not looked for in mails: it would be found in words.
const MIN_SECRET_BYTES: usize = 8;

/// One mailbox that is read.
pub(crate) struct MailboxReader<'a> {
    pub(crate) account: &'a MailAccount,
    pub(crate) secret: &'a Secret,
    pub(crate) inbox: &'a Inbox,
    pub(crate) warn: &'a (dyn Fn(String) + Send + Sync),
    /// What could not be fetched, also over earlier connections.
    pub(crate) failed: &'a Mutex<FailedFetches>,
}

impl MailboxReader<'_> {
    /// Reads until something fails.
    pub(crate) async fn run(&self) -> Result<(), ChannelError> {
        let mut session = ImapSession::open(self.account, self.secret).await?;
        let state = session.select(&self.account.folder).await?;
        let stored = self.inbox.position.as_deref().and_then(MailboxPosition::parse);
        let (mut position, note) = match resume(stored, state) {
            Resumption::GoOn(position) => (position, None),
            Resumption::Begin(position) => {
                self.store(Vec::new(), position).await?;
                (position, None)
            }
            Resumption::SearchSince { since_s, then } => {
                let behind = MailboxPosition { uid: state.last_uid, ..then };
                let position = self.search_again(&mut session, since_s, behind).await?;
                let note = "the server numbered the mails of the folder anew (UIDVALIDITY changed); mails that were \
                            read before were recognised by their Message-ID";
                (self.warn)(format!("mail account `{}`: {note}", self.account.name));
                (position, Some(note.to_owned()))
            }
        };
        self.inbox.events.connected(note).await;
        while !self.inbox.cancel.is_cancelled() {
            let uids = session.unread(position).await?;
            position = self.take(&mut session, &uids, position).await?;
            session = session.wait(self.account.poll_s).await?;
        }
        session.close().await;
        Ok(())
    }

    /// Stores the mails with these UIDs.
    async fn take(
        &self,
        session: &mut ImapSession,
        uids: &[u32],
        mut position: MailboxPosition,
    ) -> Result<MailboxPosition, ChannelError> {
        for batch in uids.chunks(self.batch()) {
            let mails = self.fetch(session, batch).await?;
            let events = mails.iter().map(|mail| self.event(mail)).collect();
            let behind = mails.iter().fold(position, |at, mail| at.after(mail.uid, mail.arrived_s));
            // A mail that is gone has a number all the same.
            position = behind.after(batch.last().copied().unwrap_or_default(), behind.seen_s);
            self.store(events, position).await?;
        }
        self.failed().forget(&self.account.name);
        Ok(position)
    }

    fn failed(&self) -> MutexGuard<'_, FailedFetches> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many mails are fetched at once.
    fn batch(&self) -> usize {
        match self.failed().pace(&self.account.name) {
            FetchPace::Together => BATCH,
            FetchPace::OneByOne => 1,
        }
    }

    /// The beginnings of mails. One whose fetch failed again and again is there by its number alone.
    async fn fetch(&self, session: &mut ImapSession, uids: &[u32]) -> Result<Vec<FetchedMail>, ChannelError> {
        if let [uid] = uids
            && self.failed().is_unreadable(&self.account.name, *uid)
        {
            let name = &self.account.name;
            (self.warn)(format!(
                "mail account `{name}`: the server's answer for the mail with UID {uid} cannot be read"
            ));
            return Ok(vec![FetchedMail { uid: *uid, ..FetchedMail::default() }]);
        }
        session.fetch(uids).await.map_err(|failure| {
            if failure.is_unreadable {
                self.failed().note(&self.account.name, uids);
            }
            failure.error
        })
    }

    /// Stores every mail since a time. The position of the old numbers stays until all are stored, so that a crash on
    /// the way begins again.
    async fn search_again(
        &self,
        session: &mut ImapSession,
        since_s: i64,
        behind: MailboxPosition,
    ) -> Result<MailboxPosition, ChannelError> {
        let old = self.inbox.position.as_deref().and_then(MailboxPosition::parse).unwrap_or(behind);
        let uids = session.since(since_s).await?;
        let mut position = behind;
        for batch in uids.chunks(self.batch()) {
            let mails = self.fetch(session, batch).await?;
            let events = mails.iter().filter(|mail| mail.arrived_s >= since_s).map(|mail| self.event(mail)).collect();
            self.store(events, old).await?;
            position = mails.iter().fold(position, |at, mail| at.after(mail.uid, mail.arrived_s));
        }
        self.store(Vec::new(), position).await?;
        Ok(position)
    }

    fn event(&self, mail: &FetchedMail) -> NewEvent {
        if mail.bytes.is_empty() {
            return unreadable_event(self.account, self.inbox.position.as_deref(), mail);
        }
        let mut event = mail_event(self.account, mail);
        let secret = self.secret.expose();
        if secret.len() >= MIN_SECRET_BYTES {
            event.content = event.content.replace(secret, "[REDACTED]");
            if let Some(subject) = event.metadata.get_mut("subject") {
                *subject = subject.as_str().unwrap_or_default().replace(secret, "[REDACTED]").into();
            }
        }
        event
    }

    /// A mail that the ledger refuses must not keep the others out.
    async fn store(&self, events: Vec<NewEvent>, position: MailboxPosition) -> Result<(), ChannelError> {
        let passing = |error: LedgerError| ChannelError::Passing(error.to_string());
        match self.inbox.events.store(events.clone(), position.to_string()).await {
            Ok(_) => return Ok(()),
            Err(LedgerError::Invalid { .. }) => {}
            Err(error) => return Err(passing(error)),
        }
        let mut kept = Vec::new();
        for event in events {
            // Asked with the position from before: a crash on the way repeats all of them, and they are recognised.
            let before =
                self.inbox.position.clone().unwrap_or_else(|| MailboxPosition { uid: 0, ..position }.to_string());
            match self.inbox.events.store(vec![event.clone()], before).await {
                Ok(_) => kept.push(event),
                Err(LedgerError::Invalid { field, problem }) => {
                    let uid = event.metadata.get("uid").cloned().unwrap_or_default();
                    (self.warn)(format!(
                        "mail account `{}`: the mail with UID {uid} was left out: invalid {field}: {problem}",
                        self.account.name
                    ));
                }
                Err(error) => return Err(passing(error)),
            }
        }
        self.inbox.events.store(kept, position.to_string()).await.map(drop).map_err(passing)
    }
}
