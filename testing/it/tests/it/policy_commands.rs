//! Commands that change policy need a person, and policy files that are broken are found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dispatch_support::{Output, TestContext};

/// A project with rules, in which nothing says that scripts may change policy.
fn strict() -> TestContext {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["init", "--host", "claude-code"]).status, 0);
    context
}

fn run(context: &TestContext, arguments: &[&str]) -> Output {
    // Not by `TestContext::dispatch`, which lets scripts change policy.
    let line = arguments.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
    context.run_shell(&format!("dispatch {line}"))
}

#[test]
fn policy_is_not_changed_without_a_terminal_and_the_try_is_on_record() {
    let context = strict();
    for command in [&["trust", "--all"][..], &["allow-once", "UB01"], &["init", "--undo"], &["ext", "enable", "x"]] {
        let output = run(&context, command);
        assert_eq!(output.status, 2, "{command:?}: {output:?}");
        assert!(output.stderr.contains("hint: "), "{output:?}");
    }
    let log = std::fs::read_to_string(context.home().join("policy-changes.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(log.contains("\"refused: no terminal\"") || log.contains("refused: run by an agent"), "{log}");
    context.allow_policy_changes();
    assert_eq!(run(&context, &["allow-once", "UB01"]).status, 0);
    let log = std::fs::read_to_string(context.home().join("policy-changes.jsonl")).unwrap();
    assert!(log.lines().last().unwrap().contains("confirmed by setting"), "{log}");
}

#[test]
fn neither_a_project_nor_a_flag_switches_the_question_off() {
    let context = strict();
    context.write(".dispatch/dispatch.toml", "[policy]\nconfirm = \"none\"\n");
    assert_eq!(run(&context, &["allow-once", "UB01"]).status, 2);
    assert_eq!(run(&context, &["--set", "policy.confirm=none", "allow-once", "UB01"]).status, 2);
    let output = context.run_shell("DISPATCH_POLICY__CONFIRM=none dispatch allow-once UB01");
    assert_ne!(output.status, 0, "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_below_an_agent_changes_policy() {
    let context = strict();
    // A shell under the name of an agent stands in for the agent's process.
    let shell = context.home().join("claude");
    std::os::unix::fs::symlink("/bin/sh", &shell).unwrap();
    let output = context.run_shell(&format!("{} -c 'dispatch allow-once UB01; exit $?'", shell.display()));
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains("an agent (`claude`) may not"), "{output:?}");
}

#[cfg(unix)]
#[test]
fn a_person_types_the_word_that_is_shown_and_nothing_else_will_do() {
    let context = strict();
    for (types_the_word, expected) in [(false, 1), (true, 0)] {
        let mut command = context.command("dispatch");
        command.args(["allow-once", "UB01"]);
        let mut terminal = dispatch_support::Terminal::start(command);
        // What is typed before the question is no answer.
        terminal.press("y\r");
        terminal.wait_for("Type `");
        let word = terminal.wait_for("`").trim_end_matches('`').to_owned();
        terminal.wait_for("go on: ");
        terminal.press(&if types_the_word { format!("{word}\r") } else { "y\r".to_owned() });
        let (status, screen) = terminal.finish();
        assert_eq!(status, expected, "{screen}");
    }
    let log = std::fs::read_to_string(context.home().join("policy-changes.jsonl")).unwrap();
    assert!(log.contains("the word was not typed") && log.contains("confirmed at a terminal"), "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_agents_set_for_their_children_gives_them_away() {
    let context = strict();
    for (name, value) in [("CLAUDECODE", "1"), ("CODEX_SANDBOX", "seatbelt"), ("GEMINI_CLI", "1"), ("AI_AGENT", "x")] {
        // The variable is gone for the command itself, and is still there for the shell above it.
        let output =
            context.run_shell(&format!("env {name}={value} sh -c 'env -u {name} dispatch allow-once UB01; exit $?'"));
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains("an agent ("), "{output:?}");
    }
    // A shell under the name of a program that types for a person stands in for it.
    let typing = context.home().join("script");
    std::os::unix::fs::symlink("/bin/sh", &typing).unwrap();
    let output = context.run_shell(&format!("{} -c 'dispatch trust --revoke; exit $?'", typing.display()));
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains(" may not withdraw an approval"), "{output:?}");
}

#[test]
fn twenty_broken_policy_files_are_found_with_file_line_and_key() {
    let config = ".ai/hooks/config.json";
    let manifest = ".ai/hooks/dispatch.manifest.json";
    let rules = ".ai/hooks/followup-rules.json";
    let policy = ".ai/hooks/rlm-policy.json";
    let cases: [(&str, &str, u64, &str); 20] = [
        (config, "{\n\"a\": 1,\n", 3, ""),
        (config, "[1]", 1, ""),
        (config, "{\n\"graph-pretoluse\": {}}", 2, "graph-pretoluse"),
        (config, "{\n\"graph-pretooluse\": {\n\"rules\": {\"UB01\": \"maybe\"}}}", 3, "graph-pretooluse.rules.UB01"),
        (config, "{\"graph-pretooluse\": {\"rules\": []}}", 1, "graph-pretooluse.rules"),
        (config, "{\"graph-pretooluse\": {\n\"maxFiles\": \"many\"}}", 2, "graph-pretooluse.maxFiles"),
        (config, "{\"graph-pretooluse\": {\"rulez\": {}}}", 1, "graph-pretooluse.rulez"),
        (config, "{\"self-guard\": {\n\n\"protect\": \"x\"}}", 3, "self-guard.protect"),
        (config, "{\"session\": 7}", 1, "session"),
        (config, "{\"prompts\": \"all\"}", 1, "prompts"),
        (config, "{\"redact\": {\"allow\": \"x\"}}", 1, "redact.allow"),
        (config, "{\"neo4j\": {\"adress\": \"x\"}}", 1, "neo4j.adress"),
        (config, "{\"planGraph-exec\": {\"mode\": \"maybe\"}}", 1, "planGraph-exec.mode"),
        (manifest, "{ nope", 1, ""),
        (manifest, "{\n\"module\": []}", 2, "module"),
        (manifest, "{\"modules\": [\n\"session\",\n{\"nam\": 1}]}", 3, "modules[1]"),
        (manifest, "{\n\"budgets\": {\"PreToolUse\": 0}}", 2, "budgets.PreToolUse"),
        (manifest, "{\"phasePolicy\": {\n\"RUNNING\": {}}}", 2, "phasePolicy.RUNNING"),
        (rules, "{\"rules\": [\n7]}", 2, "rules[0]"),
        (policy, "{\"rules\": 7}", 1, "rules"),
    ];
    let context = strict();
    for (file, text, line, key) in cases {
        let before = std::fs::read_to_string(context.project().join(file)).unwrap();
        context.write(file, text);
        let output = context.dispatch(&["check", "--json"]);
        assert_eq!(output.status, 1, "{file} {text}: {output:?}");
        let found = output.json()["problems"].as_array().unwrap().clone();
        let told = found.iter().any(|one| one["file"] == file && one["line"] == line && one["key"] == key);
        assert!(told, "{file} {text}: {found:?}");
        context.write(file, before);
    }
    let output = context.dispatch(&["check"]);
    assert_eq!((output.status, output.stdout.as_str()), (0, "the policy files are in order\n"), "{output:?}");
}

#[test]
fn hooks_that_are_switched_off_are_found() {
    let switches = [
        ("claude-code", ".claude/settings.local.json", "{\"disableAllHooks\": true}"),
        ("copilot-cli", ".github/copilot/settings.json", "{\"disableAllHooks\": true}"),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n"),
        ("gemini-cli", "home:.gemini/settings.json", "{\"hooksConfig\": {\"enabled\": false}}"),
        ("claude-code", "home:.claude/settings.json", "{\"disableAllHooks\": true}"),
        ("gemini-cli", "home:.gemini/trustedFolders.json", "{\"PROJECT\": \"DO_NOT_TRUST\"}"),
        ("copilot-cli", "home:.copilot/config.json", "{\"trusted_folders\": [\"/elsewhere\"]}"),
        ("codex", "home:.codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n"),
    ];
    for (host, file, text) in switches {
        let context = TestContext::new();
        assert_eq!(context.dispatch(&["init", "--host", host]).status, 0);
        assert_eq!(context.dispatch(&["canary", "--host", host]).status, 0, "{host}");
        match file.strip_prefix("home:") {
            Some(file) => context.write_home(file, text.replace("PROJECT", &context.project().to_string_lossy())),
            None => context.write(file, text),
        }
        let output = context.dispatch(&["canary", "--host", host]);
        assert_eq!(output.status, 1, "{file}: {output:?}");
        let why = ["switches its hooks off", "so the hooks of the project do not run", "so Codex skips them"];
        let told = why.iter().any(|why| output.stdout.contains(why));
        assert!(output.stdout.contains("OFF") && told, "{output:?}");
    }
}

#[test]
fn an_exception_lets_one_call_pass_and_can_be_listed_and_revoked() {
    let context = strict();
    let judged = |id: &str| {
        let payload = serde_json::json!({
            "session_id": "s", "hook_event_name": "PreToolUse", "cwd": context.project(), "tool_name": "Bash",
            "tool_input": {"command": "git push --force"}, "tool_use_id": id,
        });
        let arguments = ["PreToolUse", "--host", "claude-code"];
        context.run("dispatch-hook", &arguments, payload.to_string().as_bytes(), &[]).stdout
    };
    assert!(judged("1").contains("GT04"));
    assert_eq!(context.dispatch(&["allow-once", "GT04"]).status, 0);
    let listed = context.dispatch(&["allow-once", "list", "--json"]).json();
    assert_eq!((&listed["exceptions"][0]["code"], &listed["exceptions"][0]["once"]), (&"GT04".into(), &true.into()));
    assert_eq!(judged("2"), "{}\n", "one call passes");
    assert!(judged("3").contains("GT04"), "and no other");
    assert_eq!(context.dispatch(&["allow-once", "list"]).stdout, "no exceptions in force\n");
    assert_eq!(context.dispatch(&["allow-once", "GT04", "--for", "1h"]).status, 0);
    assert_eq!((judged("4").as_str(), judged("5").as_str()), ("{}\n", "{}\n"));
    let id =
        context.dispatch(&["allow-once", "list", "--json"]).json()["exceptions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(context.dispatch(&["allow-once", "revoke", &id]).status, 0);
    assert!(judged("6").contains("GT04"));
    assert_eq!(context.dispatch(&["allow-once", "revoke", &id]).status, 2);
}

#[test]
fn the_hook_says_what_it_is() {
    let context = strict();
    let help = context.run("dispatch-hook", &["--help"], b"", &[]);
    assert!(help.stdout.contains("Usage: dispatch-hook"), "{help:?}");
    let version = context.run("dispatch-hook", &["--version"], b"", &[]);
    assert!(version.stdout.starts_with("dispatch-hook "), "{version:?}");
}

#[test]
fn events_are_chosen_by_decision_and_tool() {
    let context = strict();
    for (command, id) in [("git push --force", "1"), ("ls", "2")] {
        let payload = serde_json::json!({
            "session_id": "s", "hook_event_name": "PreToolUse", "cwd": context.project(), "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_use_id": id,
        });
        let _ =
            context.run("dispatch-hook", &["PreToolUse", "--host", "claude-code"], payload.to_string().as_bytes(), &[]);
    }
    let denied = context.dispatch(&["events", "--decision", "deny", "--tool", "Bash"]);
    assert!(denied.stdout.contains("git push --force") && !denied.stdout.contains("Bash: ls"), "{denied:?}");
    assert_eq!(context.dispatch(&["events", "--tool", "Write"]).stdout, "");
    assert_eq!(context.dispatch(&["events", "--decision", "maybe"]).status, 2);
}
