//! Every built-in pattern finds its own kind and leaves what only looks like it.

use std::collections::BTreeSet;

use dispatch_redact::Redactor;

use crate::samples;

#[test]
fn every_kind_has_a_sample() {
    let sampled: BTreeSet<_> = samples::all(1).iter().map(|sample| sample.kind).collect();
    let built_in: BTreeSet<_> = Redactor::builtin_kinds().collect();
    assert_eq!(sampled, built_in);
}

#[test]
fn every_sample_is_found_as_its_kind() {
    let redactor = Redactor::builtin();
    for sample in samples::all(2) {
        let text = format!("see {} here", sample.text);
        let findings = redactor.find(&text);
        // A bearer token is one credential of an authorization header, whichever word gave it away.
        let kind = if sample.kind == "bearer-token" { "authorization-header" } else { sample.kind };
        assert!(findings.iter().any(|finding| finding.kind == kind), "{sample:?}: {findings:?}");
        let redacted = redactor.redact(&text);
        assert!(!redacted.contains(&sample.secret), "{sample:?}: {redacted}");
        assert!(redacted.starts_with("see ") && redacted.contains("[REDACTED]"), "{redacted}");
    }
}

#[test]
fn what_stands_around_a_secret_stays() {
    let redactor = Redactor::builtin();
    for sample in samples::all(3) {
        let text = format!("see {} here", sample.text);
        let expected = text.replace(&sample.secret, "[REDACTED]");
        assert_eq!(redactor.redact(&text), expected, "{}", sample.kind);
    }
}

#[test]
fn every_near_miss_stays() {
    let redactor = Redactor::builtin();
    for sample in samples::all(4) {
        let text = format!("see {} here", sample.near_miss);
        assert_eq!(redactor.redact(&text), text, "{}", sample.kind);
    }
}

#[test]
fn escapes_and_colours_do_not_hide_a_token() {
    let redactor = Redactor::builtin();
    for before in ["\\n", "\\t", "%3D", "%20", "\x1b[31m", "\\u001b[1;32m", "=", "\"", "(", "é", ":"] {
        for kind in ["aws-access-key-id", "model-provider-key", "huggingface-token"] {
            for sample in samples::all(5).into_iter().filter(|sample| sample.kind == kind) {
                let text = format!("a{before}{}", sample.text);
                assert!(!redactor.redact(&text).contains(&sample.secret), "{before:?} {kind}");
            }
        }
    }
}

#[test]
fn no_short_prefix_is_found_inside_a_word() {
    let redactor = Redactor::builtin();
    for sample in samples::all(6) {
        if ["google-api-key", "model-provider-key", "huggingface-token"].contains(&sample.kind) {
            let text = format!("ri{}", sample.text);
            assert_eq!(redactor.redact(&text), text);
        }
    }
}
