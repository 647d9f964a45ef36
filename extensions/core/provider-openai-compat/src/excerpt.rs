//! Shortens what a server said, with secrets and control characters removed.
//!
//! Pure.

use dispatch_redact::Redactor;

/// How many letters of a foreign text are shown.
pub(crate) const MAX_EXCERPT_LETTERS: usize = 300;

/// How much of a foreign text is looked at.
const MAX_EXAMINED_BYTES: usize = 64 * 1024;

const MARKER: &str = "[REDACTED]";

/// A short, clean form of a foreign text. `secrets` are the very values that were sent.
pub(crate) fn excerpt(text: &str, secrets: &[String]) -> String {
    let mut clean = head(text, MAX_EXAMINED_BYTES).to_owned();
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        clean = clean.replace(secret.as_str(), MARKER);
        clean = without_parts(&clean, secret);
    }
    let redacted = Redactor::builtin().redact(&clean).into_owned();
    let words: Vec<&str> = redacted.split(|letter: char| letter.is_whitespace() || letter.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_EXCERPT_LETTERS) {
        Some((at, _)) => format!("{}...", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// The title of an HTML page, if the text is one.
pub(crate) fn page_title(text: &str) -> Option<String> {
    let start = head(text.trim_start(), MAX_EXAMINED_BYTES);
    let lower = start.to_ascii_lowercase();
    if !(lower.starts_with("<!doctype html") || lower.starts_with("<html") || lower.contains("<head")) {
        return None;
    }
    let title = lower.find("<title>").and_then(|at| {
        let from = at + "<title>".len();
        let length = lower.get(from..)?.find("</title>")?;
        start.get(from..from + length)
    });
    Some(title.unwrap_or_default().trim().to_owned())
}

/// Servers like to repeat a key with its middle starred out, which still tells its ends.
fn without_parts(text: &str, secret: &str) -> String {
    const SHOWN_START_LETTERS: usize = 8;
    let Some(start) = secret.get(..SHOWN_START_LETTERS).filter(|_| secret.len() > 2 * SHOWN_START_LETTERS) else {
        return text.to_owned();
    };
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(start) {
        let (before, found) = rest.split_at(at);
        let end = found.find(|letter: char| letter.is_whitespace() || "\"',;)".contains(letter)).unwrap_or(found.len());
        clean.push_str(before);
        clean.push_str(MARKER);
        rest = found.get(end..).unwrap_or_default();
    }
    clean + rest
}

fn head(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_never_shows_whole_or_starred() {
        let key = "abcdefgh-0123456789-wxyz".to_owned();
        for text in [
            format!("Incorrect API key provided: {key}. Find yours in the settings."),
            "Incorrect API key provided: abcdefgh************wxyz.".to_owned(),
            format!("{{\"key\":\"{key}\"}}"),
        ] {
            let shown = excerpt(&text, std::slice::from_ref(&key));
            assert!(!shown.contains("abcdefgh") && !shown.contains("wxyz"), "{shown}");
            assert!(shown.contains(MARKER), "{shown}");
        }
    }

    #[test]
    fn what_looks_like_a_key_goes_too() {
        let canary = format!("sk-proj-{}", "a1B2c3D4e5F6g7H8i9J0k1L2");
        assert!(!excerpt(&format!("bad key {canary} here"), &[]).contains(&canary));
    }

    #[test]
    fn long_and_wild_texts_become_one_short_line() {
        let shown = excerpt(&format!("a\n\tb\u{1b}[31m {}", "é".repeat(10_000_000)), &[]);
        assert!(shown.starts_with("a b [31m é") && shown.ends_with("..."), "{shown}");
        assert!(shown.chars().count() <= MAX_EXCERPT_LETTERS + 3);
    }

    #[test]
    fn pages_are_told_by_their_title() {
        assert_eq!(page_title("<!DOCTYPE html><html><head><TITLE> 502 Bad </TITLE>"), Some("502 Bad".to_owned()));
        assert_eq!(page_title("  <html><body>x"), Some(String::new()));
        assert_eq!(page_title("{\"a\":1}"), None);
    }
}
