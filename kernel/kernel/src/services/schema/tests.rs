//! Tables: schema, value, what is wrong.

use super::*;
use serde_json::json;

type SchemaCase = (&'static str, &'static str, &'static [&'static str]);

#[track_caller]
fn run(table: &[SchemaCase]) {
    for (schema, value, expected) in table {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let found: Vec<String> = check(&parse(schema), &parse(value)).iter().map(Violation::to_string).collect();
        assert_eq!(found, *expected, "{schema} on {value}");
    }
}

#[test]
fn types() {
    run(&[
        (r#"{"type":"string"}"#, r#""a""#, &[]),
        (r#"{"type":"string"}"#, "1", &["expected text, found 1"]),
        (r#"{"type":"integer"}"#, r#""x""#, &[r#"expected a whole number, found "x""#]),
        (r#"{"type":"integer"}"#, "1.0", &[]),
        (r#"{"type":"integer"}"#, "-3", &[]),
        (r#"{"type":"integer"}"#, "18446744073709551615", &[]),
        (r#"{"type":"integer"}"#, "1.5", &["expected a whole number, found 1.5"]),
        (r#"{"type":"number"}"#, "1", &[]),
        (r#"{"type":"number"}"#, "true", &["expected a number, found true"]),
        (r#"{"type":"boolean"}"#, "null", &["expected true or false, found nothing (null)"]),
        (r#"{"type":"null"}"#, "null", &[]),
        (r#"{"type":"array"}"#, "{}", &["expected a list, found an object"]),
        (r#"{"type":"object"}"#, "[]", &["expected an object, found a list"]),
        (r#"{"type":["string","null"]}"#, "null", &[]),
        (
            r#"{"type":["string","integer","null"]}"#,
            "[]",
            &["expected text, a whole number or nothing (null), found a list"],
        ),
        (r#"{"type":"strnig"}"#, "1", &[]),
        (r#"{"type":7}"#, "1", &[]),
        ("true", "1", &[]),
        ("false", "1", &["is not allowed here"]),
        ("{}", r#"{"any":["thing"]}"#, &[]),
        ("5", "1", &[]),
    ]);
}

#[test]
fn choices() {
    run(&[
        (r#"{"enum":["debug","info","warn"]}"#, r#""info""#, &[]),
        (
            r#"{"enum":["debug","info","warn"]}"#,
            r#""wran""#,
            &[r#"expected "debug", "info" or "warn", found "wran" (did you mean "warn"?)"#],
        ),
        (r#"{"enum":[1,2]}"#, "2.0", &[]),
        (r#"{"enum":[{"a":1,"b":2}]}"#, r#"{"b":2,"a":1.0}"#, &[]),
        (r#"{"enum":[[1,2]]}"#, "[2,1]", &["expected a list, found a list"]),
        (r#"{"enum":[]}"#, "1", &["expected nothing, found 1"]),
        (r#"{"const":"a"}"#, r#""b""#, &[r#"expected "a", found "b""#]),
        (r#"{"const":null}"#, "null", &[]),
        (r#"{"const":9007199254740993}"#, "9007199254740992", &["expected 9007199254740993, found 9007199254740992"]),
        (r#"{"type":"string","enum":["a"]}"#, "1", &["expected text, found 1"]),
        (
            r#"{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}"#,
            "0",
            &["expected 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 or 2 others, found 0"],
        ),
    ]);
}

#[test]
fn numbers_and_text() {
    run(&[
        (r#"{"minimum":1}"#, "1", &[]),
        (r#"{"minimum":1}"#, "0", &["must be at least 1, found 0"]),
        (r#"{"maximum":10}"#, "10.5", &["must be at most 10, found 10.5"]),
        (r#"{"exclusiveMinimum":0}"#, "0", &["must be above 0, found 0"]),
        (r#"{"exclusiveMaximum":1.5}"#, "1", &[]),
        (r#"{"exclusiveMaximum":1.5}"#, "1.5", &["must be below 1.5, found 1.5"]),
        (
            r#"{"maximum":9007199254740992.0}"#,
            "9007199254740993",
            &["must be at most 9007199254740992.0, found 9007199254740993"],
        ),
        (r#"{"minimum":-0.5}"#, "0", &[]),
        (r#"{"minimum":-0.5}"#, "-1", &["must be at least -0.5, found -1"]),
        (r#"{"maximum":1e300}"#, "18446744073709551615", &[]),
        (r#"{"multipleOf":5}"#, "15", &[]),
        (r#"{"multipleOf":5}"#, "16", &["must be a multiple of 5, found 16"]),
        (r#"{"multipleOf":0.1}"#, "0.3", &[]),
        (r#"{"multipleOf":0.5}"#, "0.7", &["must be a multiple of 0.5, found 0.7"]),
        (r#"{"multipleOf":0}"#, "3", &[]),
        (
            r#"{"minimum":1,"multipleOf":2}"#,
            "-1",
            &["must be at least 1, found -1", "must be a multiple of 2, found -1"],
        ),
        (r#"{"minimum":5}"#, r#""text""#, &[]),
        (r#"{"minLength":2}"#, r#""é""#, &["must have at least 2 characters, found 1"]),
        (r#"{"maxLength":2}"#, r#""éé""#, &[]),
        (r#"{"maxLength":1}"#, r#""ab""#, &["must have at most 1 character, found 2"]),
        (r#"{"maxLength":2.0}"#, r#""abc""#, &["must have at most 2 characters, found 3"]),
        (r#"{"minLength":"2"}"#, r#""""#, &[]),
        (r#"{"pattern":"^a$"}"#, r#""b""#, &[]),
        (r#"{"format":"email","title":"x","default":3,"examples":[1]}"#, r#""b""#, &[]),
    ]);
}

#[test]
fn lists() {
    run(&[
        (r#"{"items":{"type":"integer"}}"#, "[1,2]", &[]),
        (
            r#"{"items":{"type":"integer"}}"#,
            r#"[1,"a",2,true]"#,
            &[r#"[1]: expected a whole number, found "a""#, "[3]: expected a whole number, found true"],
        ),
        (r#"{"minItems":1}"#, "[]", &["must have at least 1 item, found 0"]),
        (r#"{"maxItems":1}"#, "[1,2]", &["must have at most 1 item, found 2"]),
        (
            r#"{"prefixItems":[{"type":"string"},{"type":"integer"}]}"#,
            r#"["a","b",null]"#,
            &[r#"[1]: expected a whole number, found "b""#],
        ),
        (r#"{"prefixItems":[{"type":"string"}],"items":false}"#, r#"["a",1]"#, &["[1]: is not allowed here"]),
        (r#"{"prefixItems":[true,true,true]}"#, "[1]", &[]),
        (r#"{"uniqueItems":true}"#, r#"[1,"1",[1],{"a":1}]"#, &[]),
        (r#"{"uniqueItems":true}"#, "[3,1,2,1.0]", &["must not hold an item twice, but [1] and [3] are equal"]),
        (
            r#"{"uniqueItems":true}"#,
            r#"[{"a":1,"b":2},{"b":2,"a":1}]"#,
            &["must not hold an item twice, but [0] and [1] are equal"],
        ),
        (r#"{"uniqueItems":false}"#, "[1,1]", &[]),
        (r#"{"items":{"items":{"maximum":1}}}"#, "[[0],[1,2]]", &["[1][1]: must be at most 1, found 2"]),
    ]);
}

#[test]
fn objects() {
    let model = r#"{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer"}},"required":["name"],"additionalProperties":false}"#;
    run(&[
        (model, r#"{"name":"a","size":3}"#, &[]),
        (model, "{}", &["name: is required but missing"]),
        (model, r#"{"name":"a","sise":3}"#, &["sise: is not a known key (did you mean `size`?)"]),
        (
            model,
            r#"{"zebra":1,"size":"x"}"#,
            &[
                "name: is required but missing",
                r#"size: expected a whole number, found "x""#,
                "zebra: is not a known key",
            ],
        ),
        (
            r#"{"properties":{"a":{"properties":{"b":{"items":{"type":"null"}}}}}}"#,
            r#"{"a":{"b":[null,null,1]}}"#,
            &["a.b[2]: expected nothing (null), found 1"],
        ),
        (
            r#"{"additionalProperties":{"type":"integer"}}"#,
            r#"{"a.b":"x"}"#,
            &[r#""a.b": expected a whole number, found "x""#],
        ),
        (r#"{"properties":{"a":true},"additionalProperties":{"type":"integer"}}"#, r#"{"a":"x","b":1}"#, &[]),
        (r#"{"properties":{"a":false}}"#, r#"{"a":1}"#, &["a: is not allowed here"]),
        (r#"{"additionalProperties":false}"#, r#"{"a":1}"#, &["a: is not a known key"]),
        (r#"{"patternProperties":{"^x-":true},"additionalProperties":false}"#, r#"{"x-a":1}"#, &[]),
        (r#"{"patternProperties":{},"additionalProperties":false}"#, r#"{"a":1}"#, &["a: is not a known key"]),
        (r#"{"minProperties":1}"#, "{}", &["must have at least 1 key, found 0"]),
        (r#"{"maxProperties":1}"#, r#"{"a":1,"b":2}"#, &["must have at most 1 key, found 2"]),
        (
            r#"{"propertyNames":{"maxLength":2}}"#,
            r#"{"ab":1,"abc":2}"#,
            &["abc: must have at most 2 characters, found 3"],
        ),
        (r#"{"required":["a"]}"#, "[]", &[]),
        (r#"{"required":"a"}"#, "{}", &[]),
    ]);
}

#[test]
fn combinations() {
    let shape = r#"{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},{"type":"object","properties":{"kind":{"const":"box"},"width":{"type":"number"}},"required":["kind","width"]}]}"#;
    run(&[
        (r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#, "1", &[]),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
            "true",
            &["expected text or a whole number, found true"],
        ),
        (
            r#"{"anyOf":[{"enum":["a","b"]},{"type":"null"}]}"#,
            r#""c""#,
            &[r#"expected "a", "b" or nothing (null), found "c""#],
        ),
        (r#"{"anyOf":[{"type":"string"},{"type":"integer","minimum":3}]}"#, "1", &["must be at least 3, found 1"]),
        (
            r#"{"anyOf":[{"minimum":3},{"multipleOf":2}]}"#,
            "1",
            &["fits none of the 2 accepted forms; the closest says: must be at least 3, found 1"],
        ),
        (r#"{"anyOf":[]}"#, "1", &[]),
        (shape, r#"{"kind":"box","width":1}"#, &[]),
        (shape, r#"{"kind":"box","width":"wide"}"#, &[r#"width: expected a number, found "wide""#]),
        (shape, r#"{"kind":"circle"}"#, &["radius: is required but missing"]),
        (shape, "7", &["expected an object, found 7"]),
        (shape, "{}", &["fits none of the 2 accepted forms; the closest says: kind is required but missing"]),
        (r#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "1", &[]),
        (
            r#"{"oneOf":[{"minimum":1},{"minimum":2},{"minimum":9}]}"#,
            "3",
            &["fits 2 of the 3 accepted forms, but must fit exactly one"],
        ),
        (
            r#"{"allOf":[{"minimum":3},{"multipleOf":2}]}"#,
            "1",
            &["must be at least 3, found 1", "must be a multiple of 2, found 1"],
        ),
        (r#"{"allOf":[{"minimum":3},{"minimum":3}]}"#, "1", &["must be at least 3, found 1"]),
        (r#"{"not":{"type":"string"}}"#, "1", &[]),
        (r#"{"not":{"type":"string"}}"#, r#""a""#, &["has a form that is not allowed here"]),
        (r#"{"not":{"not":{"type":"string"}}}"#, r#""a""#, &[]),
        (r#"{"not":5}"#, "1", &[]),
    ]);
}

#[test]
fn references() {
    let tree = r##"{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"value":{"type":"integer"}},"additionalProperties":false}}}"##;
    let nowhere = "cannot be checked: its schema refers to one that is not there";
    let circle = "cannot be checked: its schema refers to itself in a circle";
    run(&[
        (tree, r#"{"next":{"next":{"value":1}}}"#, &[]),
        (tree, r#"{"next":{"next":{"value":"x"}}}"#, &[r#"next.next.value: expected a whole number, found "x""#]),
        (
            r##"{"properties":{"a":{"$ref":"#"}},"type":"object"}"##,
            r#"{"a":{"a":1}}"#,
            &["a.a: expected an object, found 1"],
        ),
        (r##"{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"null"}}}"##, "1", &["expected nothing (null), found 1"]),
        (
            r##"{"$ref":"#/$defs/a","minimum":5,"$defs":{"a":{"type":"integer"}}}"##,
            "1",
            &["must be at least 5, found 1"],
        ),
    ]);
    for (schema, message) in [
        (json!({"$ref": "#/$defs/missing"}), nowhere),
        (json!({"$ref": "https://example.com/schema"}), nowhere),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": 5}}), nowhere),
        (json!({"not": {"$ref": "#/$defs/missing"}}), nowhere),
        (json!({"$ref": "#"}), circle),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
            circle,
        ),
        (json!({"not": {"$ref": "#"}}), circle),
    ] {
        let found = check(&schema, &json!(1));
        assert!(found.iter().any(|violation| violation.message == message), "{schema}: {found:?}");
    }
}

#[test]
fn what_is_found_is_told_without_giving_it_away() {
    let long = "x".repeat(40);
    let huge = "y".repeat(10_000);
    for (schema, value, expected) in [
        (json!({"type": "integer"}), json!(long), "expected a whole number, found text of 40 characters"),
        (json!({"type": "integer"}), json!(huge), "expected a whole number, found a long text"),
        (json!({"type": "integer"}), json!("a\u{1b}[31m"), "expected a whole number, found text of 6 characters"),
        (json!({"type": "integer", "writeOnly": true}), json!("hunter2"), "expected a whole number, found text"),
        (json!({"type": "integer", "format": "password"}), json!("hunter2"), "expected a whole number, found text"),
        (json!({"type": "string", "writeOnly": true}), json!(1234), "expected text, found a number"),
        (
            json!({"properties": {"apiKey": {"type": "object"}}}),
            json!({"apiKey": "hunter2"}),
            "apiKey: expected an object, found text",
        ),
        (
            json!({"properties": {"TOKENS": {"items": {"maximum": 1}}}}),
            json!({"TOKENS": [4711]}),
            "TOKENS[0]: must be at most 1, found a number",
        ),
    ] {
        assert_eq!(check(&schema, &value).iter().map(Violation::to_string).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn an_overlong_key_is_cut_in_the_message() {
    let found = check(&json!({"additionalProperties": false}), &json!({"k".repeat(5000): 1}));
    assert_eq!(found.len(), 1);
    assert!(found[0].path.chars().count() < 80, "{}", found[0].path);
}

#[test]
fn many_violations_are_counted_not_listed() {
    let value = Value::from(vec!["x"; 250]);
    let found = check(&json!({"items": {"type": "integer"}}), &value);
    assert_eq!(found.len(), MAX_VIOLATIONS + 1);
    assert_eq!(found.last().map(|last| last.message.as_str()), Some("150 further problems are not listed"));
}

#[test]
fn unsupported_keywords_are_named_with_their_place() {
    let table: &[(Value, &[&str])] = &[
        (json!(true), &[]),
        (json!({"type": "string", "format": "x", "x-note": {"pattern": "no schema"}}), &[]),
        (json!({"pattern": "a"}), &["pattern"]),
        (json!({"properties": {"a": {"pattern": "a"}, "pattern": {"type": "string"}}}), &["properties.a.pattern"]),
        (json!({"if": {}, "then": {}, "else": {}}), &["else", "if", "then"]),
        (
            json!({"items": {"contains": {}}, "anyOf": [true, {"not": {"dependentSchemas": {}}}]}),
            &["anyOf[1].not.dependentSchemas", "items.contains"],
        ),
        (json!({"$defs": {"a.b": {"unevaluatedProperties": false}}}), &["\"$defs\".\"a.b\".unevaluatedProperties"]),
        (
            json!({"patternProperties": {"^a": {}}, "additionalProperties": {"pattern": "a"}}),
            &["additionalProperties.pattern", "patternProperties"],
        ),
        (json!({"type": "strnig"}), &["type"]),
        (
            json!({"type": [], "enum": 1, "required": [1], "minLength": -1, "maximum": "1", "multipleOf": 0}),
            &["enum", "maximum", "minLength", "multipleOf", "required", "type"],
        ),
        (json!({"items": [{"type": "string"}], "allOf": [], "properties": []}), &["allOf", "items", "properties"]),
        (json!(5), &[""]),
        (json!({"$ref": "#/$defs/missing"}), &["\"$ref\""]),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"pattern": "x"}}}), &["\"$defs\".a.pattern"]),
        (
            json!({"$ref": "#/parts/a", "parts": {"a": {"pattern": "x", "items": {"$ref": "#/parts/a"}}}}),
            &["parts.a.pattern"],
        ),
        (json!({"anyOf": [{"pattern": "x"}, {"$ref": "#/anyOf/0"}]}), &["anyOf[0].pattern"]),
        (json!({"$ref": "#"}), &[]),
    ];
    for (schema, expected) in table {
        assert_eq!(unsupported_keywords(schema), *expected, "{schema}");
    }
}
