//! What is read, and what is reported about a text that is not JSON.

use super::*;
use proptest::prelude::*;

fn flaws(text: &str) -> Vec<String> {
    let (_, flaws) = read(text);
    flaws.iter().map(|flaw| format!("{}@{} {}: {}", flaw.rule, flaw.at, flaw.pointer, flaw.message)).collect()
}

#[test]
fn what_is_no_json_is_said_at_its_place() {
    let table: &[(&str, &[&str])] = &[
        ("", &["syntax@0 : the file is empty"]),
        (" \n ", &["syntax@3 : the file is empty"]),
        ("{", &["syntax@0 : unclosed object"]),
        ("[1", &["syntax@0 : unclosed list"]),
        ("[1] x", &["syntax@4 : unexpected `x` after the value"]),
        ("{\"a\":1,}", &["syntax@6 : trailing comma"]),
        ("[1,]", &["syntax@2 : trailing comma"]),
        ("{\"a\":1 \"b\":2}", &["syntax@6 : missing comma"]),
        ("[{}{}]", &["syntax@3 : missing comma"]),
        ("[1 2]", &["syntax@3 : expected `,` or `]`, found `2`"]),
        ("{a:1}", &["syntax@1 : expected a key in double quotes, found `a`"]),
        ("{\"a\" 1}", &["syntax@5 : expected `:` after the key, found `1`"]),
        ("{\"a\":'x'}", &["syntax@5 /a: expected a value, found `'`"]),
        ("[True]", &["syntax@1 /0: expected a value, found `T`"]),
        ("[nul]", &["syntax@1 /0: expected a value, found `n`"]),
        (
            "[01, -, 1e999, .5]",
            &[
                "syntax@1 /0: invalid number",
                "syntax@5 /1: invalid number",
                "syntax@8 /2: invalid number",
                "syntax@15 /3: expected a value, found `.`",
            ],
        ),
        ("[\"a\nb\"]", &["syntax@1 /0: unterminated text"]),
        (
            "[\"a\tb\\q\\u12\\ud800\"]",
            &[
                "syntax@3 /0: control character U+0009 in a text",
                "syntax@5 /0: unknown escape",
                "syntax@7 /0: `\\u` needs four hexadecimal digits",
                "syntax@11 /0: unpaired surrogate",
            ],
        ),
        (
            "{ // no\n /* no */ \"a\": 1 }",
            &["syntax@2 : JSON does not allow comments", "syntax@9 : JSON does not allow comments"],
        ),
        ("[1] /* ", &["syntax@4 : unterminated comment"]),
        ("{\"a/b\":{\"c~\":1,\"c~\":2}}", &["duplicate-key@15 /a~1b/c~0: duplicate key `c~`"]),
        ("[\u{1}]", &["syntax@1 /0: expected a value, found the character U+0001"]),
    ];
    for (text, expected) in table {
        assert_eq!(flaws(text), *expected, "{text:?}");
    }
}

#[test]
fn valid_texts_have_no_flaw_and_keep_their_places() {
    let text = "\u{feff}{\r\n \"a\" : [true, null, -1.5e3, \"\\u00e9\\ud83d\\ude00\\n\"], \"b\": {}}";
    let (root, flaws) = read(text);
    assert_eq!(flaws, []);
    let root = root.unwrap();
    assert_eq!(root.to_value(), serde_json::json!({"a": [true, null, -1500.0, "é😀\n"], "b": {}}));
    let JsonValue::Object(members) = &root.json else { panic!("an object") };
    assert_eq!(text.get(members[1].key_at..members[1].key_at + 3), Some("\"b\""));
    assert_eq!(text.get(members[1].value.at..), Some("{}}"));
}

#[test]
fn depth_and_size_are_limited() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&deep(MAX_DEPTH)).1, []);
    assert_eq!(read(&deep(MAX_DEPTH + 1)).1[0].rule, "too-deep");
    assert_eq!(read(&"[".repeat(1_000_000)).1[0].rule, "too-deep");
    assert_eq!(read(&format!("[{}1]", "1,".repeat(MAX_VALUES))).1[0].rule, "too-large");
    assert_eq!(read(&format!("[{}]", "\"\\q\",".repeat(10_000))).1.len(), MAX_FLAWS);
}

proptest! {
    #[test]
    fn it_agrees_with_serde_json(text in "[\\[\\]{}:,\"\\\\a0-9eE.+\\- \n\u{e9}truefalsn/u]{0,40}") {
        let ours = read(&text);
        let theirs = serde_json::from_str::<Value>(&text);
        let duplicate = ours.1.iter().any(|flaw| flaw.rule == "duplicate-key");
        prop_assert_eq!(ours.1.is_empty() || duplicate, theirs.is_ok() || duplicate, "{:?} {:?}", &ours, &theirs);
        if let (true, Ok(theirs)) = (ours.1.is_empty(), theirs) {
            prop_assert_eq!(ours.0.map(|node| node.to_value()), Some(theirs));
        }
        prop_assert!(ours.1.iter().all(|flaw| flaw.at <= text.len() && text.is_char_boundary(flaw.at)));
    }
}
