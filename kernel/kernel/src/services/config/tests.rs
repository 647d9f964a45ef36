//! Tables and properties of merging.

use super::*;
use dispatch_contracts::settings::Setting;
use proptest::prelude::*;
use serde_json::json;

fn global(values: Value) -> Layer {
    Layer::new(Origin::Global { file: "~/dispatch.toml".to_owned() }, values)
}

fn project(values: Value) -> Layer {
    Layer::new(Origin::Project { file: ".dispatch/dispatch.toml".to_owned() }, values)
}

fn variable(name: &str, text: &str) -> Layer {
    from_environment(&[(name.to_owned(), text.to_owned())]).unwrap().remove(0)
}

fn merged(layers: &[Layer]) -> Settings {
    merge(layers, &json!({}), &BTreeMap::new()).unwrap()
}

fn problems(layers: &[Layer], schema: &Value, extensions: &[(&str, Value)]) -> Vec<String> {
    let extensions = extensions.iter().map(|(id, schema)| (ExtensionId::from(*id), schema.clone())).collect();
    let spell = |problem: ConfigProblem| match problem.hint.clone() {
        Some(hint) => format!("{problem} [{hint}]"),
        None => problem.to_string(),
    };
    merge(layers, schema, &extensions).map_or_else(|problems| problems.into_iter().map(spell).collect(), |_| Vec::new())
}

fn shown(settings: &Settings) -> Vec<String> {
    settings.iter().map(|(name, setting)| format!("{name}={}", setting.value)).collect()
}

#[test]
fn stronger_layers_win_whatever_their_order() {
    let layers = [
        from_flag("model.name=flagged").unwrap(),
        project(json!({"model": {"name": "projected", "size": 2}, "list": [3]})),
        Layer::new(Origin::BuiltIn, json!({"model": {"name": "built", "on": true}})),
        variable("DISPATCH_MODEL__SIZE", "4"),
        global(json!({"model": {"name": "global", "deep": {"a": 1, "b": 2}}, "list": [1, 2]})),
    ];
    let settings = merged(&layers);
    assert_eq!(
        shown(&settings),
        ["list=[3]", "model.deep.a=1", "model.deep.b=2", "model.name=\"flagged\"", "model.on=true", "model.size=4"]
    );
    let origin = |name: &str| settings.get(name).map(|setting| setting.origin.clone());
    assert_eq!(origin("model.name"), Some(Origin::Flag { flag: "--set model.name".to_owned() }));
    assert_eq!(origin("model.size"), Some(Origin::Environment { variable: "DISPATCH_MODEL__SIZE".to_owned() }));
    assert_eq!(origin("list"), Some(Origin::Project { file: ".dispatch/dispatch.toml".to_owned() }));
    assert_eq!(origin("model.deep.a"), Some(Origin::Global { file: "~/dispatch.toml".to_owned() }));
    assert_eq!(origin("model.on"), Some(Origin::BuiltIn));
}

#[test]
fn tables_values_and_null_replace_each_other() {
    let table: &[(&[Value], &[&str])] = &[
        (&[], &[]),
        (&[json!({"a": 1}), json!({})], &["a=1"]),
        (&[json!({"a": {"b": 1}}), json!({"a": 2})], &["a=2"]),
        (&[json!({"a": 2}), json!({"a": {"b": 1}})], &["a.b=1"]),
        (&[json!({"a": {"b": 1, "c": 2}}), json!({"a": {"b": null}})], &["a.c=2"]),
        (&[json!({"a": {"b": 1}}), json!({"a": null})], &[]),
        (&[json!({"a": {"b": 1}}), json!({"a": {"b": null}})], &["a={}"]),
        (&[json!({"a": null}), json!({"a": 1})], &["a=1"]),
        (&[json!({"a": {"b": 1}}), json!({"a": {}})], &["a.b=1"]),
        (&[json!({"a": [null, {"x": null}]})], &["a=[null,{\"x\":null}]"]),
        (
            &[json!({"a": 3.0, "b": 0.5, "c": [1.0], "d": -0.0, "e": 1e300})],
            &["a=3", "b=0.5", "c=[1]", "d=0", "e=1e+300"],
        ),
        (&[json!({"a.b": {"": 1}, "a": {"b": {"c d": 2}}})], &["\"a.b\".\"\"=1", "a.b.\"c d\"=2"]),
    ];
    for (layers, expected) in table {
        let layers: Vec<Layer> = layers.iter().cloned().map(global).collect();
        assert_eq!(shown(&merged(&layers)), *expected, "{layers:?}");
    }
}

#[test]
fn a_problem_names_the_setting_its_origin_and_a_way_out() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "model": {
                "type": "object", "additionalProperties": false, "required": ["name"],
                "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}
            },
            "rules": {"type": "array", "items": {"type": "object", "required": ["verdict"]}}
        }
    });
    let good = || global(json!({"model": {"name": "m"}}));
    let table: &[(&[Layer], &[&str])] = &[
        (&[good()], &[]),
        (
            &[good(), project(json!({"model": {"size": "x"}}))],
            &[r#"model.size: expected a whole number, found "x" (in .dispatch/dispatch.toml)"#],
        ),
        (
            &[good(), project(json!({"modle": {"name": 1}}))],
            &["modle: is not a known key (in .dispatch/dispatch.toml) [did you mean `model`?]"],
        ),
        (
            &[good(), project(json!({"rules": [{"verdict": 1}, {}]}))],
            &["rules[1].verdict: is required but missing (in .dispatch/dispatch.toml)"],
        ),
        (
            &[good(), variable("DISPATCH_MODEL__NAME", "42")],
            &[
                "model.name: expected text, found 42 (from the variable DISPATCH_MODEL__NAME) [put the value in double quotes to make it text]",
            ],
        ),
        (&[good(), variable("DISPATCH_MODEL__NAME", "\"42\"")], &[]),
        (
            &[good(), from_flag("model.name=null").unwrap()],
            &["model.name: is required but missing (from --set model.name)"],
        ),
        (
            &[good(), project(json!([1])), from_flag("x=1").unwrap()],
            &["expected named values (in .dispatch/dispatch.toml)", "x: is not a known key (from --set x)"],
        ),
        (&[global(json!({"model": {"name": 1}})), project(json!({"model": {"name": "replaced"}}))], &[]),
    ];
    for (layers, expected) in table {
        assert_eq!(problems(layers, &schema, &[]), *expected, "{layers:?}");
    }
}

#[test]
fn sections_of_extensions_are_checked_by_their_own_schema() {
    let schema = crate::services::builtin::builtin_schema();
    let mail = json!({
        "type": "object", "additionalProperties": false, "required": ["host"],
        "properties": {"host": {"$ref": "#/$defs/host"}, "maxItems": {"type": "integer"}},
        "$defs": {"host": {"type": "string"}}
    });
    let extensions = [("mail", mail)];
    let with = |section: Value| problems(&[project(json!({"extensions": section}))], &schema, &extensions);
    assert_eq!(with(json!({})), [""; 0]);
    assert_eq!(with(json!({"mail": {"host": "a"}})), [""; 0]);
    assert_eq!(with(json!({"unknown": {"any": "thing"}})), [""; 0]);
    assert_eq!(
        with(json!({"mail": {"host": 1}})),
        ["extensions.mail.host: expected text, found 1 (in .dispatch/dispatch.toml)"]
    );
    assert_eq!(
        with(json!({"mail": {}})),
        ["extensions.mail.host: is required but missing (in .dispatch/dispatch.toml)"]
    );
    assert_eq!(
        with(json!({"mail": {"hots": "a", "host": "a"}})),
        ["extensions.mail.hots: is not a known key (in .dispatch/dispatch.toml) [did you mean `host`?]"]
    );
    assert_eq!(with(json!({"mail": {"host": 1}, "disabled": ["mail"]})), [""; 0]);
    assert_eq!(with(json!({"mail": 5})), ["extensions.mail: expected an object, found 5 (in .dispatch/dispatch.toml)"]);
    let misplaced = problems(&[variable("DISPATCH_EXTENSIONS__MAIL__MAX_ITEMS", "x")], &schema, &extensions);
    assert_eq!(misplaced.len(), 2);
    assert!(misplaced[1].starts_with("extensions.mail.maxItems: expected a whole number"), "{misplaced:?}");
}

#[test]
fn variables_become_layers() {
    let variables: Vec<(String, String)> = [
        ("DISPATCH_MODEL__NAME", "gpt"),
        ("DISPATCH_LOG__LEVEL", ""),
        ("DISPATCH_HOME", "/x"),
        ("DISPATCH_LOG", "debug"),
        ("HOME", "/y"),
        ("dispatch_model__name", "no"),
        ("DISPATCH_DISPATCH__EAGER", "false"),
        ("DISPATCH_A__B__C", "[1, \"x\"]"),
        ("DISPATCH_A__TEXT", "007"),
        ("DISPATCH_A__HUGE", "1e999"),
        ("DISPATCH_A__GONE", "null"),
    ]
    .map(|(name, text)| (name.to_owned(), text.to_owned()))
    .into();
    let values: Vec<Value> = from_environment(&variables).unwrap().into_iter().map(|layer| layer.values).collect();
    assert_eq!(
        values,
        [
            json!({"a": {"b": {"c": [1, "x"]}}}),
            json!({"a": {"gone": null}}),
            json!({"a": {"huge": "1e999"}}),
            json!({"a": {"text": "007"}}),
            json!({"dispatch": {"eager": false}}),
            json!({"model": {"name": "gpt"}}),
        ]
    );
}

#[test]
fn a_variable_that_names_nothing_is_reported() {
    let deep = format!("DISPATCH_{}", ["A"; MAX_NESTING + 1].join("__"));
    for name in ["DISPATCH_MODEL__", "DISPATCH___NAME", "DISPATCH_A____B", "DISPATCH___", deep.as_str()] {
        let problems = from_environment(&[(name.to_owned(), "secret".to_owned())]).unwrap_err();
        assert_eq!(problems.len(), 1, "{name}");
        assert!(!problems[0].to_string().contains("secret"));
    }
}

#[test]
fn keys_of_variables_take_the_spelling_of_the_schema() {
    let schema = crate::services::builtin::builtin_schema();
    let extensions = BTreeMap::from([(ExtensionId::from("hook-pipeline"), json!({"properties": {"maxRuns": true}}))]);
    let layers = [
        variable("DISPATCH_MODEL__BASE_URL", "http://localhost"),
        variable("DISPATCH_MODEL__OPTIONS__TOP_P", "0.5"),
        variable("DISPATCH_TOOL_DISPATCH__MAX_CONCURRENT", "4"),
        variable("DISPATCH_EXTENSIONS__HOOK_PIPELINE__MAX_RUNS", "3"),
        variable("DISPATCH_EXTENSIONS__OTHER_ONE__SOME_KEY", "x"),
        variable("DISPATCH_EXTENSIONS__DISABLED", "[\"web_ui\"]"),
    ];
    let settings = merge(&layers, &schema, &extensions).unwrap();
    assert_eq!(
        shown(&settings),
        [
            "extensions.disabled=[\"web_ui\"]",
            "extensions.hook-pipeline.maxRuns=3",
            "extensions.other-one.some_key=\"x\"",
            "model.base_url=\"http://localhost\"",
            "model.options.top_p=0.5",
            "tool_dispatch.max_concurrent=4",
        ]
    );
}

#[test]
fn flags_become_layers() {
    for (assignment, expected) in [
        ("model.name=foo", Some(json!({"model": {"name": "foo"}}))),
        ("model.name=a=b", Some(json!({"model": {"name": "a=b"}}))),
        ("a=", Some(json!({"a": ""}))),
        ("a = 1", Some(json!({"a": 1}))),
        ("a=[{\"permission\":\"*\"}]", Some(json!({"a": [{"permission": "*"}]}))),
        ("x.\"a.b=c\".y=true", Some(json!({"x": {"a.b=c": {"y": true}}}))),
        ("x.\"q\\\"=\"=1", Some(json!({"x": {"q\"=": 1}}))),
        ("", None),
        ("=1", None),
        ("model.name", None),
        ("a..b=1", None),
        ("a[0]=1", None),
        ("\"open=1", None),
    ] {
        assert_eq!(from_flag(assignment).ok().map(|layer| layer.values), expected, "{assignment}");
    }
    let problem = from_flag("hunter2").unwrap_err();
    assert_eq!(problem.to_string(), "expected a setting's name, `=` and its value (from --set)");
    assert!(problem.hint.is_some());
}

#[test]
fn nesting_is_bounded() {
    let deep = (0..200).fold(json!(1), |value, _| json!({"a": value}));
    let found = problems(&[global(deep)], &json!({}), &[]);
    assert_eq!(found, ["nested deeper than 32 levels (in ~/dispatch.toml)"]);
    assert!(Layer::single(Origin::BuiltIn, &["a"; MAX_NESTING + 1].join("."), json!(1)).is_none());
}

#[test]
fn an_untrusted_file_loses_what_it_must_not_set() {
    let layer = project(json!({"model": {"name": "m", "base_url": "http://evil"}, "permissions": {"rules": []}}));
    let (layer, taken) = layer.withhold(&crate::services::builtin::NEEDS_TRUST);
    assert_eq!(layer.values, json!({"model": {"name": "m"}}));
    assert_eq!(taken, ["model.base_url", "permissions"]);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_i64..5).prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab. ]{0,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[ab. ]{0,2}", tree, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #[test]
    fn a_layer_over_itself_changes_nothing(values in values()) {
        prop_assert_eq!(merged(&[global(values.clone()), global(values.clone())]), merged(&[global(values)]));
    }

    #[test]
    fn what_was_merged_can_be_merged_again(first in values(), second in values()) {
        let settings = merged(&[global(first), global(second)]);
        let whole = tree(&settings);
        prop_assert_eq!(merged(&[global(whole.clone())]), settings);
        prop_assert_eq!(tree(&merged(&[global(whole.clone())])), whole);
    }

    #[test]
    fn every_value_of_the_strongest_layer_holds(weak in values(), strong in values()) {
        let alone = merged(&[project(strong.clone())]);
        let both = merged(&[global(weak), project(strong)]);
        for (name, setting) in alone.iter().filter(|(_, setting)| setting.value != json!({})) {
            prop_assert_eq!(both.get(name), Some(setting));
        }
    }

    #[test]
    fn sections_read_back(values in values()) {
        let settings = merged(&[global(json!({"s": values, "t": 1}))]);
        let Some(Setting { value, .. }) = settings.get("s") else {
            let whole = tree(&settings);
            prop_assert_eq!(tree(&settings.section("s")), whole["s"].clone());
            return Ok(());
        };
        prop_assert_eq!(value, &json!({}));
    }

    #[test]
    fn any_assignment_is_read_or_refused(text in ".{0,30}") {
        let _ = from_flag(&text);
        let _ = from_environment(&[(format!("DISPATCH_{text}"), text)]);
    }
}
