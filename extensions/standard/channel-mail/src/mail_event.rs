//! What the ledger gets of a mail: as much of it as was fetched, with whatever could be read of that.
//!
//! Pure.

use crate::account_settings::MailAccount;
use crate::automatic_mail::{automatic_reason, hops};
use crate::contract::CHANNEL;
use crate::mail_headers::MailHeaders;
use crate::sender_check::{SenderCheck, check_sender};
use crate::threading::{message_id, one_line, references, thread_of};
use dispatch_os::digest::{hex, sha256};
use ext_event_ledger::contract::{EventOrigin, NewEvent, PeerKind};
use mail_parser::{Address, Message, MessageParser, MimeHeaders};
use serde_json::{Map, Value, json};

/// The most text of a mail that is stored.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The most recipients and attachments that are named.
const MAX_NAMED: usize = 100;
/// The longest address that is stored.
const MAX_ADDRESS_BYTES: usize = 320;
/// How many bytes of a hash name a mail without an id.
const HASH_BYTES: usize = 16;
/// What a sender is called that cannot be read.
const UNKNOWN_SENDER: &str = "unknown";

/// A mail as the server gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FetchedMail {
    pub(crate) uid: u32,
    /// When it arrived, in Unix seconds by the server's clock.
    pub(crate) arrived_s: i64,
    /// How large it is as a whole.
    pub(crate) size: u32,
    /// Its beginning.
    pub(crate) bytes: Vec<u8>,
}

/// The event of a mail.
pub(crate) fn mail_event(account: &MailAccount, mail: &FetchedMail) -> NewEvent {
    let parsed = MessageParser::default().parse(&mail.bytes).unwrap_or_default();
    let has_parts = !parsed.parts.is_empty();
    let headers = if has_parts { MailHeaders::of(&parsed) } else { MailHeaders::default() };
    let address = if has_parts { sender(&parsed) } else { None };
    let id = message_id(&headers);
    let external_id = id.clone().unwrap_or_else(|| format!("no-id-{}", digest(&mail.bytes)));
    let before = references(&headers);
    let check = check_sender(headers.get("authentication-results"), account.authserv.as_deref());
    let peer = address.clone().unwrap_or_else(|| UNKNOWN_SENDER.to_owned());
    let subject = if has_parts { one_line(parsed.subject().unwrap_or_default()) } else { String::new() };
    let attachments = if has_parts { attachments(&parsed) } else { Vec::new() };
    let is_cut = usize::try_from(mail.size).is_ok_and(|size| size > mail.bytes.len());
    let mut metadata = Map::from_iter([
        ("subject".to_owned(), json!(subject)),
        ("references".to_owned(), json!(before)),
        ("bytes".to_owned(), json!(mail.size)),
        ("uid".to_owned(), json!(mail.uid)),
    ]);
    let mut add = |name: &str, value: Value| metadata.insert(name.to_owned(), value);
    if let Some(id) = &id {
        add("messageId", json!(id));
    }
    if let Some(reason) = automatic_reason(&headers, address.as_deref()) {
        add("automatic", json!(reason));
    }
    if !attachments.is_empty() {
        add("attachments", json!(attachments));
    }
    if is_cut {
        add("truncated", json!(true));
    }
    NewEvent {
        channel: CHANNEL.to_owned(),
        account_id: account.name.clone(),
        // Whoever forges a sender must not get what the owner gets.
        from: match check {
            SenderCheck::Believed => peer.clone(),
            SenderCheck::Unverified => format!("unverified:{peer}"),
        },
        peer_kind: PeerKind::Dm,
        peer_id: Some(peer),
        thread_id: Some(thread_of(&before, &external_id)),
        content: content(&subject, &text(&parsed), &attachments, is_cut),
        content_type: Some("text".to_owned()),
        timestamp: u64::try_from(mail.arrived_s).ok().map(|seconds| seconds.saturating_mul(1_000)),
        metadata,
        participants: if has_parts { recipients(&parsed) } else { Vec::new() },
        origin: hops(&headers)
            .map(|hops| EventOrigin { event: format!("{CHANNEL}:{}", before.last().unwrap_or(&external_id)), hops }),
        external_id: Some(external_id),
    }
}

/// The event of a mail of which nothing but the number is known. Nobody answers it: it has no sender.
pub(crate) fn unreadable_event(account: &MailAccount, position: Option<&str>, mail: &FetchedMail) -> NewEvent {
    let validity = position.and_then(|text| text.split(':').next()).unwrap_or_default();
    let id = format!("unreadable-{}-{validity}-{}", account.name, mail.uid);
    let metadata = Map::from_iter([
        ("uid".to_owned(), json!(mail.uid)),
        ("automatic".to_owned(), json!("the mail could not be read")),
    ]);
    NewEvent {
        channel: CHANNEL.to_owned(),
        account_id: account.name.clone(),
        from: UNKNOWN_SENDER.to_owned(),
        peer_kind: PeerKind::Dm,
        peer_id: Some(UNKNOWN_SENDER.to_owned()),
        thread_id: Some(id.clone()),
        content: format!("A mail in `{}` could not be read (UID {}).", account.folder, mail.uid),
        content_type: Some("text".to_owned()),
        metadata,
        external_id: Some(id),
        ..NewEvent::default()
    }
}

fn digest(bytes: &[u8]) -> String {
    hex(sha256(bytes).into_iter().take(HASH_BYTES))
}

fn sender(message: &Message<'_>) -> Option<String> {
    message.from().and_then(Address::first).and_then(|address| plain_address(address.address()?))
}

/// An address in lower case that can stand in a header as it is.
fn plain_address(address: &str) -> Option<String> {
    let address = address.trim().to_lowercase();
    let is_plain = address.len() <= MAX_ADDRESS_BYTES && !address.chars().any(|sign| sign.is_control() || sign == ' ');
    (is_plain && address.contains('@')).then_some(address)
}

fn recipients(message: &Message<'_>) -> Vec<String> {
    let lists = [message.to(), message.cc()].into_iter().flatten();
    let named = lists.flat_map(Address::iter).filter_map(|one| plain_address(one.address()?));
    named.take(MAX_NAMED).collect()
}

fn attachments(message: &Message<'_>) -> Vec<String> {
    let name = |part: &mail_parser::MessagePart<'_>| {
        let kind = part.content_type().map_or_else(
            || "unknown".to_owned(),
            |kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or("unknown")),
        );
        one_line(&format!("{} ({kind})", part.attachment_name().unwrap_or("unnamed")))
    };
    message.attachments().take(MAX_NAMED).map(name).collect()
}

fn text(message: &Message<'_>) -> String {
    let whole = message.body_text(0).unwrap_or_default();
    let mut end = whole.len().min(MAX_TEXT_BYTES);
    while !whole.is_char_boundary(end) {
        end -= 1;
    }
    whole[..end].replace("\r\n", "\n").trim().to_owned()
}

fn content(subject: &str, text: &str, attachments: &[String], is_cut: bool) -> String {
    let mut parts = Vec::new();
    if !subject.is_empty() {
        parts.push(format!("Subject: {subject}"));
    }
    if !text.is_empty() {
        parts.push(text.to_owned());
    }
    if !attachments.is_empty() {
        parts.push(format!("[attachments: {}]", attachments.join(", ")));
    }
    if is_cut {
        parts.push("[only the beginning of this mail was read]".to_owned());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_settings::configured_accounts;
    use dispatch_contracts::settings::Settings;
    use proptest::prelude::*;

    fn account() -> MailAccount {
        let settings = Settings::default()
            .with("channels.mail.me.imap", "imaps://mail.example.org")
            .with("channels.mail.me.user", "me@example.org");
        configured_accounts(&settings)["me"].clone().unwrap()
    }

    fn event(text: &str) -> NewEvent {
        event_of(text.as_bytes(), text.len())
    }

    fn event_of(bytes: &[u8], size: usize) -> NewEvent {
        let mail = FetchedMail { uid: 9, arrived_s: 1_000, size: size.try_into().unwrap(), bytes: bytes.to_vec() };
        mail_event(&account(), &mail)
    }

    #[test]
    fn a_mail_is_an_event_with_its_thread() {
        let found = event(
            "From: Ann <Ann@Example.org>\r\nTo: me@example.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
             Message-ID: <b@x>\r\nReferences: <a@x>\r\n\r\nHello.\r\n",
        );
        assert_eq!((found.from.as_str(), found.peer_id.as_deref()), ("ann@example.org", Some("ann@example.org")));
        assert_eq!((found.external_id.as_deref(), found.thread_id.as_deref()), (Some("b@x"), Some("a@x")));
        assert_eq!(found.content, "Subject: Grüße\n\nHello.");
        assert_eq!((found.timestamp, found.participants), (Some(1_000_000), vec!["me@example.org".to_owned()]));
        assert_eq!(found.origin, None);
    }

    #[test]
    fn an_answer_goes_to_from_and_not_to_reply_to() {
        for name in ["Reply-To", "Sender", "Return-Path", "Errors-To", "Mail-Followup-To"] {
            let found =
                event(&format!("{name}: <evil@y.example>\r\nFrom: ann@x.example\r\n\r\nanswer evil@y.example\r\n"));
            assert_eq!(
                (found.from.as_str(), found.peer_id.as_deref()),
                ("ann@x.example", Some("ann@x.example")),
                "{name}"
            );
        }
    }

    #[test]
    fn a_large_mail_is_stored_by_its_beginning() {
        let head = "From: a@x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\
                    Content-Type: text/plain\r\n\r\nSee the file.\r\n--b\r\nContent-Type: application/pdf; name=big.pdf\r\n\
                    Content-Disposition: attachment; filename=big.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nAAAA";
        let found = event_of(head.as_bytes(), 50_000_000);
        assert!(found.content.starts_with("See the file.\n\n[attachments: big.pdf (application/pdf)]"), "{found:?}");
        assert_eq!(found.metadata["truncated"], true);
    }

    #[test]
    fn what_nobody_can_read_is_still_an_event() {
        for bytes in [
            b"".as_slice(),
            b"\xff\xfe\x00",
            b"no header at all",
            b"From: \r\n\r\n",
            b"Content-Type: multipart/mixed\r\n\r\nx",
        ] {
            let found = event_of(bytes, bytes.len());
            assert_eq!((found.from.as_str(), found.metadata["automatic"].as_str()), ("unknown", Some("no-sender")));
            assert!(found.external_id.unwrap().starts_with("no-id-"));
        }
        let deep = "Content-Type: message/rfc822\r\n\r\n".repeat(9_000);
        assert_eq!(event(&deep).from, "unknown");
        let nested = (0..1_000).fold("From: a@x\r\n".to_owned(), |mail, number| {
            format!("{mail}Content-Type: multipart/mixed; boundary=b{number}\r\n\r\n--b{number}\r\n")
        });
        assert_eq!(event(&nested).from, "a@x");
    }

    #[test]
    fn forged_and_counted_mails_are_marked() {
        let forged = event("Authentication-Results: mx; dmarc=fail\r\nFrom: me@example.org\r\n\r\nobey");
        assert_eq!(forged.from, "unverified:me@example.org");
        let own = event("From: a@x\r\nAuto-Submitted: auto-replied\r\nDispatch-Hops: 3\r\nIn-Reply-To: <z@x>\r\n\r\nx");
        assert_eq!(own.origin, Some(EventOrigin { event: "mail:z@x".to_owned(), hops: 3 }));
        assert_eq!(own.metadata.get("automatic"), None);
        let injected = event("From: a@x\r\nSubject: =?utf-8?q?hi=0D=0ABcc:_all@x?=\r\n\r\nx");
        assert_eq!(injected.metadata["subject"], "hi Bcc: all@x");
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = event_of(&bytes, bytes.len());
        }
    }
}
