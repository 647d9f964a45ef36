//! Tables for the lexer: what is masked, what is left, where tests are.

use super::*;

fn check_mask(source: &str, kept: &[&str], hidden: &[&str]) {
    let masked = mask(source);
    assert_eq!(masked.len(), source.len(), "length of {source:?}");
    assert_eq!(masked.matches('\n').count(), source.matches('\n').count(), "lines of {source:?}");
    for word in kept {
        assert!(masked.contains(word), "{word:?} is lost from {source:?}: {masked:?}");
    }
    for word in hidden {
        assert!(!masked.contains(word), "{word:?} is still in {source:?}: {masked:?}");
    }
}

#[test]
fn masks_comments_and_literals_and_nothing_else() {
    check_mask("a // secret\nb", &["a", "b"], &["secret"]);
    check_mask("a /* x /* secret */ secret */ b", &["a", "b"], &["secret"]);
    check_mask(r#"f("secret \" secret", b)"#, &["f(", ", b)"], &["secret"]);
    check_mask(r##"f(r#"secret " secret"#, b)"##, &["f(", ", b)"], &["secret"]);
    check_mask(r#"f(b"secret", c"secret", br"secret\", b'"', d)"#, &[", d)"], &["secret"]);
    check_mask("let r#type = 'x'; let c = '\\''; let d = '\"'; e", &["r#type", "; e"], &["'x'"]);
    check_mask("fn f<'a>(x: &'a str) {} 'outer: loop {}", &["'a>", "&'a str", "'outer: loop"], &[]);
    check_mask("let c = 'é'; let s = \"naïve\"; après", &["après"], &["'é'", "naïve"]);
    check_mask("\"never closed", &[], &["never"]);
    check_mask("/* never closed", &[], &["never"]);
    check_mask("", &[], &[]);
    check_mask("'", &["'"], &[]);
    check_mask("\"\\", &[], &[]);
}

#[test]
fn splits_into_words_and_punctuation() {
    let code = "a::b(&C_1)";
    let texts: Vec<_> = tokens(code).iter().map(|token| token.text).collect();
    assert_eq!(texts, ["a", "::", "b", "(", "&", "C_1", ")"]);
}

#[test]
fn finds_the_closing_bracket() {
    let found = tokens("f(a, [b, {c}], d) e");
    assert_eq!(found[closing(&found, 1)].text, ")");
    assert_eq!(found[closing(&found, 1) + 1].text, "e");
    let unbalanced = tokens("f(a");
    assert_eq!(closing(&unbalanced, 1), 2);
}

fn without_tests(source: &str) -> String {
    let code = mask(source);
    let ranges = test_ranges(&code);
    blank(&code, &ranges)
}

#[test]
fn finds_test_code_of_every_shape() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}", &["fn a", "fn c"], &["fn b"]),
        ("#[cfg(test)]\nmod tests;\nfn a() {}", &["fn a"], &["tests"]),
        ("#[cfg(test)]\n#[allow(x)]\nfn t<A, B>(a: A) { u() }\nfn a() {}", &["fn a"], &["fn t", "u()"]),
        ("#[cfg(all(test, unix))]\nuse x::{y, z};\nfn a() {}", &["fn a"], &["y, z"]),
        ("struct S { #[cfg(test)] probe: u8, real: u8 }", &["real"], &["probe"]),
        ("struct S { real: u8, #[cfg(test)] probe: u8 }\nfn a() {}", &["real", "fn a"], &["probe"]),
        ("#[cfg(not(test))]\nfn a() {}", &["fn a"], &[]),
        ("#![cfg(test)]\nfn a() {}", &[], &["fn a"]),
        ("#[test]\nfn t() { x() }\nfn a() {}", &["fn a"], &["x()"]),
        ("let s = \"#[cfg(test)]\";\nfn a() {}", &["fn a"], &[]),
    ];
    for (source, kept, hidden) in table {
        let production = without_tests(source);
        for word in *kept {
            assert!(production.contains(word), "{word:?} is lost from {source:?}: {production:?}");
        }
        for word in *hidden {
            assert!(!production.contains(word), "{word:?} is still in {source:?}: {production:?}");
        }
    }
}

#[test]
fn counts_lines_from_one() {
    assert_eq!(line_of("a\nb", 0), 1);
    assert_eq!(line_of("a\nb", 2), 2);
    assert_eq!(line_of("a", 99), 1);
}

#[test]
fn code_cut_anywhere_keeps_its_length_and_stops_nobody() {
    let sample =
        "//! é\n#[cfg(test)] mod t { /* /* é */ */ }\n#![x(] r#\"é\"# b'\\'' 'é' 'a \"\\\"\" br##\"\"## { ) } #";
    for end in (0..=sample.len()).filter(|end| sample.is_char_boundary(*end)) {
        let masked = mask(&sample[..end]);
        assert_eq!(masked.len(), end);
        let production = blank(&masked, &test_ranges(&masked));
        assert_eq!(production.len(), end);
        for attribute in attributes(&tokens(&production)) {
            assert!(attribute.start < attribute.end);
        }
    }
}
