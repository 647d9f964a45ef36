//! The adapter of the channel `mail`: its accounts, how they are read, and how a reply leaves once.

use crate::account_settings::MailAccount;
use crate::contract::CHANNEL;
use crate::failed_fetches::FailedFetches;
use crate::imap_session::ImapSession;
use crate::mailbox_reader::MailboxReader;
use crate::reply_mail::{ReplyMail, reply_id, reply_mail};
use crate::send_journal::{SendJournal, SendStep};
use crate::smtp_sending::{announce, hand_over, open_smtp};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::Level;
use dispatch_contracts::secret::Secret;
use dispatch_os::digest::{hex, sha256_of_parts};
use ext_event_ledger::contract::{
    AccountState, AccountStatus, ChannelAdapter, ChannelError, EventLedger, Inbox, Intake, OutboundAbilities,
    OutboundMessage, ReconcileOutcome, SendOutcome,
};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The mail accounts of this process.
pub(crate) struct MailAdapter {
    pub(crate) host: Host,
    pub(crate) accounts: BTreeMap<String, Result<MailAccount, String>>,
    pub(crate) ledger: Arc<dyn EventLedger>,
    pub(crate) journal: SendJournal,
    pub(crate) failed: Mutex<FailedFetches>,
}

impl MailAdapter {
    fn account(&self, name: &str) -> Result<&MailAccount, String> {
        match self.accounts.get(name) {
            Some(Ok(account)) => Ok(account),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("there is no mail account `{name}` (hint: add [channels.mail.{name}])")),
        }
    }

    async fn secret(&self, account: &MailAccount) -> Result<Secret, String> {
        let name = account.secret_name();
        let vault = self.host.secrets().map_err(|error| error.to_string())?;
        vault.get(&name).await.map_err(|error| format!("{error} (hint: dispatch auth add {name})"))
    }

    async fn ready(&self, name: &str) -> Result<(&MailAccount, Secret), String> {
        let account = self.account(name)?;
        Ok((account, self.secret(account).await?))
    }

    async fn read_mailbox(&self, inbox: Inbox) -> Result<(), ChannelError> {
        let (account, secret) = self.ready(&inbox.account).await.map_err(ChannelError::Lasting)?;
        let warn = |message: String| self.host.log(Level::Warn, &message, Map::new());
        let failed = &self.failed;
        MailboxReader { account, secret: &secret, inbox: &inbox, warn: &warn, failed }.run().await
    }

    async fn try_account(&self, name: &str) -> Result<String, ChannelError> {
        let (account, secret) = self.ready(name).await.map_err(ChannelError::Lasting)?;
        let mut session = ImapSession::open(account, &secret).await?;
        session.select(&account.folder).await?;
        let way = if session.has_idle { "new mail is told at once (IDLE)" } else { "the server is asked at intervals" };
        session.close().await;
        if account.smtp.is_none() {
            return Ok(format!("reading works: {way}; there is no `smtp`, so nothing can be sent"));
        }
        let mut connection = open_smtp(account, &secret).await.map_err(|failure| match failure.again {
            true => ChannelError::Passing(format!("reading works, sending does not: {}", failure.reason)),
            false => ChannelError::Lasting(format!("reading works, sending does not: {}", failure.reason)),
        })?;
        // The server notices the end of the connection too.
        let _ = connection.quit().await;
        Ok(format!("reading and sending work: {way}"))
    }

    /// The mail of a message, with its account.
    async fn prepared(&self, message: &OutboundMessage) -> Result<(&MailAccount, Secret, ReplyMail), String> {
        let name = message.delivery.account_id.as_deref().unwrap_or_default();
        let (account, secret) = self.ready(name).await?;
        let answered = message.delivery.reply_to_id.as_ref().or(message.event.as_ref());
        let answered = match answered {
            Some(id) => self.ledger.get(id).await.map_err(|error| error.to_string())?,
            None => None,
        };
        Ok((account, secret, reply_mail(account, message, answered.as_ref())?))
    }

    async fn send_once(&self, message: OutboundMessage) -> SendOutcome {
        let (account, secret, mail) = match self.prepared(&message).await {
            Ok(prepared) => prepared,
            Err(reason) => return SendOutcome::NotSent { reason, again: false },
        };
        let receipt = Map::from_iter([("messageId".to_owned(), json!(reply_id(account, &message.id)))]);
        let attempt = self.host.ids().next_id();
        match self.journal.begin(&message.id, &attempt, self.host.clock().now_ms()).await {
            Ok(true) => {}
            Ok(false) => return SendOutcome::Sent { receipt },
            Err(error) => return SendOutcome::NotSent { reason: error.to_string(), again: true },
        }
        let not_sent = |reason, again| SendOutcome::NotSent { reason, again };
        let mut connection = match open_smtp(account, &secret).await {
            Ok(connection) => connection,
            Err(failure) => return not_sent(failure.reason, failure.again),
        };
        if let Err(failure) = announce(&mut connection, &mail).await {
            return not_sent(failure.reason, failure.again);
        }
        // From here on the server may have it. An attempt that was called off meanwhile ends here.
        match self.journal.reach(&message.id, &attempt, SendStep::Handed).await {
            Ok(true) => {}
            Ok(false) => return not_sent("another process took this reply over".to_owned(), true),
            Err(error) => return not_sent(error.to_string(), true),
        }
        let handed = hand_over(&mut connection, &mail).await;
        let (step, outcome) = match handed {
            Ok(_) => (SendStep::Taken, SendOutcome::Sent { receipt }),
            Err(failure) if failure.is_refusal => (SendStep::GivenUp, not_sent(failure.reason, failure.again)),
            Err(failure) => return SendOutcome::Unknown { reason: failure.reason },
        };
        // What could not be noted is found in the folder for sent mail, or settled by a person.
        let _ = self.journal.reach(&message.id, &attempt, step).await;
        let _ = connection.quit().await;
        outcome
    }

    async fn find_out(&self, message: OutboundMessage) -> ReconcileOutcome {
        let name = message.delivery.account_id.as_deref().unwrap_or_default();
        let Ok((account, secret)) = self.ready(name).await else { return ReconcileOutcome::Unresolved };
        let id = reply_id(account, &message.id);
        let receipt = Map::from_iter([("messageId".to_owned(), json!(id))]);
        match self.journal.settle(&message.id, self.host.clock().now_ms()).await {
            Ok(SendStep::Taken) => return ReconcileOutcome::Sent { receipt },
            Ok(SendStep::Connecting | SendStep::GivenUp) => return ReconcileOutcome::NotSent,
            Ok(SendStep::Handed) => {}
            Err(_) => return ReconcileOutcome::Unresolved,
        }
        // Many servers keep what they sent. One that does not proves nothing.
        let Ok(mut session) = ImapSession::open(account, &secret).await else { return ReconcileOutcome::Unresolved };
        let found = session.has_sent(&id).await;
        session.close().await;
        if found == Ok(true) { ReconcileOutcome::Sent { receipt } } else { ReconcileOutcome::Unresolved }
    }
}

impl ChannelAdapter for MailAdapter {
    fn channel(&self) -> &str {
        CHANNEL
    }

    fn intake(&self) -> Intake {
        Intake::Read
    }

    fn abilities(&self) -> OutboundAbilities {
        OutboundAbilities { sends: true, idempotent: false, reconcile: true }
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        let status = |(name, account): (&String, &Result<MailAccount, String>)| AccountStatus {
            channel: CHANNEL.to_owned(),
            account: name.clone(),
            state: if account.is_ok() { AccountState::Waiting } else { AccountState::Stopped },
            reason: account.as_ref().err().cloned(),
            node: None,
        };
        self.accounts.iter().map(status).collect()
    }

    fn configuration_mark<'a>(&'a self, account: &'a str) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let secret = match self.account(account) {
                Ok(account) => self.secret(account).await.ok(),
                Err(_) => None,
            };
            let secret = secret.as_ref().map_or("", Secret::expose);
            hex(sha256_of_parts(&[account.as_bytes(), b"\0", secret.as_bytes()]))
        })
    }

    fn read(&self, inbox: Inbox) -> BoxFuture<'_, Result<(), ChannelError>> {
        Box::pin(self.read_mailbox(inbox))
    }

    fn send(&self, message: OutboundMessage) -> BoxFuture<'_, SendOutcome> {
        Box::pin(self.send_once(message))
    }

    fn reconcile(&self, message: OutboundMessage) -> BoxFuture<'_, ReconcileOutcome> {
        Box::pin(self.find_out(message))
    }

    fn test<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<String, ChannelError>> {
        Box::pin(self.try_account(account))
    }
}
