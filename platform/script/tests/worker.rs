//! The supervised child: what stops it, what kills it, and that the next request works.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::cell::RefCell;
use std::process::Command;
use std::time::{Duration, Instant};

use dispatch_script::{
    Action, Callee, ErrorKind, HostFunctions, Lifetime, LogLevel, ModuleSource, Port, Request, ScriptError, SentImport,
    Source, Supervisor, SupervisorLimits, WorkerCommand,
};
use serde_json::{Value, json};

fn command() -> WorkerCommand {
    WorkerCommand::new(env!("CARGO_BIN_EXE_dispatch-script-worker"), [] as [&str; 0])
}

fn supervisor() -> Supervisor {
    Supervisor::new(command(), SupervisorLimits { start: Duration::from_secs(60), ..SupervisorLimits::default() })
}

fn request(text: &str, arguments: Vec<Value>) -> Request {
    let mut request = Request::new(Source::new("main.ts", text), Action::Call(Callee::export("default"), arguments));
    request.limits.time = Duration::from_secs(20);
    request
}

fn run(supervisor: &Supervisor, text: &str) -> Result<Value, ScriptError> {
    supervisor.run(&request(text, vec![]), &Port::default())
}

fn works(supervisor: &Supervisor) {
    assert_eq!(run(supervisor, "export default () => 'fine';").unwrap(), json!("fine"));
}

#[test]
fn a_worker_answers_as_the_engine_does() {
    let supervisor = supervisor();
    assert_eq!(supervisor.worker_id(), None);
    supervisor.prepare().unwrap();
    let prepared = supervisor.worker_id();
    assert!(prepared.is_some() && supervisor.prepare().is_ok());
    let text =
        "enum E { A = 2 }\nexport default async (n: number) => ({ n: n + E.A, now: Date.now(), r: Math.random() });";
    let mut asked = request(text, vec![json!(1)]);
    asked.now_ms = 99.0;
    let first = supervisor.run(&asked, &Port::default()).unwrap();
    assert_eq!((&first["n"], &first["now"]), (&json!(3), &json!(99)));
    assert_eq!(supervisor.run(&asked, &Port::default()).unwrap(), first);
    let id = supervisor.worker_id();
    assert_eq!(id, prepared, "the worker that was ready is used");
    asked.action = Action::Exports;
    assert_eq!(supervisor.run(&asked, &Port::default()).unwrap(), json!({}));
    let error =
        run(&supervisor, "interface Gone {}\nexport default () => { throw new TypeError('no'); };").unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Thrown, "TypeError: no"));
    assert_eq!(error.location().unwrap().line, 2);
    assert_eq!(supervisor.worker_id(), id, "a failing script does not cost the worker");
}

#[test]
fn calls_that_cannot_be_interrupted_are_killed_and_the_next_request_works() {
    let supervisor = supervisor();
    for expression in [
        r#""a".repeat(8e6).indexOf("a".repeat(4e6) + "b")"#,
        r#"new Array(2 ** 28).join("")"#,
        "(7n ** 300000n).toString().length",
    ] {
        let mut asked = request(&format!("export default () => {expression};"), vec![]);
        asked.limits.time = Duration::from_millis(100);
        asked.limits.memory_bytes = 8 << 30;
        let started = Instant::now();
        let error = supervisor.run(&asked, &Port::default()).unwrap_err();
        let took = started.elapsed();
        assert_eq!(error.kind, ErrorKind::Deadline, "{expression}: {error}");
        assert!(error.message.contains("killed"), "{expression}: {error}");
        assert!(took < Duration::from_secs(3), "{expression} took {took:?}");
        works(&supervisor);
    }
}

#[test]
fn an_endless_loop_stops_without_a_kill() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id();
    let mut asked = request("export default () => { for (;;); };", vec![]);
    asked.limits.time = Duration::from_millis(50);
    asked.lifetime = Lifetime::Kept;
    let patient = Supervisor::new(
        command(),
        SupervisorLimits { kill_grace: Duration::from_secs(20), start: Duration::from_secs(60) },
    );
    for _ in 0..2 {
        let error = patient.run(&asked, &Port::default()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Deadline);
        assert!(!error.message.contains("killed"), "{error}");
    }
    works(&patient);
    assert_eq!(supervisor.worker_id(), id);
}

#[test]
fn a_worker_killed_midway_costs_one_request() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id().unwrap();
    let host = HostFunctions::new().with("die", move |_: &[Value]| {
        let killed = Command::new("kill").args(["-9", &id.to_string()]).status();
        Ok(json!(killed.is_ok_and(|status| status.success())))
    });
    let port = Port { host: Some(&host), ..Port::default() };
    let error = supervisor.run(&request("export default () => host.die();", vec![]), &port).unwrap_err();
    assert_eq!(error.kind, ErrorKind::WorkerCrashed, "{error}");
    works(&supervisor);
    assert_ne!(supervisor.worker_id(), Some(id));
}

#[test]
fn a_worker_that_died_while_idle_costs_nothing() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id().unwrap();
    assert!(Command::new("kill").args(["-9", &id.to_string()]).status().unwrap().success());
    while std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z")) {
        std::thread::yield_now();
    }
    works(&supervisor);
}

#[test]
fn memory_is_bounded_in_the_worker() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id();
    let error = run(
        &supervisor,
        "export default () => { const a: unknown[] = []; for (;;) a.push(new Uint8Array(1 << 20)); };",
    )
    .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Memory, "{error}");
    works(&supervisor);
    assert_eq!(supervisor.worker_id(), id);
}

#[test]
fn host_calls_logs_and_imports_reach_the_parent() {
    struct SingleModule;
    impl ModuleSource for SingleModule {
        fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
            match specifier {
                "./lib.ts" => Ok(Source::new("lib.ts", format!("export const from: string = {referrer:?};"))),
                _ => Err("no such file".to_owned()),
            }
        }
    }
    let host = HostFunctions::new()
        .with("twice", |arguments: &[Value]| Ok(json!([arguments, arguments])))
        .with("fail", |_: &[Value]| Err("refused".to_owned()));
    let lines = RefCell::new(Vec::new());
    let log = |level: LogLevel, text: &str| lines.borrow_mut().push((level, text.to_owned()));
    let port = Port { host: Some(&host), log: Some(&log), sources: Some(&SingleModule), ..Port::default() };
    let text = r#"
        import { from } from "./lib.ts";
        export default () => {
            console.warn("hello", { a: 1 });
            let message = "";
            try { host.fail(); } catch (error) { message = error.message; }
            return [from, host.twice(1, { deep: [2] }), message];
        };
    "#;
    let supervisor = supervisor();
    assert_eq!(
        supervisor.run(&request(text, vec![]), &port).unwrap(),
        json!(["main.ts", [[1, { "deep": [2] }], [1, { "deep": [2] }]], "refused"])
    );
    assert_eq!(*lines.borrow(), [(LogLevel::Warn, "hello {\"a\":1}".to_owned())]);
    let error = supervisor.run(&request("import './none.ts';", vec![]), &port).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Import);
    assert!(error.message.contains("no such file"), "{error}");
}

#[test]
fn what_comes_with_a_request_is_not_asked_for() {
    struct Told(RefCell<Vec<String>>);
    impl ModuleSource for Told {
        fn load(&self, specifier: &str, _referrer: &str) -> Result<Source, String> {
            self.0.borrow_mut().push(specifier.to_owned());
            Ok(Source::new("asked.ts", "export const asked = 2;"))
        }
    }
    let (supervisor, told) = (supervisor(), Told(RefCell::default()));
    let text =
        "import { sent } from './sent.ts'; import { asked } from './asked.ts'; export default () => sent + asked;";
    let mut asked = request(text, vec![]);
    for (lifetime, sent) in [(Lifetime::Fresh, 10), (Lifetime::Fresh, 20), (Lifetime::Kept, 30)] {
        asked.lifetime = lifetime;
        asked.imports = vec![SentImport {
            specifier: "./sent.ts".to_owned(),
            referrer: "main.ts".to_owned(),
            source: Source::new("sent.ts", format!("export const sent: number = {sent};")),
        }];
        let answer = supervisor.run(&asked, &Port { sources: Some(&told), ..Port::default() });
        assert_eq!(answer.unwrap(), json!(sent + 2));
    }
    assert_eq!(*told.0.borrow(), ["./asked.ts"; 3]);
}

#[test]
fn kept_modules_keep_their_state_and_fresh_ones_do_not() {
    let supervisor = supervisor();
    let mut asked = request("let n = 0; export default () => ++n;", vec![]);
    let mut next = |lifetime| {
        asked.lifetime = lifetime;
        supervisor.run(&asked, &Port::default()).unwrap()
    };
    let counts: Vec<Value> =
        [Lifetime::Fresh, Lifetime::Fresh, Lifetime::Kept, Lifetime::Kept, Lifetime::Fresh, Lifetime::Kept]
            .into_iter()
            .map(&mut next)
            .collect();
    assert_eq!(counts, [1, 1, 1, 2, 1, 3]);
}

#[test]
fn a_kept_module_stays_when_the_next_request_has_another_budget() {
    let supervisor = supervisor();
    let mut asked = request("let n = 0; export default (loops) => { while (loops); return ++n; };", vec![json!(false)]);
    asked.lifetime = Lifetime::Kept;
    assert_eq!(supervisor.run(&asked, &Port::default()).unwrap(), json!(1));
    asked.limits.time = Duration::from_secs(40);
    assert_eq!(supervisor.run(&asked, &Port::default()).unwrap(), json!(2));
    asked.limits.time = Duration::from_millis(200);
    asked.action = Action::Call(Callee::export("default"), vec![json!(true)]);
    let error = supervisor.run(&asked, &Port::default()).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Deadline, "stopped after its budget of 200 ms"));
}

#[test]
fn a_caller_that_changes_its_mind_does_not_wait_for_the_deadline() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id();
    let asked = request("export default () => { for (;;); };", vec![]);
    let cancelled = || true;
    let port = Port { cancelled: Some(&cancelled), ..Port::default() };
    let started = Instant::now();
    let error = supervisor.run(&asked, &port).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
    assert!(started.elapsed() < asked.limits.time, "it waited for the deadline");
    works(&supervisor);
    assert_ne!(supervisor.worker_id(), id, "the busy worker was killed");
}

#[test]
fn the_environment_is_empty() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id().unwrap();
    if cfg!(target_os = "linux") {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap();
        assert_eq!(environment, b"TZ=UTC\0");
    }
}

#[test]
fn a_program_that_is_no_worker_is_unavailable_and_backs_off() {
    let broken = [
        WorkerCommand::new("/nonexistent/worker", [] as [&str; 0]),
        WorkerCommand::new("true", [] as [&str; 0]),
        WorkerCommand::new("echo", ["not a frame"]),
    ];
    for command in broken {
        let supervisor = Supervisor::new(command, SupervisorLimits::default());
        let mut messages = Vec::new();
        for _ in 0..5 {
            let error = run(&supervisor, "").unwrap_err();
            assert_eq!(error.kind, ErrorKind::WorkerUnavailable, "{error}");
            messages.push(error.message);
        }
        assert!(messages[4].contains("too often"), "{messages:?}");
    }
}

#[test]
fn a_request_over_a_limit_is_refused_before_it_is_sent() {
    let supervisor = supervisor();
    works(&supervisor);
    let id = supervisor.worker_id();
    let asked = request("export default 1;", vec![json!("x".repeat(9 << 20))]);
    let error = supervisor.run(&asked, &Port::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    works(&supervisor);
    assert_eq!(supervisor.worker_id(), id);
}

#[test]
fn requests_from_many_threads_take_turns() {
    let supervisor = supervisor();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let supervisor = &supervisor;
            scope.spawn(move || {
                for _ in 0..5 {
                    let asked = request("export default (n: number) => n * 2;", vec![json!(n)]);
                    assert_eq!(supervisor.run(&asked, &Port::default()).unwrap(), json!(n * 2));
                }
            });
        }
    });
}
