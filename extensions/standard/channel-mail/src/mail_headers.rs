//! The header of a mail as names and texts, whatever its sender wrote there.
//!
//! Pure.

use mail_parser::Message;

/// The most fields that are looked at.
const MAX_FIELDS: usize = 1_000;
/// The longest field that is kept.
const MAX_FIELD_BYTES: usize = 16 * 1024;

/// The fields in their order, unfolded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MailHeaders {
    fields: Vec<(String, String)>,
}

impl MailHeaders {
    /// The fields of a message.
    pub(crate) fn of(message: &Message<'_>) -> Self {
        Self::from_fields(message.headers_raw().take(MAX_FIELDS))
    }

    /// Fields from names and raw texts.
    pub(crate) fn from_fields<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let field = |(name, value): (&str, &str)| (name.to_ascii_lowercase(), unfolded(value));
        Self { fields: fields.into_iter().map(field).collect() }
    }

    /// The first field with a name in lower case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether there is a field with the name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// One line without control characters: folding is white space.
fn unfolded(value: &str) -> String {
    let mut end = value.len().min(MAX_FIELD_BYTES);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    let text: String = value[..end].chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_are_one_line() {
        let headers = MailHeaders::from_fields([
            ("Subject", " one\r\n two\r\n"),
            ("X-Loop", "\tfirst\u{7}\r\n"),
            ("x-loop", "second"),
        ]);
        assert_eq!((headers.get("subject"), headers.get("x-loop")), (Some("one two"), Some("first")));
        assert!(!headers.has("to"));
        let long = "é".repeat(MAX_FIELD_BYTES);
        let headers = MailHeaders::from_fields([("a", long.as_str())]);
        assert_eq!(headers.get("a").map(str::len), Some(MAX_FIELD_BYTES));
    }
}
