//! The mail that answers an event, byte for byte the same at every attempt; or why there is none.
//!
//! Pure.

use crate::account_settings::MailAccount;
use crate::automatic_mail::HOPS_FIELD;
use crate::threading::{answer_references, answer_subject, one_line};
use dispatch_os::digest::{hex, sha256_of_parts};
use ext_event_ledger::contract::{Event, OutboundMessage};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::{Address, Message, message::Mailbox};
use std::time::{Duration, UNIX_EPOCH};

/// How many bytes of a hash name a reply.
const HASH_BYTES: usize = 16;
/// The longest subject of a mail that answers none.
const MAX_SUBJECT_CHARS: usize = 60;

/// A mail that is ready to leave.
#[derive(Clone, Debug)]
pub(crate) struct ReplyMail {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) bytes: Vec<u8>,
}

/// The id of the mail of a row in the outbox, without brackets.
pub(crate) fn reply_id(account: &MailAccount, message: &str) -> String {
    let domain = account.address.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
    let digest = sha256_of_parts(&[account.name.as_bytes(), b"\0", message.as_bytes()]);
    format!("{}.dispatch@{domain}", hex(digest.into_iter().take(HASH_BYTES)))
}

/// The mail for a message. `answered` is the event that it answers, if that is known.
pub(crate) fn reply_mail(
    account: &MailAccount,
    message: &OutboundMessage,
    answered: Option<&Event>,
) -> Result<ReplyMail, String> {
    let peer = message.delivery.peer_id.as_deref().ok_or("the reply names no recipient")?;
    let to: Address = peer.parse().map_err(|_| format!("`{}` is not a mail address", one_line(peer)))?;
    let from: Address = account.address.parse().map_err(|_| format!("`{}` is not a mail address", account.address))?;
    // A reply that a hook sends to somebody else is no answer to the sender.
    let answered = answered.filter(|event| event.channel == message.delivery.channel && event.peer_id == peer);
    if let Some(reason) = answered.and_then(|event| event.metadata.get("automatic")?.as_str()) {
        return Err(format!("no answer to automatic mail ({reason})"));
    }
    let mut mail = Message::builder()
        .from(Mailbox::new(None, from.clone()))
        .to(Mailbox::new(None, to.clone()))
        .date(UNIX_EPOCH + Duration::from_millis(message.at_ms))
        .message_id(Some(format!("<{}>", reply_id(account, &message.id))))
        .subject(subject(message, answered))
        .header(ContentType::TEXT_PLAIN);
    for (name, value) in [
        ("Auto-Submitted", "auto-replied".to_owned()),
        ("X-Auto-Response-Suppress", "All".to_owned()),
        (HOPS_FIELD, message.hops.to_string()),
    ] {
        mail = mail.raw_header(HeaderValue::new(HeaderName::new_from_ascii_str(name), value));
    }
    if let Some((id, before)) = answered.and_then(thread) {
        let references: Vec<String> = answer_references(&before, &id).iter().map(|id| format!("<{id}>")).collect();
        mail = mail.in_reply_to(format!("<{id}>")).references(references.join(" "));
    }
    let built = mail.body(message.content.clone()).map_err(|error| format!("the mail cannot be written: {error}"))?;
    Ok(ReplyMail { from, to, bytes: built.formatted() })
}

fn subject(message: &OutboundMessage, answered: Option<&Event>) -> String {
    match answered {
        Some(event) => answer_subject(event.metadata.get("subject").and_then(|it| it.as_str()).unwrap_or_default()),
        None => {
            let first = message.content.lines().find(|line| !line.trim().is_empty()).unwrap_or("A message");
            one_line(first).chars().take(MAX_SUBJECT_CHARS).collect()
        }
    }
}

/// The id of the answered mail and of those before it.
fn thread(event: &Event) -> Option<(String, Vec<String>)> {
    let id = event.metadata.get("messageId")?.as_str()?.to_owned();
    let before = event.metadata.get("references").and_then(|it| serde_json::from_value(it.clone()).ok());
    Some((id, before.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_settings::configured_accounts;
    use dispatch_contracts::settings::Settings;
    use ext_event_ledger::contract::{DeliveryContext, PeerKind};
    use serde_json::{Map, Value, json};

    fn account() -> MailAccount {
        let settings = Settings::default()
            .with("channels.mail.me.imap", "imaps://mail.example.org")
            .with("channels.mail.me.user", "me@example.org");
        configured_accounts(&settings)["me"].clone().unwrap()
    }

    fn event(metadata: Value) -> Event {
        Event {
            id: "mail:b@x".to_owned(),
            sequence: 1,
            channel: "mail".to_owned(),
            account_id: "me".to_owned(),
            from: "ann@example.org".to_owned(),
            peer_kind: PeerKind::Dm,
            peer_id: "ann@example.org".to_owned(),
            thread_id: None,
            content: String::new(),
            content_type: "text".to_owned(),
            timestamp: 0,
            received_at: 0,
            metadata: metadata.as_object().cloned().unwrap_or_else(Map::new),
            origin: None,
        }
    }

    fn message(peer: &str, content: &str) -> OutboundMessage {
        let delivery = DeliveryContext {
            channel: "mail".to_owned(),
            account_id: Some("me".to_owned()),
            peer_id: Some(peer.to_owned()),
            ..DeliveryContext::default()
        };
        OutboundMessage {
            id: "t.0".to_owned(),
            delivery,
            content: content.to_owned(),
            content_type: "text".to_owned(),
            event: Some("mail:b@x".to_owned()),
            hops: 1,
            at_ms: 1_000,
        }
    }

    #[test]
    fn an_answer_stands_in_its_thread_and_is_the_same_at_every_attempt() {
        let answered = event(json!({"messageId": "b@x", "references": ["a@x"], "subject": "hi\r\nBcc: all@x"}));
        let mail = || reply_mail(&account(), &message("ann@example.org", "Grüße\nAnn"), Some(&answered)).unwrap();
        let text = String::from_utf8(mail().bytes).unwrap();
        for line in [
            "To: ann@example.org",
            "Subject: Re: hi Bcc: all@x",
            "In-Reply-To: <b@x>",
            "References: <a@x> <b@x>",
            "Auto-Submitted: auto-replied",
            "Dispatch-Hops: 1",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is missing in {text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
        assert_eq!(mail().bytes, mail().bytes);
        assert!(text.contains(&format!("Message-ID: <{}>", reply_id(&account(), "t.0"))), "{text}");
    }

    #[test]
    fn nobody_but_a_person_is_answered_and_nobody_else_is_written_to() {
        let automatic = event(json!({"messageId": "b@x", "automatic": "list"}));
        let refused = reply_mail(&account(), &message("ann@example.org", "x"), Some(&automatic)).unwrap_err();
        assert!(refused.contains("automatic mail (list)"), "{refused}");
        let forwarded = reply_mail(&account(), &message("me@example.org", "x"), Some(&automatic)).unwrap();
        let text = String::from_utf8(forwarded.bytes).unwrap();
        assert!(!text.contains("In-Reply-To") && text.contains("To: me@example.org"), "{text}");
        for peer in ["", "a@x\r\nBcc: b@x", "a@x, b@x", "unknown"] {
            assert!(reply_mail(&account(), &message(peer, "x"), None).is_err(), "{peer:?}");
        }
    }
}
