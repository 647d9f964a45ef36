//! Which mails belong together: message ids, the thread of a mail, and the header of an answer.
//!
//! Pure.

use crate::mail_headers::MailHeaders;

/// The longest message id that counts; the ledger's names are no longer.
const MAX_ID_BYTES: usize = 500;
/// The most references that are kept: the first, and the last ones.
const MAX_REFERENCES: usize = 50;
/// The longest subject of an answer.
const MAX_SUBJECT_CHARS: usize = 200;
/// What marks an answer in the languages of common mail programs.
const ANSWER_MARKS: [&str; 6] = ["re:", "aw:", "sv:", "antw:", "rif:", "tr:"];

/// The ids in a field such as `References`, without their brackets.
pub(crate) fn ids(field: &str) -> Vec<String> {
    let begun = field.split('<').skip(1);
    begun.filter_map(|rest| rest.split_once('>')).filter_map(|(id, _)| plain_id(id)).collect()
}

/// An id that can stand in a header as it is.
fn plain_id(id: &str) -> Option<String> {
    let fits = |sign: char| sign.is_ascii_graphic() && sign != '<' && sign != '>';
    let is_plain = !id.is_empty() && id.len() <= MAX_ID_BYTES && id.chars().all(fits);
    is_plain.then(|| id.to_owned())
}

/// The mail's own id.
pub(crate) fn message_id(headers: &MailHeaders) -> Option<String> {
    let field = headers.get("message-id")?;
    // Some programs forget the brackets.
    ids(field).into_iter().next().or_else(|| plain_id(field))
}

/// The ids of the mails before this one in its thread, oldest first.
pub(crate) fn references(headers: &MailHeaders) -> Vec<String> {
    let mut found = headers.get("references").map(ids).unwrap_or_default();
    if let Some(parent) = headers.get("in-reply-to").map(ids).and_then(|ids| ids.into_iter().next())
        && !found.contains(&parent)
    {
        found.push(parent);
    }
    bounded(found)
}

/// The first and the last of many references.
fn bounded(mut references: Vec<String>) -> Vec<String> {
    if references.len() > MAX_REFERENCES {
        references.drain(1..=references.len() - MAX_REFERENCES);
    }
    references
}

/// The thread of a mail: the mail that began it.
pub(crate) fn thread_of(references: &[String], own: &str) -> String {
    references.first().map_or(own, String::as_str).to_owned()
}

/// The references of an answer to a mail.
pub(crate) fn answer_references(references: &[String], answered: &str) -> Vec<String> {
    let mut all: Vec<String> = references.iter().filter(|id| *id != answered).cloned().collect();
    all.push(answered.to_owned());
    bounded(all)
}

/// The subject of an answer, as one line.
pub(crate) fn answer_subject(subject: &str) -> String {
    let mut line = one_line(subject);
    while let Some(rest) = without_mark(&line) {
        line = rest;
    }
    if line.is_empty() { "Re: your message".to_owned() } else { format!("Re: {line}") }
}

fn without_mark(line: &str) -> Option<String> {
    let mark =
        ANSWER_MARKS.iter().find(|mark| line.get(..mark.len()).is_some_and(|it| it.eq_ignore_ascii_case(mark)))?;
    Some(line.get(mark.len()..)?.trim_start().to_owned())
}

/// A text without line breaks and other control characters, cut to a subject's length.
pub(crate) fn one_line(text: &str) -> String {
    let is_break = |sign: char| sign.is_control() || ['\u{2028}', '\u{2029}'].contains(&sign);
    let plain: String = text.chars().map(|sign| if is_break(sign) { ' ' } else { sign }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_SUBJECT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&str, &str)]) -> MailHeaders {
        MailHeaders::from_fields(fields.iter().copied())
    }

    #[test]
    fn a_thread_is_known_by_the_mail_that_began_it() {
        for (fields, thread, before) in [
            (vec![], "own@x", vec![]),
            (vec![("In-Reply-To", "<b@x>")], "b@x", vec!["b@x"]),
            (vec![("References", "<a@x>\r\n <b@x>"), ("In-Reply-To", "<b@x>")], "a@x", vec!["a@x", "b@x"]),
            (vec![("References", "<a@x>"), ("In-Reply-To", "<c@x> (Ann's mail)")], "a@x", vec!["a@x", "c@x"]),
            (vec![("References", "nonsense <> <a b@x> <é@x>")], "own@x", vec![]),
        ] {
            let found = references(&headers(&fields));
            assert_eq!(found, before, "{fields:?}");
            assert_eq!(thread_of(&found, "own@x"), thread, "{fields:?}");
        }
    }

    #[test]
    fn ids_that_could_break_a_header_are_none() {
        for (value, id) in [
            ("<a@x>", Some("a@x")),
            ("a@x", Some("a@x")),
            ("<a\u{0}@x>", Some("a")),
            ("two words", None),
            ("<>", None),
            ("", None),
        ] {
            let expected = if value.contains('\u{0}') { None } else { id };
            assert_eq!(message_id(&headers(&[("Message-ID", value)])).as_deref(), expected, "{value:?}");
        }
        assert_eq!(message_id(&headers(&[("Message-ID", &format!("<{}@x>", "a".repeat(600)))])), None);
    }

    #[test]
    fn an_answer_refers_to_the_whole_thread_within_a_limit() {
        let many: Vec<String> = (0..80).map(|number| format!("{number}@x")).collect();
        let answer = answer_references(&many, "own@x");
        assert_eq!(answer.len(), MAX_REFERENCES);
        assert_eq!((answer[0].as_str(), answer[1].as_str()), ("0@x", "32@x"));
        assert_eq!(answer.last().map(String::as_str), Some("own@x"));
        assert_eq!(answer_references(&["a@x".to_owned(), "b@x".to_owned()], "a@x"), ["b@x", "a@x"]);
    }

    #[test]
    fn a_subject_is_one_line_with_one_mark() {
        for (subject, answer) in [
            ("hello", "Re: hello"),
            ("Re: hello", "Re: hello"),
            ("RE: Re: AW: hello", "Re: hello"),
            ("Regards", "Re: Regards"),
            ("", "Re: your message"),
            ("hi\r\nBcc: all@example.org", "Re: hi Bcc: all@example.org"),
            ("a\u{2028}b", "Re: a b"),
        ] {
            assert_eq!(answer_subject(subject), answer, "{subject:?}");
        }
        assert_eq!(answer_subject(&"x".repeat(5_000)).chars().count(), MAX_SUBJECT_CHARS + 4);
    }
}
