//! `console` and `host`: the two ways out of a script while it runs.

use std::cell::RefCell;
use std::rc::Rc;

use dispatch_script::{Callee, Engine, ErrorKind, Grants, HostFunctions, Limits, LogLevel, Source};
use serde_json::{Value, json};

use crate::support::{eval, load_with, patient};

type Lines = Rc<RefCell<Vec<(LogLevel, String)>>>;

fn logging() -> (Lines, Grants) {
    let lines = Lines::default();
    let sink = Rc::clone(&lines);
    let log = move |level: LogLevel, text: &str| sink.borrow_mut().push((level, text.to_owned()));
    let grants = Grants { log: Some(Box::new(log)), ..Grants::default() };
    (lines, grants)
}

#[test]
fn values_are_shown_as_a_reader_expects() {
    let table = [
        ("'text', 1, true, null, undefined", "text 1 true null undefined"),
        ("", ""),
        ("-0, 1.5, NaN, 10n", "-0 1.5 NaN 10n"),
        ("{ a: [1, 'x'], b: { c: null } }", r#"{"a":[1,"x"],"b":{"c":null}}"#),
        ("[1, [2]], new Set([1]), new Map([['k', 1]])", r#"[1,[2]] [1] {"k":1}"#),
        ("new TypeError('bad'), Symbol('s')", "TypeError: bad Symbol(s)"),
        ("function named() {}, () => 1", "[Function: named] [Function: (anonymous)]"),
        ("new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
        ("'\\ud800 half'", "\u{fffd} half"),
        ("(() => { const a = {}; a.a = a; return a; })()", "[unprintable object: TypeError: circular reference]"),
        ("{ get x() { throw new Error('no'); } }", "[unprintable object: Error: no]"),
    ];
    for (arguments, expected) in table {
        let (lines, grants) = logging();
        load_with(grants, "main.js", &format!("console.log({arguments});")).unwrap();
        assert_eq!(*lines.borrow(), [(LogLevel::Log, expected.to_owned())], "{arguments}");
    }
}

#[test]
fn each_method_has_its_level() {
    let (lines, grants) = logging();
    let text = "for (const m of ['debug', 'log', 'info', 'warn', 'error']) console[m](m);";
    load_with(grants, "main.js", text).unwrap();
    let levels: Vec<LogLevel> = lines.borrow().iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [LogLevel::Debug, LogLevel::Log, LogLevel::Info, LogLevel::Warn, LogLevel::Error]);
}

#[test]
fn lines_are_bounded_in_number_and_size() {
    let (lines, grants) = logging();
    let limits = Limits { log_lines: 3, log_line_bytes: 10, ..patient() };
    let engine = Engine::new(limits, grants).unwrap();
    let text = "export default () => { for (let i = 0; i < 100; i++) console.log('é'.repeat(1e3)); };";
    let script = engine.load(&Source::new("main.js", text)).unwrap();
    for _ in 0..2 {
        lines.borrow_mut().clear();
        script.call(&Callee::export("default"), &[]).unwrap();
        let lines = lines.borrow();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0].1, format!("{} [cut]", "é".repeat(5)));
        assert!(lines[3].1.contains("limit of 3 lines"), "{lines:?}");
    }
}

fn host() -> Grants {
    let host = HostFunctions::new()
        .with("add", |arguments: &[Value]| {
            let sum: i64 = arguments.iter().filter_map(Value::as_i64).sum();
            Ok(json!({ "sum": sum, "count": arguments.len() }))
        })
        .with("fail", |_: &[Value]| Err("the disk is full".to_owned()))
        .with("big", |_: &[Value]| Ok(json!("x".repeat(1_000))));
    Grants { host, ..Grants::default() }
}

#[test]
fn host_functions_take_and_give_json() {
    let text = "export default async () => [await host.add(1, 2, new Set([3])), host.add(), Object.keys(host), host.add.name];";
    let script = load_with(host(), "main.js", text).unwrap();
    assert_eq!(
        script.call(&Callee::export("default"), &[]).unwrap(),
        json!([{ "sum": 3, "count": 3 }, { "sum": 0, "count": 0 }, ["add", "big", "fail"], "add"])
    );
}

#[test]
fn a_host_error_is_a_javascript_error() {
    let text = r#"
        export const caught = () => { try { host.fail(); } catch (error) { return [error instanceof Error, error.message]; } };
        export const uncaught = () => {
            host.fail();
        };
        export const unknown = () => host.nothing();
    "#;
    let script = load_with(host(), "main.js", text).unwrap();
    assert_eq!(script.call(&Callee::export("caught"), &[]).unwrap(), json!([true, "the disk is full"]));
    let error = script.call(&Callee::export("uncaught"), &[]).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Thrown, "the disk is full"));
    assert_eq!(error.location().unwrap().line, 4);
    let error = script.call(&Callee::export("unknown"), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Thrown);
}

#[test]
fn host_values_are_bounded_both_ways() {
    let limits = Limits { value_bytes: 500, ..patient() };
    let engine = Engine::new(limits, host()).unwrap();
    let text = r#"
        const tried = (f) => { try { f(); return "fine"; } catch (error) { return error.message.includes("larger"); } };
        export default () => [tried(() => host.big()), tried(() => host.add("x".repeat(600)))];
    "#;
    let script = engine.load(&Source::new("main.js", text)).unwrap();
    assert_eq!(script.call(&Callee::export("default"), &[]).unwrap(), json!([true, true]));
}

#[test]
fn there_is_no_host_unless_granted() {
    assert_eq!(eval("typeof host").unwrap(), json!("undefined"));
}
