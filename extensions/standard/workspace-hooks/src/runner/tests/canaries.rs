//! Secrets in every place that an attempt touches are in nothing that leaves it.

use super::runner_host::{CANARY, RunnerHost, everything, run};
use crate::contract::{Action, AgentTemplate, Runner};
use crate::run_executor::RunResult;

const VARIABLE: &str = "WORKSPACE_HOOKS_CANARY_TOKEN";
/// No built-in form knows it; it is a secret because of where it stands.
const VALUE: &str = "plainly secret words of a test";

fn leaves(host: &RunnerHost, secrets: &[&str]) -> RunResult {
    let result = run(host.execute());
    let mut left = format!("{result:?}");
    if host.state().exists() {
        left.push_str(&everything(&host.state()));
    }
    let inbox = host.workspace().join(".akira");
    if inbox.exists() {
        left.push_str(&everything(&inbox));
    }
    for secret in secrets {
        assert!(!left.contains(secret), "{left}");
        let tail = &secret[secret.len() - 12..];
        assert!(!left.contains(tail), "the end of it: {left}");
    }
    result
}

#[test]
fn in_output_errors_and_file_names() {
    let mut host = RunnerHost::script(&format!(
        "echo out {CANARY}; printf 'cut {}'; sleep 0.05; echo '{} end'; echo err {CANARY} >&2; exit 4",
        &CANARY[..20],
        &CANARY[20..]
    ));
    host.hook.tell_agent = true;
    host.about(&format!("src/{CANARY}.rs"));
    let result = leaves(&host, &[CANARY]);
    assert!(result.output.contains("[REDACTED]") && format!("{:?}", result.end).contains("[REDACTED]"));
    assert!(host.workspace().join(".akira/inbox/run-1.json").exists());
}

#[test]
fn in_names_of_programs_and_folders() {
    leaves(&RunnerHost::command(&[&format!("./{CANARY}")]), &[CANARY]);
}

#[test]
fn in_patterns_of_the_hook() {
    let mut host = RunnerHost::script("echo ticket ACME-1234567890abcdef; echo ACME-1234567890abcdef >&2; exit 1");
    host.hook.secret_patterns = vec!["ACME-[0-9a-f]+".to_owned()];
    host.hook.tell_agent = true;
    leaves(&host, &["ACME-1234567890abcdef"]);
    host.hook.secret_patterns = vec!["(".to_owned()];
    let result = run(host.execute());
    assert!(result.output.is_empty(), "nothing runs that could not be covered");
}

#[test]
fn in_prompts_and_answers_of_agents() {
    let mut host = RunnerHost::new();
    host.hook.action = Action::Prompt(format!("use {CANARY} on {{file}} {{event}}"));
    host.hook.runner = Runner::External(AgentTemplate { name: "custom".to_owned(), command: vec!["cat".to_owned()] });
    host.hook.tell_agent = true;
    host.about(&format!("{CANARY}.md"));
    leaves(&host, &[CANARY]);
}

/// A variable can only be set for another process, so the test runs itself once more.
#[test]
fn in_variables_that_are_handed_on() {
    if dispatch_os::environment::is_set(VARIABLE) {
        return canary_in_the_environment();
    }
    let name = "runner::tests::canaries::in_variables_that_are_handed_on";
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--test-threads=1"])
        .env(VARIABLE, VALUE)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

fn canary_in_the_environment() {
    let mut host =
        RunnerHost::script(&format!("echo \"${VARIABLE}\"; echo \"$CARGO_PKG_VERSION ${VARIABLE}\" >&2; exit 5"));
    host.hook.tell_agent = true;
    assert_eq!(run(host.execute()).output.trim(), "", "nothing is handed on unasked");
    host.hook.pass_env = vec![VARIABLE.to_owned(), "CARGO_PKG_VERSION".to_owned()];
    let result = leaves(&host, &[VALUE]);
    assert!(result.output.contains("0.1.0"), "what is no secret stays: {}", result.output);
    host.hook.action = Action::Prompt("{trigger}".to_owned());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/{VALUE}", closed.local_addr().unwrap());
    drop(closed);
    let headers = [("x".to_owned(), format!("Bearer ${{{VARIABLE}}}"))].into();
    host.hook.runner = Runner::Http { url, headers };
    leaves(&host, &[VALUE]);
}
