//! Output in pieces: what must not be shown is not, wherever the cuts are.

use dispatch_redact::limits::{STREAM_HOLD_BYTES, STREAM_TAIL_BYTES};
use dispatch_redact::{Redactor, StreamRedactor};

use crate::samples::{self, SeededRandom, key_block};

/// The output for `text` in pieces of `size` bytes.
pub(crate) fn in_pieces(text: &[u8], size: usize) -> String {
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::new(&redactor);
    let mut output = Vec::new();
    for piece in text.chunks(size.max(1)) {
        output.extend(stream.push(piece));
    }
    output.extend(stream.finish());
    String::from_utf8_lossy(&output).into_owned()
}

#[test]
fn every_cut_gives_what_the_whole_gives() {
    for sample in samples::all(19) {
        let text = format!("first line\nsee {} here\nlast line", sample.text);
        let whole = Redactor::builtin().redact(&text).into_owned();
        for size in [1, 2, 3, 7, 16, 61, 1000] {
            assert_eq!(in_pieces(text.as_bytes(), size), whole, "{} by {size}", sample.kind);
        }
    }
}

#[test]
fn complete_lines_are_given_out_at_once() {
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::new(&redactor);
    assert_eq!(stream.push(b"one\ntwo\nthr"), b"one\ntwo\n");
    assert_eq!(stream.push(b"ee"), b"");
    assert_eq!(stream.push(b"\n"), b"three\n");
    assert_eq!(stream.finish(), b"");
}

#[test]
fn a_key_block_is_swallowed_while_it_arrives() {
    let block = key_block("RSA PRIVATE KEY", &mut SeededRandom::new(20), "\n");
    let text = format!("before\n{block}\nafter\n");
    for size in [1, 10, 64, 100, 5000] {
        assert_eq!(in_pieces(text.as_bytes(), size), "before\n[REDACTED]\nafter\n", "by {size}");
    }
    let cut = text.split("-----END").next().unwrap_or_default();
    assert_eq!(in_pieces(cut.as_bytes(), 33), "before\n[REDACTED]");
}

#[test]
fn a_huge_key_block_on_one_line_is_swallowed() {
    let body = SeededRandom::new(21).base64(3 * STREAM_HOLD_BYTES);
    let text = format!("k: -----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY----- after");
    for size in [100, 4096, 1_000_000] {
        assert_eq!(in_pieces(text.as_bytes(), size), "k: [REDACTED] after", "by {size}");
    }
}

#[test]
fn a_mention_of_a_key_block_is_given_out() {
    let text = "x -----BEGIN PRIVATE KEY----- y\n".to_owned() + &"ordinary words on a line\n".repeat(100);
    for size in [1, 50, 5000] {
        assert_eq!(in_pieces(text.as_bytes(), size), text, "by {size}");
    }
}

#[test]
fn a_line_longer_than_the_hold_hides_a_secret_wherever_it_stands() {
    let sample = format!("\"password\":\"{}\",", SeededRandom::new(22).alnum(40));
    let secret = &sample[12..52];
    let filler = "\"name\":\"value\",";
    for offset in (0..STREAM_TAIL_BYTES * 2).step_by(997) {
        let before = filler.repeat((STREAM_HOLD_BYTES - STREAM_TAIL_BYTES + offset) / filler.len());
        let text = format!("{before}{sample}{}", filler.repeat(STREAM_HOLD_BYTES / filler.len()));
        let output = in_pieces(text.as_bytes(), 1500);
        assert!(output == text.replace(secret, "[REDACTED]"), "at {offset}");
    }
}

/// The output for `text` in pieces of `size` bytes, released by words.
fn by_words(text: &[u8], size: usize) -> String {
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::by_words(&redactor);
    let mut output = Vec::new();
    for piece in text.chunks(size.max(1)) {
        output.extend(stream.push(piece));
    }
    output.extend(stream.finish());
    String::from_utf8_lossy(&output).into_owned()
}

#[test]
fn words_hide_what_lines_hide_wherever_the_cuts_are() {
    for sample in samples::all(23) {
        let text = format!("first line\nyou should see {} here\nlast line", sample.text);
        let whole = Redactor::builtin().redact(&text).into_owned();
        for size in [1, 2, 3, 7, 16, 61, 1000] {
            assert_eq!(by_words(text.as_bytes(), size), whole, "{} by {size}", sample.kind);
        }
    }
}

#[test]
fn ordinary_words_come_out_as_they_are_written() {
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::by_words(&redactor);
    let text = "The token bucket keeps a key per client, and a secret is never shown to the author of a monkey patch. ";
    let mut shown = 0;
    for (at, piece) in text.split_inclusive(' ').scan(0, |at, piece| {
        *at += piece.len();
        Some((*at, piece))
    }) {
        shown += stream.push(piece.as_bytes()).len();
        assert!(at - shown <= 16, "{} of {at} bytes are shown at {piece:?}", shown);
    }
    assert_eq!(shown, text.len());
}

#[test]
fn scripts_without_blanks_come_out_too_and_hide_secrets() {
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::by_words(&redactor);
    assert_eq!(stream.push("\u{4f60}\u{597d}".as_bytes()), "\u{4f60}\u{597d}".as_bytes());
    let secret = format!("ghp_{}", SeededRandom::new(24).alnum(36));
    let text = format!("\u{5bc6}\u{94a5}{secret}\u{597d}");
    for size in [1, 2, 5, 50] {
        assert_eq!(by_words(text.as_bytes(), size), "\u{5bc6}\u{94a5}[REDACTED]\u{597d}", "by {size}");
    }
}

#[test]
fn a_pattern_of_the_user_may_cross_words_and_is_found() {
    let pattern = dispatch_redact::UserPattern::new("badge", "badge [0-9]{4}");
    let options = dispatch_redact::Options { patterns: vec![pattern], ..dispatch_redact::Options::default() };
    let redactor = Redactor::new(options).unwrap();
    let mut stream = StreamRedactor::by_words(&redactor);
    let mut shown = stream.push(b"his badge ");
    shown.extend(stream.push(b"1234 is blue\n"));
    assert_eq!(String::from_utf8(shown).unwrap(), "his [REDACTED] is blue\n");
}

#[test]
fn a_word_that_waits_goes_out_in_a_pause_unless_it_may_begin_a_secret() {
    let redactor = Redactor::builtin();
    for (held, goes) in [
        ("you", true),
        ("(on", true),
        ("https", true),
        ("gh", false),
        ("\"ghp", false),
        ("ghp_a", false),
        ("my_password", false),
        ("abc123", false),
        ("password: ", false),
        ("-----BEGIN", false),
    ] {
        let mut stream = StreamRedactor::by_words(&redactor);
        let before = stream.push(held.as_bytes());
        assert!(before.is_empty(), "{held}");
        assert_eq!(stream.pause() == held.as_bytes(), goes, "{held}");
    }
    let mut stream = StreamRedactor::by_words(&redactor);
    let mut shown = stream.push(b"see https");
    shown.extend(stream.pause());
    shown.extend(stream.push(b"://app:hunter2hunter@db.internal/x \n"));
    assert_eq!(String::from_utf8(shown).unwrap(), "see https://app:[REDACTED]@db.internal/x \n");
}
