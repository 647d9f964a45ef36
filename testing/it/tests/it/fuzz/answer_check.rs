//! Runs one event in this process and says whether its answer is one that the host can read.

use dispatch_hook_dialects::dialect::{self, Dialect};
use dispatch_hook_dialects::{Hints, Reply};
use dispatch_hook_module::{Effects, EventName, SystemClock};
use dispatch_support::TestContext;
use ext_hook_pipeline::contract::{Invocation, Unwatched, native_modules, run};
use serde_json::Value;

/// The event as the pipeline gets it.
pub(super) struct FiredEvent<'a> {
    pub(super) host: &'a str,
    pub(super) event: &'a str,
    pub(super) stdin: &'a [u8],
}

/// Runs the event in the project; panics if the answer is not valid.
pub(super) fn check_answer(context: &TestContext, fired: &FiredEvent<'_>) {
    let project = context.project();
    let hints = Hints::default().with_process_cwd(project.to_string_lossy());
    let outcome = run(&Invocation {
        host: Some(fired.host),
        event: Some(fired.event),
        stdin: fired.stdin,
        hints: &hints,
        home: Some("/home/dev"),
        user: None,
        trust: ext_hook_pipeline::contract::RuleTrust::Everything,
        root: Some(&project),
        manifest: None,
        config: None,
        modules: &native_modules(),
        scripts: None,
        clock: &SystemClock::start(),
        watch: &Unwatched,
        effects: Effects::Commit,
    });
    let failed = outcome.problems.iter().find(|problem| problem.contains("the pipeline failed"));
    assert_eq!(failed, None, "{}", shown(fired));
    let (dialect, name) = match dialect::parse(fired.stdin, Some(fired.host), Some(fired.event), &hints) {
        Ok(parsed) => (parsed.dialect, parsed.event.name),
        Err(failure) => (failure.dialect, failure.name),
    };
    if let Err(problem) = check(dialect, &name, &outcome.reply) {
        panic!("{problem}: {:?} to {}", outcome.reply, shown(fired));
    }
}

/// Whether a host of this dialect can read the answer.
pub(super) fn check(dialect: &Dialect, name: &EventName, reply: &Reply) -> Result<(), &'static str> {
    let blocked = reply.exit_code == 2;
    if reply.exit_code != 0 && !blocked {
        return Err("an exit code that means nothing");
    }
    if blocked == reply.stderr.is_empty() {
        return Err("standard error is for refusals by exit code, and they need a reason there");
    }
    if std::str::from_utf8(&reply.stdout).is_err() {
        return Err("not UTF-8");
    }
    let go_on = dialect.go_on_bytes(name);
    if reply.stdout == go_on || (blocked && reply.stdout.is_empty()) {
        return Ok(());
    }
    let is_object = serde_json::from_slice::<Value>(&reply.stdout).is_ok_and(|value| value.is_object());
    match go_on.is_empty() {
        false if !is_object => Err("not one JSON object"),
        false if reply.stdout.iter().filter(|byte| **byte == b'\n').count() != 1 => Err("not one line"),
        _ => Ok(()),
    }
}

fn shown(fired: &FiredEvent<'_>) -> String {
    let stdin: String = String::from_utf8_lossy(fired.stdin).chars().take(2_000).collect();
    format!("{} {} {stdin}", fired.host, fired.event)
}
