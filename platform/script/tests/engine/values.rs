//! JSON in, JSON out, static exports, calls and promises.

use std::time::Duration;

use dispatch_script::{Callee, Engine, ErrorKind, Grants, Limits, Source};
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use crate::support::{eval, load, patient, run};

#[test]
fn a_module_gives_its_data_and_runs_its_handler() {
    let script = load(
        "hook.mjs",
        r#"
        const base = await Promise.resolve(40);
        export const config = { nested: { list: [1, "two", null] }, when: new Date(0) };
        export const names = new Map([["a", 1]]);
        export function add(a, b) { return a + b; }
        export default {
            name: "demo",
            supports: new Set(["PreToolUse", "Stop"]),
            async handle(event, context) { await null; return { event, sum: base + context.n, me: this.name }; },
        };
        "#,
    )
    .unwrap();
    assert_eq!(
        script.exports().unwrap(),
        json!({
            "config": { "nested": { "list": [1, "two", null] }, "when": "1970-01-01T00:00:00.000Z" },
            "default": { "name": "demo", "supports": ["PreToolUse", "Stop"] },
            "names": { "a": 1 },
        })
    );
    assert_eq!(script.export("names").unwrap(), Some(json!({ "a": 1 })));
    assert_eq!(script.export("nothing").unwrap(), None);
    let handle = Callee::default_method("handle");
    assert!(script.has(&handle).unwrap());
    assert!(!script.has(&Callee::default_method("name")).unwrap());
    assert!(!script.has(&Callee::export("nothing")).unwrap());
    assert_eq!(
        script.call(&handle, &[json!("Stop"), json!({ "n": 2 })]).unwrap(),
        json!({ "event": "Stop", "sum": 42, "me": "demo" })
    );
    assert_eq!(script.call(&Callee::export("add"), &[json!(1), json!(2)]).unwrap(), json!(3));
}

#[test]
fn results_follow_json_rules() {
    let table = [
        ("undefined", json!(null)),
        ("null", json!(null)),
        ("NaN", json!(null)),
        ("-0", json!(0)),
        ("2 ** 53", json!(9_007_199_254_740_992_u64)),
        ("() => 1", json!(null)),
        ("[undefined, () => 1, Symbol()]", json!([null, null, null])),
        ("({ a: undefined, b: 1 })", json!({ "b": 1 })),
        ("new Set([new Set([1])])", json!([[1]])),
        ("({ toJSON: () => 'me' })", json!("me")),
        (r#""\ud800x""#, json!("\u{fffd}x")),
        (r#""a\0b""#, json!("a\0b")),
        ("Promise.resolve(Promise.resolve(7))", json!(7)),
        ("({ then(resolve) { resolve('thenable'); } })", json!("thenable")),
    ];
    for (expression, expected) in table {
        assert_eq!(eval(expression).unwrap(), expected, "{expression}");
    }
    for expression in ["1n", "(() => { const a = {}; a.a = a; return a; })()"] {
        assert_eq!(eval(expression).unwrap_err().kind, ErrorKind::Thrown, "{expression}");
    }
}

#[test]
fn own_proto_keys_in_arguments_are_plain_data() {
    let argument: Value = serde_json::from_str(r#"{"__proto__":{"evil":1}}"#).unwrap();
    let result =
        run("export default (a) => [{}.evil === undefined, a.evil === undefined, a];", std::slice::from_ref(&argument));
    assert_eq!(result.unwrap(), json!([true, true, argument]));
}

#[test]
fn a_missing_function_is_named() {
    let script = load("main.js", "export default { name: 1 }; export const x = 1;").unwrap();
    for callee in [
        Callee::export("y"),
        Callee::export("x"),
        Callee::export("default"),
        Callee::default_method("name"),
        Callee::default_method("toto"),
    ] {
        let error = script.call(&callee, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Missing, "{callee:?}");
    }
    let empty = load("main.js", "").unwrap();
    let error = empty.call(&Callee::default_method("handle"), &[]).unwrap_err();
    assert_eq!(error.message, "method \"handle\" of the default export is not a function");
}

#[test]
fn a_promise_that_never_settles_is_reported_at_once() {
    let engine =
        Engine::new(Limits { time: Duration::from_secs(3_600), ..Limits::default() }, Grants::default()).unwrap();
    let text = "export default () => new Promise(() => {});";
    let script = engine.load(&Source::new("main.js", text)).unwrap();
    let error = script.call(&Callee::export("default"), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NeverSettles);
    let error = engine.load(&Source::new("top.js", "await new Promise(() => {});")).err().unwrap();
    assert_eq!(error.kind, ErrorKind::NeverSettles);
}

#[test]
fn values_over_the_limit_are_refused_both_ways() {
    let limits = Limits { value_bytes: 100, ..patient() };
    let engine = Engine::new(limits, Grants::default()).unwrap();
    let script =
        engine.load(&Source::new("main.js", "export default (text, times) => text.repeat(times ?? 1);")).unwrap();
    let call = |arguments: &[Value]| script.call(&Callee::export("default"), arguments);
    assert_eq!(call(&[json!("x"), json!(98)]).unwrap(), json!("x".repeat(98)));
    assert_eq!(call(&[json!("x"), json!(99)]).unwrap_err().kind, ErrorKind::Limit);
    let half = json!("y".repeat(60));
    assert_eq!(call(&[half.clone(), half]).unwrap_err().kind, ErrorKind::Limit);
    assert_eq!(call(&[json!("still works")]).unwrap(), json!("still works"));
}

#[test]
fn work_left_behind_is_finished_before_the_answer() {
    let script = load(
        "main.js",
        "export const state = []; export default () => { (async () => { for (let i = 0; i < 3; i++) { await null; state.push(i); } })(); return 1; };",
    )
    .unwrap();
    assert_eq!(script.call(&Callee::export("default"), &[]).unwrap(), json!(1));
    assert_eq!(script.export("state").unwrap(), Some(json!([0, 1, 2])));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..(1_i64 << 53)).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| {
            // JavaScript writes whole numbers without a point, so they come back as integers.
            (number.fract() != 0.0).then(|| Number::from_f64(number).map(Value::Number)).flatten()
        }),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

#[test]
fn json_goes_round_unchanged() {
    let script = load("main.js", "export default (x) => x; export const host = 1;").unwrap();
    let identity = Callee::export("default");
    proptest!(|(value in any_json())| {
        prop_assert_eq!(script.call(&identity, std::slice::from_ref(&value)).unwrap(), value);
    });
}
