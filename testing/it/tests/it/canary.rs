//! The canary dies when a host no longer asks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dispatch_support::{Output, TestContext};
use serde_json::Value;

fn registered(hosts: &[&str]) -> TestContext {
    let context = TestContext::new();
    let mut arguments = vec!["init"];
    for host in hosts {
        arguments.extend(["--host", host]);
    }
    if hosts.is_empty() {
        arguments.push("--all");
    }
    let output = context.dispatch(&arguments);
    assert_eq!(output.status, 0, "{output:?}");
    context
}

fn health(output: &Output) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let hosts = output.json()["hosts"].as_array().unwrap().clone();
    hosts.iter().map(|one| (text(&one["host"]), text(&one["health"]), text(&one["detail"]))).collect()
}

fn replace(context: &TestContext, path: &str, old: &str, new: &str) {
    let file = context.project().join(path);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(old), "{old} in {text}");
    std::fs::write(file, text.replace(old, new)).unwrap();
}

#[test]
fn every_host_refuses_the_probe_right_after_init() {
    let context = registered(&[]);
    let output = context.dispatch(&["canary", "--json"]);
    assert_eq!(output.status, 0, "{output:?}");
    let found = health(&output);
    assert_eq!(found.len(), 15);
    for (host, health, detail) in found {
        assert_eq!(health, "OK", "{host}: {detail}");
        assert!(detail.contains("UB01"), "{host}: {detail}");
    }
    let shown = context.dispatch(&["canary"]);
    assert!(shown.stdout.contains("OK  Claude Code"), "{shown:?}");
    assert!(shown.stdout.starts_with("asked about `rm -rf /dispatch-canary-does-not-exist`"), "{shown:?}");
}

#[test]
fn a_tampered_registration_is_a_drift() {
    let context = registered(&["cursor", "claude-code", "codex", "kiro"]);
    let program = context.dispatch(&["init", "--json"]).json()["program"][0].as_str().unwrap().to_owned();
    let line = |event: &str, host: &str| format!("{program} {event} --host {host}");
    replace(&context, ".cursor/hooks.json", &line("preToolUse", "cursor"), "true");
    let claude = line("PreToolUse", "claude-code");
    replace(&context, ".claude/settings.json", &claude, &format!("echo '{{}}' # {claude}"));
    replace(&context, ".codex/hooks.json", &line("Stop", "codex"), "true");
    let output = context.dispatch(&["canary", "--json"]);
    assert_eq!(output.status, 1, "{output:?}");
    let found = health(&output);
    let check = |host: &str, expected: &str, why: &str| {
        let (_, health, detail) = found.iter().find(|one| one.0 == host).unwrap();
        assert_eq!(health, expected, "{host}: {detail}");
        assert!(detail.contains(why), "{host}: {detail}");
    };
    check("cursor", "DRIFT", "preToolUse is not registered");
    check("claude-code", "DRIFT", "it was not refused: {}");
    check("codex", "DRIFT", "Stop: not registered");
    check("kiro", "OK", "UB01");
    assert_eq!(context.dispatch(&["canary", "--host", "kiro"]).status, 0);
}

#[test]
fn a_program_that_is_gone_or_babbles_is_an_error() {
    let context = registered(&["cursor", "gemini-cli", "cline"]);
    let program = context.dispatch(&["init", "--json"]).json()["program"][0].as_str().unwrap().to_owned();
    replace(&context, ".cursor/hooks.json", &program, "/nowhere/dispatch-hook");
    let line = format!("{program} BeforeTool --host gemini-cli");
    replace(&context, ".gemini/settings.json", &line, &format!("echo babble; : {line}"));
    std::fs::remove_file(context.project().join(".clinerules/hooks/PreToolUse")).unwrap();
    let found = health(&context.dispatch(&["canary", "--json"]));
    let of = |host: &str| found.iter().find(|one| one.0 == host).map(|one| (one.1.as_str(), one.2.as_str())).unwrap();
    assert_eq!(of("cursor").0, "ERROR");
    assert!(of("cursor").1.contains("`/nowhere/dispatch-hook` is not on PATH"), "{found:?}");
    assert_eq!(of("gemini-cli"), ("ERROR", "the answer is not JSON: babble"));
    assert_eq!(of("cline").0, "DRIFT");
}

#[test]
fn a_program_that_is_not_on_path_is_told_at_once_and_a_link_will_do() {
    let context = registered(&["claude-code"]);
    let tools = context.home().join("tools");
    std::fs::create_dir_all(&tools).unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let run = |words: &[&str]| context.run("dispatch", words, b"", &[("PATH", path.as_str())]);
    let told = "`dispatch-hook` is not on PATH";
    let again = run(&["init", "--host", "claude-code"]);
    assert!(again.status == 0 && again.stderr.contains(told), "{again:?}");
    let checked = run(&["init", "--check"]);
    assert!(checked.status == 1 && checked.stderr.contains(told), "{checked:?}");
    let doctor = run(&["doctor"]);
    assert!(doctor.status == 1 && doctor.stdout.contains(told), "{doctor:?}");
    let program = context.command("dispatch").get_program().to_owned();
    std::os::unix::fs::symlink(program, tools.join("dispatch-hook")).unwrap();
    for words in [&["init", "--check"][..], &["doctor"], &["canary"]] {
        let output = run(words);
        assert!(output.status == 0 && !output.stderr.contains(told), "{output:?}");
    }
    let asked = context.run_shell(&format!("PATH={path} dispatch-hook --version"));
    assert!(asked.stdout.starts_with("dispatch-hook "), "{asked:?}");
}

#[test]
fn a_guard_that_is_off_is_inconclusive() {
    let context = registered(&["codex"]);
    context.write(".ai/hooks/dispatch.manifest.json", r#"{"version": 1, "modules": [{"name": "session"}]}"#);
    let output = context.dispatch(&["canary", "--json"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert_eq!(health(&output)[0].1, "INCONCLUSIVE");
    assert!(health(&output)[0].2.contains("graph-pretooluse"), "{output:?}");
}

#[test]
fn nothing_registered_is_said() {
    let context = TestContext::new();
    let output = context.dispatch(&["canary"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stderr.contains("hint: `dispatch init` registers"), "{output:?}");
    let named = context.dispatch(&["canary", "--host", "codex", "--json"]);
    assert_eq!(named.status, 1);
    assert_eq!(health(&named)[0].1, "DRIFT");
}

#[test]
fn probes_leave_a_trace_of_their_own() {
    let context = registered(&["claude-code", "kiro"]);
    assert_eq!(context.dispatch(&["canary"]).status, 0);
    let sessions: Vec<_> = std::fs::read_dir(context.project().join(".ai/tmp"))
        .unwrap()
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_dir())
        .collect();
    assert_eq!(sessions.len(), 1, "one session, whatever the host");
    let log = std::fs::read_to_string(sessions[0].path().join("events.jsonl")).unwrap();
    let denied = log.lines().filter(|line| line.contains("\"HOOK_RUN\"") && line.contains("\"decision\":\"deny\""));
    assert_eq!(denied.count(), 2, "{log}");
}
