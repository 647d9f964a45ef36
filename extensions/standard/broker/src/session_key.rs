//! The label of the session that a message goes to: two peers never share one.
//!
//! Pure.

use dispatch_os::digest::{hex, sha256};
use ext_event_ledger::contract::{Event, PeerKind};

/// The persona of a session that names none.
pub(crate) const DEFAULT_PERSONA: &str = "default";
/// The session of the owner's direct messages.
const MAIN: &str = "main";
/// The longest label that a session has.
const MAX_LABEL_BYTES: usize = 128;
/// Begins an escape: two digits of a byte follow, or `h` and the digits of a digest.
const ESCAPE: &str = ".-";
/// Begins the label of a session of another persona than the default one.
const PERSONA_MARK: char = '@';
/// How many digits of a digest stand for what is too long.
const DIGEST_DIGITS: usize = 40;

/// The session of an event that a hook names none for: the owner's direct messages share one, everybody else's have
/// one for each sender, and each group has one.
pub(crate) fn derived_session(event: &Event, is_owner: bool) -> String {
    let channel = part(&event.channel);
    match event.peer_kind {
        PeerKind::Dm if is_owner => MAIN.to_owned(),
        // The sender, not the peer: two senders with one peer are two histories.
        PeerKind::Dm => format!("{channel}:dm:{}", escaped(&event.from, false)),
        PeerKind::Group => format!("{channel}:group:{}", escaped(&event.peer_id, false)),
    }
}

/// The session that a hook names, in letters that a label may have.
pub(crate) fn named_session(session: &str) -> String {
    escaped(session, false)
}

/// The label of a session of a persona. Personas other than the default one have sessions of their own.
pub(crate) fn label(persona: &str, session: &str) -> String {
    let label = if persona == DEFAULT_PERSONA {
        match session.strip_prefix(PERSONA_MARK) {
            Some(rest) => format!("{}{rest}", escape_of(b'@')),
            None => session.to_owned(),
        }
    } else {
        format!("{PERSONA_MARK}{}/{session}", escaped(persona, true).replace('/', &escape_of(b'/')))
    };
    shortened(first_escaped(label))
}

/// A name between two colons: it has none itself.
fn part(text: &str) -> String {
    escaped(text, true)
}

/// The text in letters that a label may have. Two texts never become one.
fn escaped(text: &str, is_part: bool) -> String {
    let mut label = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let begins_escape = byte == b'.' && bytes.get(at + 1) == Some(&b'-');
        let is_plain = byte.is_ascii_alphanumeric() || b"._@/-".contains(&byte) || (byte == b':' && !is_part);
        if is_plain && !begins_escape {
            label.push(char::from(byte));
        } else {
            label.push_str(&escape_of(byte));
        }
    }
    label
}

fn escape_of(byte: u8) -> String {
    format!("{ESCAPE}{byte:02x}")
}

/// A label does not start with a dot: one that would, behind any number of dashes, gets one more dash.
fn first_escaped(label: String) -> String {
    if label.trim_start_matches('-').starts_with('.') { format!("-{label}") } else { label }
}

fn shortened(label: String) -> String {
    if label.len() <= MAX_LABEL_BYTES {
        return label;
    }
    let digest: String = hex(sha256(label.as_bytes())).chars().take(DIGEST_DIGITS).collect();
    let kept = MAX_LABEL_BYTES - ESCAPE.len() - 1 - DIGEST_DIGITS;
    let start: String = label.chars().take(kept).collect();
    // A dot at the cut would be read together with what follows.
    format!("{}{ESCAPE}h{digest}", start.trim_end_matches(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Map;

    fn event(channel: &str, from: &str, peer_kind: PeerKind, peer: &str) -> Event {
        Event {
            id: "c:1".to_owned(),
            sequence: 1,
            channel: channel.to_owned(),
            account_id: "default".to_owned(),
            from: from.to_owned(),
            peer_kind,
            peer_id: peer.to_owned(),
            thread_id: None,
            content: String::new(),
            content_type: "text".to_owned(),
            timestamp: 0,
            received_at: 0,
            metadata: Map::new(),
            origin: None,
        }
    }

    fn is_label(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@/-".contains(&byte);
        !text.is_empty() && text.len() <= MAX_LABEL_BYTES && !text.starts_with('.') && text.bytes().all(is_plain)
    }

    #[test]
    fn direct_messages_of_the_owner_share_a_session_and_nobody_elses_do() {
        let cases = [
            (event("mail", "me@example.org", PeerKind::Dm, "me@example.org"), true, "main"),
            (event("mail", "ann@example.org", PeerKind::Dm, "ann@example.org"), false, "mail:dm:ann@example.org"),
            (event("imessage", "+1555", PeerKind::Dm, "+1555"), false, "imessage:dm:.-2b1555"),
            (event("matrix", "@a:s", PeerKind::Group, "!room:server"), true, "matrix:group:.-21room:server"),
            (event("sms", "ann", PeerKind::Dm, "our-number"), false, "sms:dm:ann"),
        ];
        for (event, is_owner, expected) in cases {
            assert_eq!(label(DEFAULT_PERSONA, &derived_session(&event, is_owner)), expected);
        }
    }

    #[test]
    fn a_persona_has_sessions_of_its_own() {
        assert_eq!(label("atlas", "main"), "@atlas/main");
        assert_eq!(label(DEFAULT_PERSONA, "main"), "main");
        assert_ne!(label(DEFAULT_PERSONA, "@atlas/main"), label("atlas", "main"));
        assert_ne!(label("a/b", "c"), label("a", "b/c"));
        assert_eq!(named_session("family:mom"), "family:mom", "a usual name stays as it is");
    }

    proptest! {
        #[test]
        fn every_name_becomes_a_label(persona in "\\PC{1,20}", session in "\\PC{1,200}") {
            let label = label(&persona, &named_session(&session));
            prop_assert!(is_label(&label), "{}", label);
        }

        #[test]
        fn two_peers_never_share_a_label(
            one in "[.@:/+!a-]{1,6}", two in "[.@:/+!a-]{1,6}",
            channel in "[.:a-]{1,3}", other in "[.:a-]{1,3}",
            first_kind: bool, second_kind: bool,
        ) {
            let kind = |is_group: bool| if is_group { PeerKind::Group } else { PeerKind::Dm };
            let of = |channel: &str, peer: &str, is_group| {
                label(DEFAULT_PERSONA, &derived_session(&event(channel, peer, kind(is_group), peer), false))
            };
            let same = channel == other && one == two && first_kind == second_kind;
            prop_assert_eq!(of(&channel, &one, first_kind) == of(&other, &two, second_kind), same);
        }

        #[test]
        fn two_personas_or_sessions_never_share_a_label(
            one in ("[.@/a-]{1,4}", "[.@/a:-]{1,5}"), two in ("[.@/a-]{1,4}", "[.@/a:-]{1,5}"), defaults: (bool, bool),
        ) {
            let persona = |name: &str, is_default| if is_default { DEFAULT_PERSONA.to_owned() } else { name.to_owned() };
            let (first, second) = (persona(&one.0, defaults.0), persona(&two.0, defaults.1));
            let same = first == second && one.1 == two.1;
            let of = |persona: &str, session: &str| label(persona, &named_session(session));
            prop_assert_eq!(of(&first, &one.1) == of(&second, &two.1), same);
        }

        #[test]
        fn long_peers_that_differ_at_the_end_have_two_labels(prefix in "[a.+-]{150}") {
            let of = |peer: String| label(DEFAULT_PERSONA, &derived_session(&event("c", &peer, PeerKind::Dm, ""), false));
            prop_assert_ne!(of(format!("{prefix}1")), of(format!("{prefix}2")));
        }
    }
}
