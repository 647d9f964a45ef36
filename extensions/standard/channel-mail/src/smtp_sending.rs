//! Sends one mail over SMTP, step by step, so that it is known whether it can have left.

use crate::account_settings::MailAccount;
use crate::reply_mail::ReplyMail;
use crate::server_address::{Protection, ServerAddress};
use dispatch_contracts::secret::Secret;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// How long one step may take; the outbox gives up after a minute.
const STEP_LIMIT: Duration = Duration::from_secs(15);

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SmtpFailure {
    pub(crate) reason: String,
    /// Whether the server itself said no.
    pub(crate) is_refusal: bool,
    /// Whether another attempt may work.
    pub(crate) again: bool,
}

async fn step<T>(name: &str, work: impl Future<Output = Result<T, Error>>) -> Result<T, SmtpFailure> {
    match timeout(STEP_LIMIT, work).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(SmtpFailure {
            is_refusal: error.status().is_some(),
            again: !error.is_permanent(),
            reason: format!("{name}: {error}"),
        }),
        Err(_) => {
            Err(SmtpFailure { reason: format!("{name}: the server does not answer"), is_refusal: false, again: true })
        }
    }
}

async fn connected(server: &ServerAddress) -> Result<AsyncSmtpConnection, SmtpFailure> {
    let hello = ClientId::default();
    let tls = || {
        TlsParameters::new(server.host.clone()).map_err(|error| SmtpFailure {
            reason: format!("TLS cannot be used: {error}"),
            is_refusal: false,
            again: true,
        })
    };
    let implicit = if server.protection == Protection::Tls { Some(tls()?) } else { None };
    let place = (server.host.as_str(), server.port);
    let connecting = AsyncSmtpConnection::connect_tokio1(place, Some(STEP_LIMIT), &hello, implicit, None);
    let mut connection = step("cannot connect", connecting).await?;
    if server.protection == Protection::StartTls {
        step("STARTTLS", connection.starttls(tls()?, &hello)).await?;
    }
    Ok(connection)
}

/// Connects and logs in, if the server wants that.
pub(crate) async fn open_smtp(account: &MailAccount, secret: &Secret) -> Result<AsyncSmtpConnection, SmtpFailure> {
    let server = account.smtp.as_ref().ok_or_else(|| SmtpFailure {
        reason: format!("mail account `{}` has no `smtp`", account.name),
        is_refusal: true,
        again: false,
    })?;
    let mut connection = connected(server).await?;
    let mechanisms = [Mechanism::Plain, Mechanism::Login];
    if connection.server_info().get_auth_mechanism(&mechanisms).is_some() {
        let credentials = Credentials::new(account.user.clone(), secret.expose().to_owned());
        let login = step("the server refused the login", connection.auth(&mechanisms, &credentials)).await;
        login.map_err(|failure| SmtpFailure {
            reason: failure.reason.replace(secret.expose(), "[REDACTED]"),
            // A wrong password does not become right by repetition.
            again: failure.again && !failure.is_refusal,
            ..failure
        })?;
    }
    Ok(connection)
}

/// Names sender and recipient; the server is ready for the text then.
pub(crate) async fn announce(connection: &mut AsyncSmtpConnection, mail: &ReplyMail) -> Result<(), SmtpFailure> {
    step("sender", connection.command(Mail::new(Some(mail.from.clone()), Vec::new()))).await?;
    step("recipient", connection.command(Rcpt::new(mail.to.clone(), Vec::new()))).await?;
    step("DATA", connection.command(Data)).await.map(drop)
}

/// Hands the text over; gives what the server said.
pub(crate) async fn hand_over(connection: &mut AsyncSmtpConnection, mail: &ReplyMail) -> Result<String, SmtpFailure> {
    let answer = step("the text", connection.message(&mail.bytes)).await?;
    Ok(answer.first_line().unwrap_or_default().to_owned())
}
