//! What stands in place of a secret, and what is said about it.

use std::borrow::Cow;

use dispatch_redact::{Allowed, FingerprintKey, Marker, Options, Redactor, StreamRedactor};

use crate::samples;

fn fingerprinting(key: &[u8]) -> Redactor {
    Redactor::new(Options { marker: Marker::Fingerprint(FingerprintKey::new(key)), ..Options::default() })
        .expect("the options are valid")
}

#[test]
fn equal_secrets_get_equal_fingerprints_under_one_key() {
    let token = format!("ghp_{}", samples::SeededRandom::new(13).alnum(36));
    let redactor = fingerprinting(b"a key");
    let text = format!("{token} and token={token}; Bearer {token}");
    let redacted = redactor.redact(&text).into_owned();
    let first = redacted.split(' ').next().unwrap_or_default().to_owned();
    assert_eq!(first.len(), "[REDACTED:01234567]".len());
    assert_eq!(redacted, format!("{first} and token={first}; Bearer {first}"));
    assert_eq!(redactor.redact(&redacted), redacted);
    assert_ne!(fingerprinting(b"another key").redact(&token), first);
    assert_eq!(Redactor::builtin().redact(&redacted), redacted);
}

#[test]
fn text_without_secrets_is_borrowed() {
    let redactor = Redactor::builtin();
    assert!(matches!(redactor.redact("nothing to hide"), Cow::Borrowed(_)));
    assert!(matches!(redactor.redact(""), Cow::Borrowed("")));
    assert!(matches!(redactor.redact_bytes(b"\xff\xfe"), Cow::Borrowed(_)));
}

#[test]
fn bytes_that_are_no_text_are_redacted() {
    let token = format!("ghp_{}", samples::SeededRandom::new(14).alnum(36));
    let bytes = [b"\xff\xfe ".as_slice(), token.as_bytes(), b" \x80\x80"].concat();
    assert_eq!(*Redactor::builtin().redact_bytes(&bytes), *b"\xff\xfe [REDACTED] \x80\x80");
}

#[test]
fn overlapping_findings_are_one_and_the_format_names_it() {
    let token = format!("ghp_{}", samples::SeededRandom::new(15).alnum(36));
    let text = format!("GITHUB_TOKEN={token}");
    let redactor = Redactor::builtin();
    let findings = redactor.find(&text);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, "github-token");
    assert_eq!(&text[findings[0].range.clone()], token);
}

#[test]
fn nothing_prints_a_secret() {
    let token = format!("ghp_{}", samples::SeededRandom::new(16).alnum(36));
    let options = Options {
        allowed: vec![Allowed::Exact(token.clone())],
        marker: Marker::Fingerprint(FingerprintKey::new(token.as_bytes())),
        ..Options::default()
    };
    let redactor = Redactor::builtin();
    let mut stream = StreamRedactor::new(&redactor);
    stream.push(token.as_bytes());
    let shown = format!("{options:?} {:?} {stream:?} {:?}", Redactor::new(options.clone()), redactor.find(&token));
    assert!(!shown.contains(&token[4..]), "{shown}");
}
