//! The mail accounts that the settings name.
//!
//! Pure.

use crate::contract::CHANNEL;
use crate::server_address::{MailProtocol, ServerAddress, parse_server};
use dispatch_contracts::settings::Settings;
use std::collections::{BTreeMap, BTreeSet};

/// The folder that is read if the settings do not say.
const DEFAULT_FOLDER: &str = "INBOX";
/// How often a server without IDLE is asked, if the settings do not say.
const DEFAULT_POLL_S: u64 = 60;
/// The shortest time between two questions.
const MIN_POLL_S: u64 = 5;
/// The longest.
const MAX_POLL_S: u64 = 24 * 60 * 60;
/// What an account can have.
const KNOWN: [&str; 7] = ["imap", "smtp", "user", "folder", "address", "poll_s", "authserv"];

/// One mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MailAccount {
    pub(crate) name: String,
    pub(crate) imap: ServerAddress,
    /// `None` for an account that only reads.
    pub(crate) smtp: Option<ServerAddress>,
    pub(crate) user: String,
    pub(crate) folder: String,
    /// What replies are sent from.
    pub(crate) address: String,
    pub(crate) poll_s: u64,
    /// The server whose `Authentication-Results` are believed; a sender without its word counts as unverified.
    pub(crate) authserv: Option<String>,
}

impl MailAccount {
    /// The name of its secret in the vault.
    pub(crate) fn secret_name(&self) -> String {
        format!("channel:{CHANNEL}:{}", self.name)
    }
}

/// The accounts by name; what is wrong with one stands in its place.
pub(crate) fn configured_accounts(settings: &Settings) -> BTreeMap<String, Result<MailAccount, String>> {
    let section = settings.section("channels.mail");
    let names: BTreeSet<String> =
        section.iter().filter_map(|(key, _)| Some(key.rsplit_once('.')?.0.to_owned())).collect();
    let account = |name: String| {
        let read = account(&section.section(&name), &name);
        let read = read.map_err(|why| format!("[channels.mail.{name}]: {why}"));
        (name, read)
    };
    names.into_iter().map(account).collect()
}

fn account(own: &Settings, name: &str) -> Result<MailAccount, String> {
    if let Some((unknown, _)) = own.iter().find(|(key, _)| !KNOWN.contains(key)) {
        return Err(format!("unknown setting `{unknown}` (hint: there are {})", KNOWN.join(", ")));
    }
    let text = |key: &str| match own.get(key) {
        None => Ok(None),
        Some(_) => match own.read::<String>(key) {
            Some(text) if !text.trim().is_empty() && !text.chars().any(char::is_control) => Ok(Some(text)),
            _ => Err(format!("`{key}` is not a text (hint: see docs/mail.md)")),
        },
    };
    let required = |key: &str, example: &str| text(key)?.ok_or_else(|| format!("no `{key}` (hint: {example})"));
    let server = |protocol, key: &str, url: &str| parse_server(protocol, url).map_err(|why| format!("`{key}`: {why}"));
    let imap = server(MailProtocol::Imap, "imap", &required("imap", "imap = \"imaps://mail.example.org\"")?)?;
    let user = required("user", "user = \"me@example.org\"")?;
    let smtp = text("smtp")?.map(|url| server(MailProtocol::Smtp, "smtp", &url)).transpose()?;
    let address = match text("address")? {
        Some(address) => address,
        None if user.contains('@') => user.clone(),
        None => format!("{user}@{}", imap.host),
    };
    if address.parse::<lettre::Address>().is_err() {
        return Err(format!("`{address}` is not a mail address (hint: address = \"me@example.org\")"));
    }
    let poll_s = match own.get("poll_s") {
        None => DEFAULT_POLL_S,
        Some(_) => {
            own.read("poll_s").filter(|seconds| (MIN_POLL_S..=MAX_POLL_S).contains(seconds)).ok_or_else(|| {
                format!(
                    "`poll_s` is not a number from {MIN_POLL_S} to {MAX_POLL_S} (hint: {DEFAULT_POLL_S} if not set)"
                )
            })?
        }
    };
    let folder = text("folder")?.unwrap_or_else(|| DEFAULT_FOLDER.to_owned());
    Ok(MailAccount { name: name.to_owned(), imap, smtp, user, folder, address, poll_s, authserv: text("authserv")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_with_their_defaults_and_a_wrong_one_spoils_no_other() {
        let settings = Settings::default()
            .with("channels.mail.me.imap", "imaps://mail.example.org")
            .with("channels.mail.me.smtp", "smtps://mail.example.org")
            .with("channels.mail.me.user", "me@example.org")
            .with("channels.mail.lan.imap", "imap://localhost")
            .with("channels.mail.lan.user", "me")
            .with("channels.mail.lan.poll_s", 30)
            .with("channels.mail.open.imap", "imap://mail.example.org")
            .with("channels.mail.open.user", "me")
            .with("channels.mail.typo.imapp", "imaps://mail.example.org")
            .with("channels.mail.bare.user", "me")
            .with("channels.mail.fast.imap", "imaps://a")
            .with("channels.mail.fast.user", "me@a")
            .with("channels.mail.fast.poll_s", 1);
        let found = configured_accounts(&settings);
        let me = found["me"].as_ref().unwrap();
        assert_eq!((me.folder.as_str(), me.address.as_str(), me.poll_s), ("INBOX", "me@example.org", 60));
        assert_eq!(me.secret_name(), "channel:mail:me");
        let lan = found["lan"].as_ref().unwrap();
        assert_eq!((lan.address.as_str(), lan.poll_s, &lan.smtp), ("me@localhost", 30, &None));
        for (name, said) in [
            ("open", "unprotected"),
            ("typo", "unknown setting `imapp`"),
            ("bare", "no `imap`"),
            ("fast", "`poll_s` is not a number from 5"),
        ] {
            let refused = found[name].as_ref().unwrap_err();
            assert!(refused.starts_with(&format!("[channels.mail.{name}]: ")), "{refused}");
            assert!(refused.contains(said) && refused.contains("hint: "), "{refused}");
        }
    }
}
