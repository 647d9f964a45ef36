//! What a script cannot reach, and what it cannot do to another.

use dispatch_script::{Callee, ClockGrant, Engine, ErrorKind, Grants, Isolation, Limits, Source};
use serde_json::json;

use crate::support::{eval, load, load_with, patient, run};

#[test]
fn nothing_ambient_is_there() {
    for name in [
        "fetch",
        "process",
        "require",
        "module",
        "exports",
        "Deno",
        "Bun",
        "setTimeout",
        "setInterval",
        "setImmediate",
        "XMLHttpRequest",
        "WebSocket",
        "Worker",
        "crypto",
        "Buffer",
        "std",
        "os",
        "bjson",
        "print",
        "scriptArgs",
        "gc",
        "eval",
        "host",
        "navigator",
        "window",
        "self",
        "global",
    ] {
        assert_eq!(eval(&format!("typeof {name}")).unwrap(), json!("undefined"), "{name}");
    }
}

#[test]
fn code_from_strings_is_refused_by_every_road() {
    for expression in [
        "Function('return 1')()",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
        "(async function* () {}).constructor('return 1')()",
        "(class {}).constructor('return 1')()",
        "Object.getPrototypeOf(class extends Object {}).constructor('return 1')()",
        "Reflect.construct(Function, ['return 1'])()",
        "class extends Function {}.prototype.constructor('return 1')()",
        "(0, globalThis.eval)('1')",
        "console.log.constructor('return 1')()",
        "Math.max.constructor('return 1')()",
        "Object.getPrototypeOf((async () => {}).constructor)('return 1')()",
    ] {
        let error = eval(expression).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Thrown, "{expression}");
    }
    assert_eq!(eval("(() => 1) instanceof Function").unwrap(), json!(true));
}

#[test]
fn blocking_is_refused() {
    let error = eval("Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 10)").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Thrown);
}

#[test]
fn the_clock_is_the_callers() {
    let grants = Grants { clock: ClockGrant::Fixed(1_700_000_000_123.0), ..Grants::default() };
    let engine = Engine::new(patient(), grants).unwrap();
    let text = r#"
        class Mine extends Date {}
        export default () => [
            Date.now(), new Date().getTime(), +new Mine(), +new (new Date(5).constructor)(), performance.now(),
            performance.timeOrigin, Date().includes("2023"), new Date() instanceof Date, new Mine() instanceof Mine,
            new Date(0).toISOString(), Date.UTC(1970, 0, 2), Date.parse("1970-01-01T00:00:01Z"), new Date(NaN).getTime(),
            Date.name, Date.length,
        ];
    "#;
    let script = engine.load(&Source::new("main.js", text)).unwrap();
    let now = 1_700_000_000_123_u64;
    let call = || script.call(&Callee::export("default"), &[]).unwrap();
    let expected = json!([
        now,
        now,
        now,
        now,
        0,
        now,
        true,
        true,
        true,
        "1970-01-01T00:00:00.000Z",
        86_400_000,
        1000,
        null,
        "Date",
        7
    ]);
    assert_eq!(call(), expected);
    engine.set_now_ms(1_700_000_000_456.0);
    assert_eq!(call()[0], json!(1_700_000_000_456_u64));
    assert_eq!(call()[4], json!(333));

    let real = Grants { clock: ClockGrant::Real(Box::new(|| 5.5)), ..Grants::default() };
    let script = load_with(real, "main.js", "export default () => [Date.now(), +new Date()];").unwrap();
    assert_eq!(script.call(&Callee::export("default"), &[]).unwrap(), json!([5.5, 5]));
}

#[test]
fn randomness_repeats_by_seed() {
    let text = "export default () => [Math.random(), Math.random()];";
    let numbers = |random_seed| {
        let grants = Grants { random_seed, ..Grants::default() };
        let script = load_with(grants, "main.js", text).unwrap();
        script.call(&Callee::export("default"), &[]).unwrap()
    };
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    assert_ne!(numbers(1)[0], numbers(1)[1]);
}

const POLLUTE: &str = r#"
    Object.prototype.polluted = 1;
    Array.prototype.push = () => 0;
    globalThis.leak = 1;
    JSON.stringify = () => '"hijacked"';
    JSON.parse = () => ({ hijacked: true });
    Set.prototype[Symbol.iterator] = null;
    Date.now = () => -1;
    export default (x) => ({ x });
"#;
const LOOK: &str = "export default () => [({}).polluted ?? 0, globalThis.leak ?? 0, [].push(1), Date.now()];";

#[test]
fn one_script_does_not_see_what_another_did() {
    let engine = Engine::new(patient(), Grants::default()).unwrap();
    let polluter = engine.load(&Source::new("a.js", POLLUTE)).unwrap();
    let looker = engine.load(&Source::new("b.js", LOOK)).unwrap();
    assert_eq!(looker.call(&Callee::export("default"), &[]).unwrap(), json!([0, 0, 1, 0]));
    assert_eq!(
        polluter.call(&Callee::export("default"), &[json!({ "k": [1] })]).unwrap(),
        json!({ "x": { "k": [1] } }),
        "a script cannot bend the way its own values travel"
    );
}

#[test]
fn scripts_share_globals_only_when_asked() {
    let grants = Grants { isolation: Isolation::Shared, ..Grants::default() };
    let engine = Engine::new(patient(), grants).unwrap();
    let _polluter = engine.load(&Source::new("a.js", POLLUTE)).unwrap();
    let looker = engine.load(&Source::new("b.js", LOOK)).unwrap();
    assert_eq!(looker.call(&Callee::export("default"), &[]).unwrap(), json!([1, 1, 0, -1]));
}

#[test]
fn deep_recursion_is_a_stack_error() {
    for text in [
        "export default () => { const f = () => f() + 1; return f(); };",
        "export default () => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a; };",
        "export default () => JSON.parse('['.repeat(1e6));",
        "const f = () => f(); f();",
    ] {
        let error = run(text, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Stack, "{text}: {error}");
    }
    let nested = format!("export default () => {}1{};", "(".repeat(100_000), ")".repeat(100_000));
    let error = load("main.js", &nested).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Stack, "{error}");
}

#[test]
fn memory_hogs_are_stopped() {
    for body in [
        "const a = []; for (;;) a.push(new Array(1000).fill(a.length));",
        "const a = []; for (;;) a.push({ n: a.length });",
        "let s = 'x'; for (;;) s = s + s;",
        "const a = []; for (let i = 0;; i++) a.push('x'.repeat(1e5) + i);",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20));",
        "return new Uint8Array(1 << 30).length;",
        "const m = new Map(); for (let i = 0;; i++) m.set(i, 'v' + i);",
    ] {
        let limits = Limits { memory_bytes: 16 << 20, ..patient() };
        let engine = Engine::new(limits, Grants::default()).unwrap();
        let source = Source::new("main.js", format!("export default () => {{ {body} }}"));
        let script = engine.load(&source).unwrap();
        let error = script.call(&Callee::export("default"), &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Memory, "{body}: {error}");
    }
}

#[test]
fn limits_of_nothing_are_still_limits() {
    let hog = "export default () => { const a = []; for (;;) a.push({}); };";
    let deep = "export default () => { const f = () => f() + 1; return f(); };";
    for (text, kind) in [(hog, ErrorKind::Memory), (deep, ErrorKind::Stack)] {
        for bytes in [0, 1, usize::MAX] {
            let limits = Limits {
                memory_bytes: bytes.min(64 << 20),
                stack_bytes: if bytes == usize::MAX { 512 << 10 } else { bytes },
                ..patient()
            };
            let engine = Engine::new(limits, Grants::default()).unwrap();
            let script = engine.load(&Source::new("main.js", text)).unwrap();
            let error = script.call(&Callee::export("default"), &[]).unwrap_err();
            assert_eq!(error.kind, kind, "{bytes}: {error}");
        }
    }
}

#[test]
fn a_full_heap_refuses_further_scripts() {
    let limits = Limits { memory_bytes: 2 << 20, ..patient() };
    let engine = Engine::new(limits, Grants::default()).unwrap();
    let mut scripts = Vec::new();
    let error = loop {
        let name = format!("{}.js", scripts.len());
        match engine.load(&Source::new(name, "export const a = new Array(100).fill('x');")) {
            Ok(script) => scripts.push(script),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, ErrorKind::Memory, "{error}");
    assert!(scripts.len() > 2, "{}", scripts.len());
    assert!(scripts.pop().unwrap().exports().is_ok());
}
