//! Endless scripts end at their deadline, whatever they are busy with.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use dispatch_script::{Alarm, Callee, Engine, ErrorKind, Grants, Limits, ScriptError, Source};

/// Time is the subject here, so the tests of this file take turns.
static TURN: Mutex<()> = Mutex::new(());

const BUDGET: Duration = Duration::from_millis(40);
/// An idle machine needs one attempt; a busy one gets more before it fails the test.
const ATTEMPTS: usize = 25;
const OVERSHOOT: Duration = Duration::from_millis(5);

fn limits() -> Limits {
    Limits { time: BUDGET, memory_bytes: 256 << 20, ..Limits::default() }
}

/// Runs an endless script; gives the time it took past the start of the entry that is endless.
fn endless(text: &str) -> Duration {
    let engine = Engine::new(limits(), Grants::default()).unwrap();
    let source = Source::new("endless.js", text);
    let mut started = Instant::now();
    let result = engine.load(&source).and_then(|script| {
        started = Instant::now();
        script.call(&Callee::export("default"), &[])
    });
    let took = started.elapsed();
    let error = result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Deadline, "{text}: {error}");
    let again = engine.load(&Source::new("again.js", "")).err().unwrap();
    assert_eq!(again.kind, ErrorKind::Engine, "a stopped engine is not used again");
    took
}

fn check(text: &str) {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut best = Duration::MAX;
    for _ in 0..ATTEMPTS {
        let took = endless(text);
        assert!(took >= BUDGET, "stopped early, after {took:?}");
        best = best.min(took - BUDGET);
        if best < OVERSHOOT {
            return;
        }
    }
    panic!("{text}: at best {best:?} past the deadline");
}

#[test]
fn a_loop_at_top_level() {
    check("while (true) {}");
}

#[test]
fn a_loop_in_a_handler() {
    check("export default () => { for (;;); };");
}

#[test]
fn a_loop_after_await() {
    check("export default async () => { await null; for (;;); };");
    check("await null; for (;;);");
}

#[test]
fn a_loop_that_catches_and_finally_loops_again() {
    check("export default () => { for (;;) { try { for (;;); } catch { for (;;); } finally { for (;;); } } };");
    check("export default async () => { try { await null; for (;;); } catch { return 'caught'; } };");
}

#[test]
fn endless_microtasks() {
    check("export default () => new Promise(() => { const go = () => { Promise.resolve().then(go); }; go(); });");
    check("export default async () => { for (;;) await null; };");
    check("export default () => { const go = () => queueMicrotask(go); go(); return 'an answer'; };");
}

#[test]
fn a_catastrophic_regular_expression() {
    check("export default () => /^(a+)+$/.test('a'.repeat(40) + 'b');");
}

#[test]
fn loops_inside_native_code() {
    check("export default () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);");
    check("export default () => [1, 2].sort(() => { for (;;); });");
    check("export default () => ({ toJSON() { for (;;); } });");
    check("export default () => ({ get then() { for (;;); } });");
    check("export default () => { throw { toString() { for (;;); }, toJSON() { for (;;); } }; };");
    check(
        "export default () => { const e = new Error(); Object.defineProperty(e, 'stack', { get() { for (;;); } }); throw e; };",
    );
    check("export default () => { console.log({ toJSON() { for (;;); } }); for (;;); };");
}

#[test]
fn one_deadline_can_bound_many_calls() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let engine = Engine::new(Limits { time: Duration::from_secs(60), ..Limits::default() }, Grants::default()).unwrap();
    let script =
        engine.load(&Source::new("a.js", "export default () => 1; export const spin = () => { for (;;); };")).unwrap();
    engine.set_deadline(Some(Instant::now() + BUDGET));
    let error = script.call(&Callee::export("spin"), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Deadline);
}

#[test]
fn a_deadline_names_the_loop() {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let engine = Engine::new(limits(), Grants::default()).unwrap();
    let text = "interface Gone {}\nexport default (): void => {\n    while (true) { Math.abs(1); }\n};\n";
    let script = engine.load(&Source::new("loop.ts", text)).unwrap();
    let error: ScriptError = script.call(&Callee::export("default"), &[]).unwrap_err();
    let at = error.location().unwrap();
    assert_eq!((at.file.as_str(), at.line), ("loop.ts", 3));
}

#[test]
fn the_alarm_is_armed_around_every_entry() {
    #[derive(Default, Clone)]
    struct RecordingAlarm(Rc<RefCell<Vec<Option<Duration>>>>);
    impl Alarm for RecordingAlarm {
        fn arm(&self, until_deadline: Duration) {
            self.0.borrow_mut().push(Some(until_deadline));
        }
        fn disarm(&self) {
            self.0.borrow_mut().push(None);
        }
    }
    let alarm = RecordingAlarm::default();
    let grants = Grants { alarm: Some(Box::new(alarm.clone())), ..Grants::default() };
    let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
    let time = limits.time;
    let engine = Engine::new(limits, grants).unwrap();
    assert!(alarm.0.borrow().is_empty());
    let script = engine.load(&Source::new("a.js", "export default () => { throw 1; };")).unwrap();
    let _ = script.call(&Callee::export("default"), &[]);
    let calls = alarm.0.borrow();
    let [Some(first), None, Some(second), None] = calls[..] else {
        panic!("{calls:?}");
    };
    assert!(first <= time && second <= time);
}
