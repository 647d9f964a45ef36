//! What holds for every secret in every text.

use dispatch_redact::{Redactor, StreamRedactor};
use proptest::prelude::*;

use crate::samples;

/// What a text around a secret is made of; each piece ends with something no token goes on with.
fn surroundings() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("let x = call(y);\n".to_owned()),
        Just("{\"a\": [1, 2], \"b\": \"c\"}\n".to_owned()),
        Just("# heading, with words. ".to_owned()),
        Just("https://example.org:8080/path?x=1 ".to_owned()),
        Just("password: ".to_owned()),
        Just("\u{1b}[31mred\u{1b}[0m ".to_owned()),
        Just("\"quoted \\\"text\\\"\" ".to_owned()),
        Just("é漢字 ".to_owned()),
        "[ -~\n]{0,40} ",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// How a secret is joined to the text before and after it.
fn joints() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        (" ", " "),
        ("\n", "\n"),
        ("\"", "\""),
        ("'", "'"),
        ("(", ")"),
        ("\\n", "\\n"),
        ("=", " "),
        ("", ""),
    ])
}

/// A smaller seed is not a simpler secret, so nothing is gained by shrinking it.
fn any_sample() -> impl Strategy<Value = samples::Sample> {
    (any::<u64>(), any::<prop::sample::Index>())
        .prop_map(|(seed, index)| {
            let mut all = samples::all(seed);
            all.swap_remove(index.index(all.len()))
        })
        .no_shrink()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_survives(sample in any_sample(), before in surroundings(), joint in joints(), after in surroundings()) {
        let text = format!("{before}{}{}{}\n{after}", joint.0, sample.text, joint.1);
        let redactor = Redactor::builtin();
        let redacted = redactor.redact(&text).into_owned();
        prop_assert!(!redacted.contains(&sample.secret), "{}: {text:?} became {redacted:?}", sample.kind);
        prop_assert_eq!(redactor.redact(&redacted), redacted.as_str());
    }

    #[test]
    fn no_secret_survives_any_cuts(
        sample in any_sample(),
        before in surroundings(),
        after in surroundings(),
        cuts in prop::collection::vec(1usize..60, 1..20),
    ) {
        let text = format!("{before} {}\n{after}", sample.text);
        let redactor = Redactor::builtin();
        for mut stream in [StreamRedactor::new(&redactor), StreamRedactor::by_words(&redactor)] {
            let (mut output, mut rest) = (Vec::new(), text.as_bytes());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, left) = rest.split_at((*cut).min(rest.len()));
                output.extend(stream.push(piece));
                rest = left;
            }
            output.extend(stream.finish());
            let output = String::from_utf8_lossy(&output).into_owned();
            prop_assert!(!output.contains(&sample.secret), "{}: {text:?} became {output:?}", sample.kind);
        }
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let redactor = Redactor::builtin();
        let once = redactor.redact_bytes(&bytes).into_owned();
        prop_assert_eq!(redactor.redact_bytes(&once).into_owned(), once);
    }

    #[test]
    fn any_mixture_of_openings_settles(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "password", "token", "=", ":", "\"", "\\\"", "'", " ", "\n", "://", "a", "@", "[REDACTED]",
                "[REDACTED", "]", "eyJ", ".", "sk-", "-----BEGIN PRIVATE KEY-----", "Bearer ", "Cookie: sid=",
                "a1B2c3D4e5F6g7H8i9J0k1L2", "--", "<", ">", "é", "authorization", "-----END ", "ghp_", "\u{fffd}", "$",
            ]),
            0..40,
        ),
        size in 1usize..50,
    ) {
        let text = parts.concat();
        let redactor = Redactor::builtin();
        let once = redactor.redact(&text).into_owned();
        prop_assert_eq!(redactor.redact(&once), once.as_str());
        let mut from = 0;
        for finding in redactor.find(&text) {
            prop_assert!(finding.range.start >= from && finding.range.end <= text.len());
            prop_assert!(text.is_char_boundary(finding.range.start) && text.is_char_boundary(finding.range.end));
            from = finding.range.end;
        }
        crate::streams::in_pieces(text.as_bytes(), size);
    }
}
