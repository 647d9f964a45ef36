//! Large and hostile texts are handled in one go.

use dispatch_redact::{Redactor, StreamRedactor};

use crate::samples;

const LARGE_BYTES: usize = 5 * 1024 * 1024;

#[test]
fn five_megabytes_with_a_secret_at_both_ends() {
    let token = format!("ghp_{}", samples::SeededRandom::new(17).alnum(36));
    let filling = "let answer = question.parse::<u64>()?; // ordinary\n".repeat(LARGE_BYTES / 50);
    let text = format!("{token}\n{filling}{token}");
    let expected = format!("[REDACTED]\n{filling}[REDACTED]");
    assert!(Redactor::builtin().redact(&text) == expected);
}

#[test]
fn texts_of_nothing_but_openings_end() {
    for opening in [
        "sk-",
        "eyJ",
        "eyJa.",
        "://",
        "a://b:",
        "password=",
        "token:\"",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "cookie: sid=",
        "authorization: ",
        "Bearer ",
        "[REDACTED",
        "--token ",
        "key=\\\"",
        "SG.",
        "MTA",
        ":AA",
        "-us",
        "sig=",
        "<token>",
        "pass: ",
    ] {
        let text = opening.repeat(256 * 1024 / opening.len());
        let redactor = Redactor::builtin();
        let redacted = redactor.redact(&text);
        assert!(redactor.redact(&redacted) == redacted, "{opening} is not idempotent");
    }
}

#[test]
fn one_endless_secret_is_one_marker() {
    let secret = samples::SeededRandom::new(18).alnum(LARGE_BYTES);
    let text = format!("ghp_{secret} end");
    assert_eq!(Redactor::builtin().redact(&text), "[REDACTED] end");
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::new(&redactor);
    let mut output = stream.push(text.as_bytes());
    output.extend(stream.finish());
    assert_eq!(String::from_utf8_lossy(&output), "[REDACTED] end");
}
