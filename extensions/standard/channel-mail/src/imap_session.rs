//! An open mailbox: searches, fetches the beginnings of mails, and waits for new ones.

use crate::account_settings::MailAccount;
use crate::connection::{MailStream, connect};
use crate::mail_event::FetchedMail;
use crate::mailbox_position::{MailboxPosition, MailboxState, unread_uids};
use async_imap::error::Error;
use async_imap::extensions::idle::IdleResponse;
use async_imap::types::UnsolicitedResponse;
use async_imap::{Client, Session};
use dispatch_contracts::secret::Secret;
use ext_event_ledger::contract::ChannelError;
use futures_util::TryStreamExt;
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// How long one command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// How long to wait before the server is asked again, although it said that it would tell.
const IDLE_LIMIT: Duration = Duration::from_secs(5 * 60);
/// How much of a mail is fetched.
const MAX_FETCHED_BYTES: u32 = 256 * 1024;
/// What `async-imap` says of an answer that is not IMAP as it knows it; what it quotes of the answer is not for logs.
const UNREADABLE: &str = "cannot be read";
const PARSING: &str = "during parsing of";
/// What servers call a refusal that passes by itself.
const PASSING_CODES: [&str; 4] = ["Unavailable", "UNAVAILABLE", "INUSE", "LIMIT"];

/// A mailbox that is open.
pub(crate) struct ImapSession {
    session: Session<Box<dyn MailStream>>,
    pub(crate) has_idle: bool,
}

/// Why mails were not fetched.
pub(crate) struct FetchFailure {
    pub(crate) error: ChannelError,
    /// Whether an answer came and could not be read.
    pub(crate) is_unreadable: bool,
}

impl FetchFailure {
    fn of(error: ChannelError) -> Self {
        let is_unreadable = matches!(&error, ChannelError::Passing(why) if why.contains(UNREADABLE));
        Self { error, is_unreadable }
    }
}

async fn within<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, ChannelError> {
    match timeout(COMMAND_LIMIT, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ChannelError::Passing(told(&error))),
        Err(_) => Err(ChannelError::Passing("the server does not answer".to_owned())),
    }
}

/// What went wrong, without the answer of the server itself: it may hold a whole mail.
fn told(error: &Error) -> String {
    let text = error.to_string();
    let is_unreadable = matches!(error, Error::Parse(_)) || text.contains(PARSING);
    if is_unreadable { format!("the server's answer {UNREADABLE}") } else { text }
}

/// What a server said, as people read it.
fn server_text(said: &str) -> String {
    let told = said.split_once("info: Some(\"").and_then(|(_, rest)| rest.split_once("\")"));
    told.map_or(said, |(text, _)| text).to_owned()
}

impl ImapSession {
    /// Connects and logs in.
    pub(crate) async fn open(account: &MailAccount, secret: &Secret) -> Result<Self, ChannelError> {
        let stream = connect(&account.imap).await.map_err(ChannelError::Passing)?;
        let mut client = Client::new(stream);
        let greeting = timeout(COMMAND_LIMIT, client.read_response()).await;
        if !matches!(greeting, Ok(Ok(Some(_)))) {
            return Err(ChannelError::Passing("the server does not speak IMAP".to_owned()));
        }
        let login = timeout(COMMAND_LIMIT, client.login(&account.user, secret.expose())).await;
        let mut session = match login {
            Ok(Ok(session)) => session,
            Ok(Err((Error::No(said), _))) if !PASSING_CODES.iter().any(|code| said.contains(code)) => {
                let said = server_text(&said).replace(secret.expose(), "[REDACTED]");
                return Err(ChannelError::Lasting(format!(
                    "the server refused the login of `{}`: {said} (hint: dispatch auth add {})",
                    account.user,
                    account.secret_name()
                )));
            }
            Ok(Err((error, _))) => {
                let said = error.to_string().replace(secret.expose(), "[REDACTED]");
                return Err(ChannelError::Passing(format!("the login failed: {said}")));
            }
            Err(_) => return Err(ChannelError::Passing("the server does not answer the login".to_owned())),
        };
        let has_idle = within(session.capabilities()).await?.has_str("IDLE");
        Ok(Self { session, has_idle })
    }

    /// Opens a folder for reading; nothing in it is changed.
    pub(crate) async fn select(&mut self, folder: &str) -> Result<MailboxState, ChannelError> {
        let opened = match timeout(COMMAND_LIMIT, self.session.examine(folder)).await {
            Ok(Err(Error::No(said))) => {
                let said = server_text(&said);
                return Err(ChannelError::Lasting(format!("folder `{folder}`: {said} (hint: see `folder`)")));
            }
            answered => within(async { answered.map_err(|_| Error::ConnectionLost)? }).await?,
        };
        let newest_s = if opened.exists == 0 { 0 } else { self.newest().await? };
        let last_uid = match opened.uid_next {
            Some(next) => next.saturating_sub(1),
            None => within(self.session.uid_search("ALL")).await?.into_iter().max().unwrap_or_default(),
        };
        Ok(MailboxState { validity: opened.uid_validity.unwrap_or_default(), last_uid, newest_s })
    }

    /// When the newest mail arrived.
    async fn newest(&mut self) -> Result<i64, ChannelError> {
        let fetched = within(async { self.session.fetch("*", "INTERNALDATE").await?.try_collect::<Vec<_>>().await });
        let dates = fetched.await?.into_iter().filter_map(|mail| mail.internal_date());
        Ok(dates.map(|date| date.timestamp()).max().unwrap_or_default())
    }

    /// The mails behind a position.
    pub(crate) async fn unread(&mut self, position: MailboxPosition) -> Result<Vec<u32>, ChannelError> {
        let query = format!("UID {}:*", position.uid.saturating_add(1));
        Ok(unread_uids(within(self.session.uid_search(query)).await?, position))
    }

    /// The mails that arrived at this time or later, and some from the day before it.
    pub(crate) async fn since(&mut self, since_s: i64) -> Result<Vec<u32>, ChannelError> {
        let day = jiff::Timestamp::from_second(since_s.saturating_sub(24 * 60 * 60)).unwrap_or_default();
        let query = format!("SINCE {}", day.strftime("%d-%b-%Y"));
        let mut uids: Vec<u32> = within(self.session.uid_search(query)).await?.into_iter().collect();
        uids.sort_unstable();
        Ok(uids)
    }

    /// The beginnings of mails. One that is gone meanwhile is left out.
    pub(crate) async fn fetch(&mut self, uids: &[u32]) -> Result<Vec<FetchedMail>, FetchFailure> {
        let set = uids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let query = format!("(UID RFC822.SIZE INTERNALDATE BODY.PEEK[]<0.{MAX_FETCHED_BYTES}>)");
        let fetching = async { self.session.uid_fetch(set, query).await?.try_collect::<Vec<_>>().await };
        let mut mails: Vec<FetchedMail> = within(fetching)
            .await
            .map_err(FetchFailure::of)?
            .into_iter()
            .filter_map(|mail| {
                Some(FetchedMail {
                    uid: mail.uid.filter(|uid| uids.contains(uid))?,
                    arrived_s: mail.internal_date().map_or(0, |date| date.timestamp()),
                    size: mail.size.unwrap_or_default(),
                    bytes: mail.body().unwrap_or_default().to_vec(),
                })
            })
            .collect();
        mails.sort_by_key(|mail| mail.uid);
        Ok(mails)
    }

    /// Waits until the server tells of something new, or long enough to ask it.
    pub(crate) async fn wait(self, poll_s: u64) -> Result<Self, ChannelError> {
        let Self { mut session, has_idle } = self;
        if !has_idle {
            tokio::time::sleep(Duration::from_secs(poll_s)).await;
            within(session.noop()).await?;
            return Ok(Self { session, has_idle });
        }
        // What came before the server began to tell is in this queue.
        let told_before = session.unsolicited_responses.clone();
        while told_before.try_recv().is_ok() {}
        let mut idle = session.idle();
        within(idle.init()).await?;
        let mut is_new = false;
        while let Ok(told) = told_before.try_recv() {
            is_new |= matches!(told, UnsolicitedResponse::Exists(_));
        }
        if !is_new {
            let (waiting, _interrupt) = idle.wait_with_timeout(IDLE_LIMIT);
            match waiting.await {
                Ok(IdleResponse::NewData(_) | IdleResponse::Timeout) => {}
                Ok(IdleResponse::ManualInterrupt) => {
                    return Err(ChannelError::Passing("the server closed the connection".to_owned()));
                }
                Err(error) => return Err(ChannelError::Passing(error.to_string())),
            }
        }
        Ok(Self { session: within(idle.done()).await?, has_idle })
    }

    /// Whether a folder for sent mail has a mail with this id.
    pub(crate) async fn has_sent(&mut self, id: &str) -> Result<bool, ChannelError> {
        for folder in ["Sent", "INBOX.Sent", "[Gmail]/Sent Mail", "Sent Items", "Sent Messages"] {
            let opened = timeout(COMMAND_LIMIT, self.session.examine(folder)).await;
            if matches!(opened, Ok(Ok(_))) {
                let found = within(self.session.uid_search(format!("HEADER Message-ID \"{id}\""))).await?;
                if !found.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Says goodbye; a server that does not hear it notices the end of the connection.
    pub(crate) async fn close(mut self) {
        let _ = within(self.session.logout()).await;
    }
}
