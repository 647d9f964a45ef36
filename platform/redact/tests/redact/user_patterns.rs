//! The user's own patterns: what is replaced, what is refused, and that none takes long.

use dispatch_redact::limits::{MAX_ALLOWED, MAX_USER_PATTERN_BYTES, MAX_USER_PATTERNS};
use dispatch_redact::{Allowed, Builtin, Compile, Options, RedactError, Redactor, UserPattern};

fn with(regex: &str) -> Result<Redactor, RedactError> {
    Redactor::new(Options { patterns: vec![UserPattern::new("ticket", regex)], ..Options::default() })
}

fn check(regex: &str, text: &str, expected: &str) {
    let redactor = with(regex).expect("the pattern is valid");
    assert_eq!(redactor.redact(text), expected, "{regex}");
    assert_eq!(redactor.redact(expected), expected, "{regex} is not idempotent");
}

#[test]
fn the_whole_match_or_the_group_is_replaced() {
    check(r"ACME-\d{4}", "id ACME-1234.", "id [REDACTED].");
    check(r"id (ACME-\d{4})", "id ACME-1234.", "id [REDACTED].");
    check(r"(id) (?<secret>ACME-\d{4})", "id ACME-1234.", "id [REDACTED].");
    check(r"(?i)acme-\w+", "ACME-x acme-y", "[REDACTED] [REDACTED]");
    check(r"секрет=(\S+)", "секрет=тайна!", "секрет=[REDACTED]");
    check(r"a|(b)", "ab", "[REDACTED][REDACTED]");
}

#[test]
fn odd_patterns_settle() {
    check(r"", "abc", "abc");
    check(r"x*", "abc", "abc");
    check(r".*", "abc def", "[REDACTED]");
    check(r"\w+", "abc def", "[REDACTED] [REDACTED]");
    check(r"RED", "RED [REDACTED]", "[REDACTED] [REDACTED]");
    check(r"[a-z]\[", "abcdefghijklmnopq[", "[REDACTED]");
    check(r"\xc3", "é", "[REDACTED]");
}

#[test]
fn nested_repetition_ends() {
    let redactor = with("(a+)+$").expect("the pattern is valid");
    let text = "a".repeat(100_000);
    assert_eq!(redactor.redact(&text), "[REDACTED]");
    let text = format!("{text}b");
    assert_eq!(redactor.redact(&text), text);
}

#[test]
fn a_bad_pattern_is_named() {
    let error = with("(unclosed").expect_err("it is not a regular expression").to_string();
    assert!(error.contains("`ticket`"), "{error}");
    let error = with(&"a".repeat(MAX_USER_PATTERN_BYTES + 1)).expect_err("it is too long");
    assert!(matches!(error, RedactError::PatternTooLong { .. }), "{error}");
    let error = with("(?:a{1000}){1000}").expect_err("it is too big");
    assert!(matches!(&error, RedactError::PatternTooBig { name } if name == "ticket"), "{error}");
    assert!(with(r"(?=look)").is_err());
    assert!(with(r"(a)\1").is_err());
}

#[test]
fn there_may_not_be_too_many() {
    let pattern = UserPattern::new("x", "x");
    let options = |patterns: usize, allowed: usize| Options {
        patterns: vec![pattern.clone(); patterns],
        allowed: vec![Allowed::Exact("x".into()); allowed],
        compile: Compile::WhenNeeded,
        ..Options::default()
    };
    assert!(Redactor::new(options(MAX_USER_PATTERNS, MAX_ALLOWED)).is_ok());
    let error = Redactor::new(options(MAX_USER_PATTERNS + 1, 0)).expect_err("too many patterns");
    assert!(matches!(error, RedactError::TooManyPatterns { .. }));
    let error = Redactor::new(options(0, MAX_ALLOWED + 1)).expect_err("too many exceptions");
    assert!(matches!(error, RedactError::TooManyAllowed { .. }));
}

#[test]
fn a_pattern_compiled_late_is_tried_only_with_its_keyword() {
    let redactor = Redactor::new(Options {
        patterns: vec![UserPattern { keywords: vec!["ACME".into()], ..UserPattern::new("ticket", r"\d{4}") }],
        compile: Compile::WhenNeeded,
        ..Options::default()
    })
    .expect("the options are valid");
    assert_eq!(redactor.redact("number 1234"), "number 1234");
    assert_eq!(redactor.redact("ACME number 1234"), "ACME number [REDACTED]");
}

#[test]
fn a_broken_pattern_compiled_late_withholds_the_text() {
    let redactor = Redactor::new(Options {
        patterns: vec![UserPattern::new("ticket", "(unclosed")],
        compile: Compile::WhenNeeded,
        ..Options::default()
    })
    .expect("it is not compiled yet");
    assert_eq!(redactor.redact("anything"), "[REDACTED]");
    assert_eq!(redactor.redact(""), "");
}

#[test]
fn what_is_allowed_stays() {
    let redactor = Redactor::new(Options {
        allowed: vec![Allowed::Exact("hunter2hunter2".into()), Allowed::Regex("demo-[0-9a-f]+".into())],
        ..Options::default()
    })
    .expect("the options are valid");
    let stays = "password=hunter2hunter2 token='demo-0a1b2c3d4e5f6071'";
    assert_eq!(redactor.redact(stays), stays);
    assert_eq!(redactor.redact("password=hunter2hunter3"), "password=[REDACTED]");
    let more = "token='x-demo-0a1b2c3d4e5f6071'";
    assert_eq!(redactor.redact(more), "token='[REDACTED]'", "an entry covers the whole or nothing");
    let mut json = serde_json::json!({ "password": "hunter2hunter2" });
    redactor.redact_json(&mut json);
    assert_eq!(json, serde_json::json!({ "password": "hunter2hunter2" }));
}

#[test]
fn the_built_in_patterns_can_be_off() {
    let redactor = Redactor::new(Options {
        builtin: Builtin::Off,
        patterns: vec![UserPattern::new("ticket", "[A-Z]{4}")],
        ..Options::default()
    })
    .expect("the options are valid");
    let text = "password=hunter2hunter2 ABCD [REDACTED]";
    assert_eq!(redactor.redact(text), "password=hunter2hunter2 [REDACTED] [REDACTED]");
    assert_eq!(redactor.find(text)[0].kind, "ticket");
}
