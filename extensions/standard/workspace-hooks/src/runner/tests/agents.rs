//! Other agents' programs: real processes that stand in for them and say what they were given.

use super::runner_host::{CANARY, RunnerHost, failure, run};
use crate::contract::{Action, AgentTemplate, Runner, Usage};
use crate::run_executor::{RetryAdvice, RunEnd, RunResult};
use crate::runner::external::call;
use crate::runner::known_agent;

fn external(prompt: &str, command: &[&str]) -> RunnerHost {
    let mut host = RunnerHost::new();
    host.hook.action = Action::Prompt(prompt.to_owned());
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    host.hook.runner = Runner::External(AgentTemplate { name: "custom".to_owned(), command });
    host
}

#[test]
fn a_custom_agent_gets_the_prompt_as_one_argument() {
    let mut host = external("fix {file}; \"now\" $(touch owned)\n{{file}}", &[]);
    let program = host.program("agent", "printf '%s|' \"$#\" \"$@\"; cat");
    let command = vec![program.to_str().unwrap().to_owned(), "-x".to_owned(), "{prompt}".to_owned()];
    host.hook.runner = Runner::External(AgentTemplate { name: "custom".to_owned(), command });
    host.about("src/a.rs");
    let result = run(host.execute());
    assert_eq!(result.output, "2|-x|fix src/a.rs; \"now\" $(touch owned)\n{file}|");
    assert_eq!((result.end, result.usage), (RunEnd::Success, Usage::default()));
}

#[test]
fn a_prompt_without_places_gets_a_heading() {
    let mut host = external("look again", &[]);
    let program = host.program("agent", "cat");
    host.hook.runner = Runner::External(AgentTemplate {
        name: "custom".to_owned(),
        command: vec![program.to_str().unwrap().to_owned()],
    });
    host.about("a.rs");
    host.about("b\nc.rs");
    let output = run(host.execute()).output;
    assert_eq!(output, "Trigger: onDidSaveTextDocument\nFiles:\n- a.rs\n- b\\nc.rs\n\nlook again");
}

/// Calls a stand-in for a known agent's program.
fn stand_in(name: &str, script: &str) -> RunResult {
    let host = external("{trigger}: say hello", &[]);
    let program = host.program(name, script);
    let known = known_agent(name).unwrap();
    let words = [program.to_str().unwrap()].into_iter().chain(known.command.iter().skip(1).copied());
    let job = host.job();
    run(host.attempt(&job, |attempt| {
        Box::pin(call(attempt, words.map(str::to_owned).collect(), Some(known), "{trigger}: say hello"))
    }))
}

#[test]
fn a_known_agent_is_called_by_its_template_and_its_answer_is_read() {
    let said = r#"{\"type\":\"result\",\"is_error\":false,\"result\":\"got <$(cat)> by $*\",\"total_cost_usd\":0.25,\"usage\":{\"input_tokens\":5,\"output_tokens\":2}}"#;
    let result = stand_in("claude", &format!("echo thinking >&2; echo \"{said}\""));
    assert_eq!(result.end, RunEnd::Success);
    assert_eq!(result.output, "got <onDidSaveTextDocument: say hello> by -p --output-format json");
    assert_eq!(result.usage, Usage { tokens: 7, micro_usd: 250_000 });
    let result = stand_in("goose", "echo \"$* <$(cat)>\"");
    assert_eq!(result.output, "run --no-session -i - <onDidSaveTextDocument: say hello>\n");
}

#[test]
fn an_agent_that_says_it_failed_has_failed() {
    let result = stand_in("claude", r#"echo '{"is_error":true,"result":"no credit left"}'"#);
    assert_eq!(failure(&result), ("no credit left", RetryAdvice::Worthwhile));
    let result =
        stand_in("codex", r#"echo '{"type":"turn.failed","error":{"message":"limit"}}'; echo log >&2; exit 1"#);
    assert_eq!(failure(&result), ("limit", RetryAdvice::Worthwhile));
    assert!(result.output.contains("log"), "{}", result.output);
    let result = stand_in("gemini", "echo 'not what was agreed'");
    assert_eq!((result.end, result.output.as_str()), (RunEnd::Success, "not what was agreed\n"));
}

#[test]
fn a_secret_in_an_answer_stays_inside() {
    let result = stand_in("claude", &format!(r#"echo '{{"result":"the key is {CANARY}"}}'"#));
    assert_eq!(result.output, "the key is [REDACTED]");
}

#[test]
fn an_agent_that_is_not_installed_is_said_once() {
    let mut host = external("x", &["dispatch-no-such-agent", "{prompt}"]);
    let result = run(host.execute());
    let (reason, again) = failure(&result);
    assert!(reason.contains("dispatch-no-such-agent") && reason.contains("install"), "{reason}");
    assert_eq!(again, RetryAdvice::Useless);
    host.hook.runner = Runner::External(AgentTemplate { name: "custom".to_owned(), command: Vec::new() });
    assert_eq!(failure(&run(host.execute())).1, RetryAdvice::Useless);
}

#[test]
fn a_prompt_that_no_argument_can_hold_is_refused_with_a_hint() {
    let mut host = external(&format!("{{trigger}}{}", "long ".repeat(60_000)), &["echo", "{prompt}"]);
    let result = run(host.execute());
    let (reason, again) = failure(&result);
    assert!(reason.contains("too long") && reason.contains("stdin"), "{reason}");
    assert_eq!(again, RetryAdvice::Useless);
    host.hook.runner = Runner::External(AgentTemplate { name: "custom".to_owned(), command: vec!["cat".to_owned()] });
    assert_eq!(run(host.execute()).end, RunEnd::Success, "the input has no such limit");
}

#[test]
fn an_agent_is_told_no_secret_of_the_prompt() {
    let host = external(&format!("{{trigger}} use {CANARY}"), &["cat"]);
    assert_eq!(run(host.execute()).output, "onDidSaveTextDocument use [REDACTED]");
}
