//! What a failing script says, and where in the source its author wrote.

use dispatch_script::{Callee, ErrorKind, ScriptError};
use serde_json::json;

use crate::support::{eval, load, run};

fn place(error: &ScriptError) -> (String, u32, u32) {
    let frame = error.location().unwrap_or_else(|| panic!("no place in {error:?}"));
    (frame.file.clone(), frame.line, frame.column)
}

const TYPED: &str = r#"// A comment that goes away.
import type { Nothing } from "./nothing.ts";

interface Shape {
    name: string;
    size?: number;
}

enum Color {
    Red,
    Green = 5,
}

type Alias<T> = T extends string ? "s" : "n";

class Box {
    constructor(private readonly label: string, public size: number = 3) {}

    fail(reason: string): never {
        const full: string = `${this.label} ${reason} ${Color[5]}`; throw new TypeError(full);
    }
}

export default function run(shape: Shape): number {
    const box = new Box(shape.name) satisfies Box;
    return box.fail("broke" as string);
}
"#;

#[test]
fn a_throw_in_typescript_names_the_original_place() {
    let script = load("dir/typed.ts", TYPED).unwrap();
    let error = script.call(&Callee::export("default"), &[json!({ "name": "box" })]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Thrown);
    assert_eq!(error.message, "TypeError: box broke Green");
    let line = TYPED.lines().nth(19).unwrap();
    let column = u32::try_from(line.find("new TypeError").unwrap()).unwrap() + 1;
    let (file, at_line, at_column) = place(&error);
    assert_eq!((file.as_str(), at_line), ("dir/typed.ts", 20));
    assert!((column..column + 13).contains(&at_column), "{at_column} is not in `new TypeError` at {column}");
    let caller = &error.stack[1];
    assert_eq!((caller.function.as_deref(), caller.line), (Some("run"), 26));
}

#[test]
fn a_typescript_error_names_its_place() {
    let table = [
        ("let a = 1;\nlet b: = 2;\n", 2, 8),
        ("\u{feff}const x: number = 1;\n\n  class { }\n", 3, 3),
        ("let é: string = '𝒳'; let let = 1;", 1, 27),
    ];
    for (text, line, column) in table {
        let error = load("bad.ts", text).err().unwrap();
        assert_eq!(error.kind, ErrorKind::TypeScript, "{text}: {error}");
        assert_eq!(place(&error), ("bad.ts".to_owned(), line, column), "{text}: {error}");
    }
}

#[test]
fn a_javascript_syntax_error_names_its_place() {
    let error = load("bad.js", "const a = 1;\n\nconst b = = 2;\n").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Syntax);
    assert_eq!(place(&error), ("bad.js".to_owned(), 3, 11));
    assert!(!error.message.is_empty() && !error.message.contains("SyntaxError"));
}

#[test]
fn a_syntax_error_at_run_time_is_thrown_not_syntax() {
    let error = load("json.js", "JSON.parse('{');").err().unwrap();
    assert_eq!(error.kind, ErrorKind::Thrown);
    assert_eq!(place(&error).0, "json.js");
}

#[test]
fn what_is_thrown_is_shown_whatever_it_is() {
    let table = [
        ("throw new Error('plain')", "plain"),
        ("throw new RangeError('far')", "RangeError: far"),
        ("throw new Error()", "Error"),
        ("throw 'text'", "a value that is not an Error was thrown: text"),
        ("throw 7", "a value that is not an Error was thrown: 7"),
        ("throw undefined", "a value that is not an Error was thrown: undefined"),
        ("throw { code: 1 }", "a value that is not an Error was thrown: {\"code\":1}"),
        ("throw Symbol('s')", "a value that is not an Error was thrown: symbol"),
        ("throw new Proxy({}, { get() { throw 1; } })", "a value that is not an Error was thrown: proxy"),
        (
            "throw Object.defineProperty(Object.assign(new Error('x'), { name: 'Odd' }), 'stack', { value: 5 })",
            "Odd: x",
        ),
        ("const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw 1; } }); throw e", "Error"),
        ("return Promise.reject(new Error('later'))", "later"),
        ("return (async () => { await null; throw new Error('even later'); })()", "even later"),
        ("return Promise.any([Promise.reject(1)])", "AggregateError"),
    ];
    for (body, message) in table {
        let error = run(&format!("export default function run() {{ {body}; }}"), &[]).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Thrown, message), "{body}");
    }
}

#[test]
fn messages_and_stacks_are_bounded() {
    let error = eval("(() => { throw new Error('é'.repeat(1e6)); })()").unwrap_err();
    assert!(error.message.len() <= 4 * 1024);
    let error = run(
        "const down = (n) => { if (n === 0) throw new Error('deep'); down(n - 1); }; export default () => down(200);",
        &[],
    )
    .unwrap_err();
    assert!(!error.stack.is_empty() && error.stack.len() <= 32);
}

#[test]
fn the_engine_goes_on_after_an_error() {
    let script = load(
        "main.ts",
        "export const fail = (): never => { throw new Error('no'); }; export const work = (n: number) => n + 1;",
    )
    .unwrap();
    for _ in 0..3 {
        assert_eq!(script.call(&Callee::export("fail"), &[]).unwrap_err().message, "no");
        assert_eq!(script.call(&Callee::export("work"), &[json!(1)]).unwrap(), json!(2));
    }
}

#[test]
fn columns_count_characters_as_editors_do() {
    for name in ["wide.js", "wide.ts"] {
        let error = load(name, "const wide = 'é𝒳'; wide.nothing.more;").err().unwrap();
        assert_eq!(place(&error), (name.to_owned(), 1, 21), "{error:?}");
    }
}
