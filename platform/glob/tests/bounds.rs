//! No pattern and no path takes long, panics or gets around a limit.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

use dispatch_glob::{Glob, GlobError, MAX_PATTERN_BYTES};
use proptest::prelude::*;

fn matches(pattern: &str, path: &str) -> bool {
    Glob::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).is_match(path)
}

#[test]
fn patterns_that_blow_up_elsewhere_end_and_answer() {
    let long = "a".repeat(2000);
    let almost = format!("{long}b");
    assert!(matches(&"a*".repeat(500), &long));
    assert!(!matches(&"a*".repeat(500), &almost.replace('a', "c")));
    assert!(!matches("*(*(*(*(*(a)))))x", &almost));
    assert!(matches("*(*(*(*(*(a)))))b", &almost));
    assert!(!matches("+(a|aa|aaa|a?)+(a|aa)x", &almost));
    assert!(!matches(&"**/a/".repeat(300), &"a/".repeat(200)));
    let deep = vec!["a"; 500].join("/");
    assert!(matches("**/a/**/a/**/a/**/a/**", &deep));
    assert!(!matches("**/a/**/b/**/a/**/b/**", &deep));
}

#[test]
fn work_that_ran_out_is_never_a_match() {
    let text = format!("{}b", "a".repeat(3000));
    let mut pattern = "?".to_owned();
    for _ in 0..40 {
        pattern = format!("!(*{pattern}*a)");
    }
    assert!(!matches(&format!("a{pattern}"), &text));
    assert!(!matches(&format!("!a{pattern}"), &text), "on neither side of a negation");
}

#[test]
fn limits_are_errors() {
    let refused = [
        ("a".repeat(MAX_PATTERN_BYTES + 1), GlobError::TooLong { bytes: MAX_PATTERN_BYTES + 1 }),
        ("{a,b}".repeat(20), GlobError::TooManyAlternatives),
        ("{1..1000000000}".to_owned(), GlobError::TooManyAlternatives),
        ("{-99999999999999999999..99999999999999999999}".to_owned(), GlobError::TooManyAlternatives),
        (format!("{}a,b{}", "{".repeat(100), "}".repeat(100)), GlobError::TooDeep),
        (format!("{}a{}", "@(".repeat(100), ")".repeat(100)), GlobError::TooDeep),
    ];
    for (pattern, expected) in refused {
        let error = Glob::new(&pattern).expect_err(&pattern);
        assert_eq!(error, expected);
        assert!(!error.to_string().is_empty());
    }
    assert!(Glob::new(&"a".repeat(MAX_PATTERN_BYTES)).is_ok());
    assert!(Glob::new(&"@(".repeat(1000)).is_ok(), "groups that are not closed are literal text");
}

#[test]
fn a_pattern_says_where_it_reaches() {
    for outside in ["/etc/*", "../x", "a/../../x", "**/../x", "C:/x", "c:\\x", "{src,../lib}/**", "!/etc/**", "/"] {
        assert!(Glob::new(outside).expect(outside).leaves_its_folder(), "{outside}");
    }
    for inside in ["src/**", "a/../b", "*", "**", "a..b/*", "...", "!src/**", "#/etc", "", "[.][.]x/*", "./a"] {
        assert!(!Glob::new(inside).expect(inside).leaves_its_folder(), "{inside}");
    }
    for nothing in ["", "#", "# src/**"] {
        assert!(Glob::new(nothing).expect("a pattern").matches_nothing());
    }
}

#[test]
fn bases_are_what_everything_matched_is_below() {
    let table: [(&str, &[&str]); 9] = [
        ("src/**", &["src"]),
        ("src/a/*.rs", &["src/a"]),
        ("src/main.rs", &["src/main.rs"]),
        ("{src,lib}/**", &["src", "lib"]),
        ("src/{a,b}*/x", &["src"]),
        ("**/*.rs", &[""]),
        ("!src/**", &[""]),
        ("src/", &["src"]),
        ("#x", &[]),
    ];
    for (pattern, expected) in table {
        assert_eq!(Glob::new(pattern).expect("a pattern").bases(), expected, "{pattern}");
    }
}

fn pattern() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        "b",
        ".",
        "..",
        "/",
        "*",
        "**",
        "?",
        "[ab]",
        "[!a",
        "]",
        "@(",
        "!(",
        "+(",
        "*(",
        "?(",
        "|",
        ")",
        "{",
        "}",
        ",",
        "{1..3}",
        "\\",
        "!",
        "#",
        "é",
        "[[:alpha:]]",
        "\n",
        "$",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_panics(pattern in pattern(), path in "[ab./é{}\\\\*]{0,12}") {
        if let Ok(glob) = Glob::new(&pattern) {
            let _ = (glob.is_match(&path), glob.bases(), glob.leaves_its_folder());
        }
    }

    #[test]
    fn any_text_is_read(pattern in any::<String>(), path in any::<String>()) {
        if let Ok(glob) = Glob::new(&pattern) {
            let _ = glob.is_match(&path);
        }
    }

    #[test]
    fn a_name_matches_itself(name in "[a-z0-9_][a-z0-9_ .-]{0,20}") {
        prop_assert!(matches(&name, &name));
        let below = format!("{name}/x");
        let tree = format!("{name}/**");
        prop_assert!(matches(&tree, &below));
    }

    #[test]
    fn a_negated_pattern_is_the_opposite(pattern in "[ab*?./]{1,8}", path in "[ab./]{1,8}") {
        let negated = format!("!{pattern}");
        prop_assert_ne!(matches(&pattern, &path), matches(&negated, &path));
    }

    #[test]
    fn what_matches_is_below_a_base(pattern in "[ab]{1,2}/[ab*?]{1,3}(/[ab*]{1,2})?", path in "[ab]{1,2}(/[ab]{1,2}){0,2}") {
        let glob = Glob::new(&pattern).expect("a pattern");
        if glob.is_match(&path) {
            let below = |base: &String| base.is_empty() || path == *base || path.starts_with(&format!("{base}/"));
            prop_assert!(glob.bases().iter().any(below));
        }
    }
}
