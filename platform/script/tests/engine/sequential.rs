//! Scripts that run one after the other in one heap leave no trace of themselves.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use dispatch_script::{
    Callee, ClockGrant, ErrorKind, Grants, HostFunctions, Limits, LogLevel, SequentialEngine, Source,
};
use serde_json::json;

const ADAPTER: &str = "export default ({ default: hook }) => ({ handle: (value) => hook(value) });";

fn engine(grants: Grants) -> SequentialEngine {
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    SequentialEngine::new(limits, grants, Source::new("adapter.js", ADAPTER)).unwrap()
}

/// What the default export of a module returns for a value.
fn call(
    engine: &mut SequentialEngine,
    text: &str,
    value: serde_json::Value,
) -> Result<serde_json::Value, dispatch_script::ScriptError> {
    engine.run(&Source::new("module.js", text), |script| script.call(&Callee::export("handle"), &[value]))
}

#[test]
fn what_a_script_does_to_its_globals_no_later_one_sees() {
    let mut engine = engine(Grants::default());
    let spoils = "
        Array.prototype.push = () => 'spoiled';
        Object.prototype.left = 'behind';
        globalThis.leak = 1;
        delete globalThis.console;
        Math.random = null;
        performance.now = null;
        JSON.stringify = () => 'no';
        export default () => 'done';
    ";
    let looks = "
        export default () => [
            [].push(1), {}.left ?? null, typeof leak, typeof console.log, typeof Math.random(),
            typeof performance.now(), JSON.stringify([1]),
        ];
    ";
    let fresh = json!([1, null, "undefined", "function", "number", "number", "[1]"]);
    // What reaches for all globals needs more of them than the other: the realm is made anew, and then kept.
    for _ in 0..3 {
        assert_eq!(call(&mut engine, looks, json!(0)).unwrap(), fresh);
        assert_eq!(call(&mut engine, spoils, json!(0)).unwrap(), json!("done"));
        assert_eq!(call(&mut engine, looks, json!(0)).unwrap(), fresh);
    }
}

#[test]
fn random_numbers_begin_anew_for_each_script() {
    let mut engine = engine(Grants { random_seed: 7, ..Grants::default() });
    let text = "export default () => [Math.random(), Math.random()];";
    let first = call(&mut engine, text, json!(0)).unwrap();
    assert_eq!(call(&mut engine, text, json!(0)).unwrap(), first);
}

#[test]
fn failures_leave_the_engine_usable_and_the_log_in_order() {
    let lines = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&lines);
    let host = HostFunctions::new().with("twice", |values| Ok(json!(values[0].as_i64().unwrap_or_default() * 2)));
    let log = move |_: LogLevel, text: &str| kept.borrow_mut().push(text.to_owned());
    let mut engine = engine(Grants { host, log: Some(Box::new(log)), ..Grants::default() });
    let good = "export default (n) => { console.log('run', n); return host.twice(n); };";
    for round in 0..20 {
        assert_eq!(call(&mut engine, good, json!(round)).unwrap(), json!(round * 2));
        assert_eq!(call(&mut engine, "export default", json!(0)).unwrap_err().kind, ErrorKind::Syntax);
        assert_eq!(call(&mut engine, "throw new Error('no')", json!(0)).unwrap_err().kind, ErrorKind::Thrown);
        assert_eq!(
            call(&mut engine, "export default () => new Promise(() => {})", json!(0)).unwrap_err().kind,
            ErrorKind::NeverSettles
        );
    }
    let expected: Vec<String> = (0..20).map(|round| format!("run {round}")).collect();
    assert_eq!(*lines.borrow(), expected);
}

#[test]
fn without_an_adapter_a_module_is_seen_as_it_is_and_begins_at_its_own_time() {
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    let mut engine = SequentialEngine::plain(limits, Grants { random_seed: 7, ..Grants::default() }).unwrap();
    let text = "export const made = performance.timeOrigin;
        export default () => [Date.now(), performance.now(), Math.random()];";
    let mut answers = Vec::new();
    for now_ms in [1_000.0, 2_000.0] {
        engine.set_clock(ClockGrant::Fixed(now_ms));
        let asked = engine.run(&Source::new("module.js", text), |script| {
            Ok((script.export("made")?, script.call(&Callee::export("default"), &[])?))
        });
        let (made, called) = asked.unwrap();
        let now = json!(now_ms as u64);
        assert_eq!((made.as_ref(), &called[0], &called[1]), (Some(&now), &now, &json!(0)));
        answers.push(called[2].clone());
        engine.tidy();
    }
    assert_eq!(answers[0], answers[1]);
    engine.set_time(Duration::from_millis(10));
    let endless = engine.run(&Source::new("module.js", "for (;;) {}"), |_| Ok(()));
    assert_eq!(endless.unwrap_err().kind, ErrorKind::Deadline);
    assert!(engine.is_stopped());
}

#[test]
fn each_script_has_the_whole_heap() {
    let limits = Limits { time: Duration::from_secs(60), memory_bytes: 4 * 1024 * 1024, ..Limits::default() };
    let adapter = Source::new("adapter.js", ADAPTER);
    let mut engine = SequentialEngine::new(limits, Grants::default(), adapter).unwrap();
    // Cycles, which reference counting alone never frees, and one block of its own.
    let fills = "
        const all = [];
        for (let i = 0; i < 4000; i++) { const one = { i }; one.self = one; all.push(one); }
        const long = 'x'.repeat(1000000);
        export default () => all.length + long.length;
    ";
    let too_much = "const all = []; for (;;) all.push(new Array(100).fill(all.length)); export default 1;";
    for _ in 0..10 {
        assert_eq!(call(&mut engine, fills, json!(0)).unwrap(), json!(1_004_000));
        assert_eq!(call(&mut engine, too_much, json!(0)).unwrap_err().kind, ErrorKind::Memory);
    }
}
