//! Whether nobody waits for an answer to a mail: it came from a list, a robot or a server, or is a reply of our own.
//!
//! Pure.

use crate::mail_headers::MailHeaders;

/// The field in which Dispatch counts how many replies led to a mail.
pub(crate) const HOPS_FIELD: &str = "Dispatch-Hops";
/// The same, as headers are asked for it.
const HOPS_NAME: &str = "dispatch-hops";

/// Senders that no person reads.
const ROBOTS: [&str; 11] = [
    "mailer-daemon",
    "postmaster",
    "noreply",
    "no-reply",
    "no_reply",
    "donotreply",
    "do-not-reply",
    "bounce",
    "bounces",
    "listserv",
    "majordomo",
];

/// Why a mail gets no answer, as one word; `None` if a person may wait for one.
pub(crate) fn automatic_reason(headers: &MailHeaders, from: Option<&str>) -> Option<&'static str> {
    let says = |name: &str, words: &[&str]| {
        headers.get(name).is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            words.iter().any(|word| value.split([',', ';', ' ']).any(|part| part == *word))
        })
    };
    let is_list = ["list-id", "list-post", "list-unsubscribe", "mailing-list", "x-mailing-list"];
    let is_auto = ["x-autoreply", "x-autorespond", "x-auto-reply", "x-autoresponder"];
    let from = from.map(str::to_ascii_lowercase);
    let local = from.as_deref().map(|from| from.split('@').next().unwrap_or_default());
    match () {
        () if headers.get("return-path").is_some_and(|path| path.trim() == "<>") => Some("bounce"),
        () if headers.get("content-type").is_some_and(|kind| starts_with(kind, "multipart/report")) => Some("report"),
        () if is_list.iter().any(|name| headers.has(name)) => Some("list"),
        () if says("precedence", &["bulk", "list", "junk", "auto_reply"]) => Some("bulk"),
        () if local.is_none_or(str::is_empty) => Some("no-sender"),
        () if local.is_some_and(|local| ROBOTS.contains(&local)) => Some("robot"),
        // Our own replies say so too; they are counted instead, so that two agents can talk, but not without end.
        () if hops(headers).is_some() => None,
        () if headers.get("auto-submitted").is_some_and(|value| !starts_with(value, "no")) => Some("auto-submitted"),
        () if is_auto.iter().any(|name| headers.has(name)) => Some("auto-reply"),
        () if says("x-auto-response-suppress", &["all", "oof", "autoreply"]) => Some("auto-response-suppress"),
        () => None,
    }
}

/// How many replies of ours led to the mail, as its header says.
pub(crate) fn hops(headers: &MailHeaders) -> Option<u32> {
    headers.get(HOPS_NAME)?.trim().parse().ok()
}

fn starts_with(text: &str, start: &str) -> bool {
    text.trim_start().get(..start.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_bounces_and_robots_are_known_by_their_headers() {
        let person = Some("ann@example.org");
        for (name, value, from, reason) in [
            ("Subject", "hello", person, None),
            ("Auto-Submitted", "no", person, None),
            ("Auto-Submitted", "auto-replied (vacation)", person, Some("auto-submitted")),
            ("Auto-Submitted", "auto-generated", person, Some("auto-submitted")),
            ("List-Id", "<dev.lists.example.org>", person, Some("list")),
            ("List-Unsubscribe", "<mailto:x@y>", person, Some("list")),
            ("Precedence", "bulk", person, Some("bulk")),
            ("Precedence", "List", person, Some("bulk")),
            ("Precedence", "first-class", person, None),
            ("Return-Path", "<>", person, Some("bounce")),
            ("Return-Path", "<ann@example.org>", person, None),
            ("Content-Type", "Multipart/Report; report-type=delivery-status", person, Some("report")),
            ("Content-Type", "multipart/mixed", person, None),
            ("X-Auto-Response-Suppress", "DR, OOF, AutoReply", person, Some("auto-response-suppress")),
            ("X-Auto-Response-Suppress", "DR", person, None),
            ("X-Autoreply", "yes", person, Some("auto-reply")),
            ("Subject", "x", Some("MAILER-DAEMON@mx.example.org"), Some("robot")),
            ("Subject", "x", Some("no-reply@shop.example.org"), Some("robot")),
            ("Subject", "x", Some("noreplying@shop.example.org"), None),
            ("Subject", "x", None, Some("no-sender")),
            ("Subject", "x", Some(""), Some("no-sender")),
        ] {
            let headers = MailHeaders::from_fields([(name, value)]);
            assert_eq!(automatic_reason(&headers, from), reason, "{name}: {value} from {from:?}");
        }
    }

    #[test]
    fn a_reply_of_ours_is_counted_and_not_ignored_unless_a_list_brought_it() {
        let own = [("Auto-Submitted", "auto-replied"), ("X-Auto-Response-Suppress", "All"), (HOPS_FIELD, "2")];
        let headers = MailHeaders::from_fields(own);
        assert_eq!((automatic_reason(&headers, Some("a@b")), hops(&headers)), (None, Some(2)));
        let listed = MailHeaders::from_fields(own.into_iter().chain([("List-Id", "<l>")]));
        assert_eq!(automatic_reason(&listed, Some("a@b")), Some("list"));
        let odd = MailHeaders::from_fields([("Auto-Submitted", "auto-replied"), (HOPS_FIELD, "-1")]);
        assert_eq!((automatic_reason(&odd, Some("a@b")), hops(&odd)), (Some("auto-submitted"), None));
    }
}
