//! Which rules hold, and that nothing passes because it was not understood, not read or not run.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::conformance::PipelineWorkspace;
use dispatch_support::TestContext;
use serde_json::{Value, json};

const HOST: &str = "claude-code";

fn initialised() -> TestContext {
    let context = TestContext::new();
    let output = context.dispatch(&["init", "--host", HOST]);
    assert_eq!(output.status, 0, "{output:?}");
    context
}

/// What a host is told about a command in this folder: the decision and its reason.
fn decide(context: &TestContext, host: &str, cwd: &std::path::Path, more: &Value, command: &str) -> (String, String) {
    let mut payload = json!({
        "session_id": "s1", "hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": "Bash",
        "tool_input": {"command": command}, "transcript_path": "/x/.claude/t.jsonl",
    });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        payload[name] = value;
    }
    let output = context.run("dispatch-hook", &["PreToolUse", "--host", host], payload.to_string().as_bytes(), &[]);
    assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
    let told = &output.json()["hookSpecificOutput"];
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

fn decide_here(context: &TestContext, command: &str) -> (String, String) {
    decide(context, HOST, &context.project(), &json!({}), command)
}

#[test]
fn the_worst_commands_are_denied_although_the_self_guard_asks_about_them() {
    let context = initialised();
    for command in ["rm -rf /", "rm -rf /*", "rm -rf .", "find / -delete"] {
        let (decision, reason) = decide_here(&context, command);
        assert_eq!(decision, "deny", "{command}: {reason}");
    }
    let report = context.dispatch(&["explain", "rm -rf .", "--json"]).json();
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() >= 2, "every guard that spoke is listed: {report}");
    assert!(findings.iter().all(|finding| finding["code"].is_string() && finding["why"].is_string()), "{report}");
}

#[test]
fn a_nested_root_can_only_tighten() {
    let context = initialised();
    let nested = context.project().join("vendor/x");
    std::fs::create_dir_all(nested.join(".ai/hooks")).unwrap();
    let project = context.project().to_string_lossy().into_owned();
    let inside = |command: &str| {
        let payload = json!({
            "session_id": "s1", "hook_event_name": "PreToolUse", "cwd": nested, "tool_name": "Bash",
            "tool_input": {"command": command},
        });
        let variables = [("CLAUDE_PROJECT_DIR", project.as_str())];
        let arguments = ["PreToolUse", "--host", HOST];
        let output = context.run("dispatch-hook", &arguments, payload.to_string().as_bytes(), &variables);
        output.json()["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("allow").to_owned()
    };
    context.write_cloned("vendor/x/.ai/hooks/config.json", r#"{"graph-pretooluse": {"rules": {"GT04": "off"}}}"#);
    assert_eq!(inside("git push --force"), "deny", "the project's rules hold in the nested root");
    assert_eq!(inside("ls"), "allow");
    context.write(".ai/hooks/config.json", r#"{"self-guard": {"protect": ["vendor"]}}"#);
    assert_ne!(inside("echo x > file"), "allow", "what the project tightens holds there too");
}

#[test]
fn a_session_keeps_the_rules_that_it_began_under() {
    let context = initialised();
    let outside = context.home().join("elsewhere");
    std::fs::create_dir_all(outside.join(".ai/hooks")).unwrap();
    context.write(".ai/hooks/config.json", r#"{"graph-pretooluse": {"rules": {"GT01": "deny"}}}"#);
    assert_eq!(decide_here(&context, "ls").0, "", "the session begins in the project");
    let (decision, reason) = decide(&context, HOST, &outside, &json!({}), "git reset --hard");
    assert_eq!(decision, "deny", "{reason}");
    let other = decide(&context, HOST, &outside, &json!({"session_id": "s2"}), "git reset --hard");
    assert_eq!(other.0, "ask", "a session that began elsewhere is under that root's rules");
}

#[test]
fn the_users_own_rules_hold_in_every_folder() {
    let context = TestContext::new();
    assert_eq!(decide_here(&context, "rm -rf /etc").0, "", "no rules, no objection");
    context.write_home("config/hooks/config.json", "{}");
    assert_eq!(decide_here(&context, "rm -rf /etc").0, "deny", "without .ai/hooks");
    assert!(!context.project().join(".ai").exists(), "nothing is written into a project without rules");
    let context = initialised();
    context.write_home("config/hooks/config.json", r#"{"graph-pretooluse": {"rules": {"GT01": "deny"}}}"#);
    assert_eq!(decide_here(&context, "git reset --hard").0, "deny", "beside the project's");
}

#[test]
fn routing_hooks_beside_the_users_rules_are_no_rules() {
    let context = TestContext::new();
    context.write_home("config/hooks/triage.ts", "export default () => null;");
    context.write_home("config/hooks/lib/names.ts", "export const names = [];");
    assert_eq!(decide_here(&context, "rm -rf /etc").0, "", "no rules, no objection");
    context.write_home("config/hooks/dispatch.manifest.json", "{}");
    assert_eq!(decide_here(&context, "rm -rf /etc").0, "deny");
}

#[test]
fn what_a_clone_weakens_has_no_effect_until_it_is_approved() {
    let context = initialised();
    context
        .write_cloned(".ai/hooks/config.json", r#"{"graph-pretooluse": {"rules": {"GT04": "off", "GT01": "deny"}}}"#);
    assert_eq!(decide_here(&context, "git push --force").0, "deny");
    assert_eq!(decide_here(&context, "git reset --hard").0, "deny", "what it tightens counts at once");
    for command in [&["doctor"][..], &["check"], &["init", "--check"]] {
        let output = context.dispatch(command);
        assert_eq!(output.status, 1, "{command:?}: {output:?}");
        assert!(format!("{}{}", output.stdout, output.stderr).contains("graph-pretooluse.rules.GT04"), "{output:?}");
    }
    let output = context.dispatch(&["trust"]);
    assert!(output.stdout.contains("approved") && output.stdout.contains("config.json"), "{output:?}");
    assert_eq!(decide_here(&context, "git push --force").0, "");
    assert_eq!(context.dispatch(&["check"]).status, 0);
    context.write_cloned(".ai/hooks/dispatch.manifest.json", r#"{"modules": ["session"], "unattended": "allow"}"#);
    assert_eq!(decide_here(&context, "rm -rf /etc").0, "deny", "a module that is missing runs all the same");
}

#[test]
fn rules_that_cannot_be_read_deny() {
    let context = initialised();
    let config = context.project().join(".ai/hooks/config.json");
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    let (decision, reason) = decide_here(&context, "ls");
    assert_eq!(decision, "deny");
    assert!(reason.contains("PL02") && reason.contains("config.json"), "{reason}");
}

#[cfg(unix)]
#[test]
fn a_folder_of_rules_that_is_closed_denies() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    let context = initialised();
    let mode = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let mut command = context.command("dispatch-hook");
    // The superuser may read everything, so somebody else has to look.
    if std::fs::metadata(context.home()).unwrap().uid() == 0 {
        let copy = context.home().join("dispatch-hook");
        std::fs::copy(command.get_program(), &copy).unwrap();
        for folder in context.home().ancestors().take_while(|folder| folder.starts_with(std::env::temp_dir())) {
            mode(folder, 0o755);
        }
        mode(&copy, 0o755);
        command = std::process::Command::new(copy);
        command.current_dir(context.project()).env_clear().env("HOME", context.home()).uid(65534).gid(65534);
    }
    mode(&context.project().join(".ai"), 0);
    let payload = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": context.project(), "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    });
    command
        .args(["PreToolUse", "--host", HOST])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), payload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    mode(&context.project().join(".ai"), 0o755);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("\"deny\"") && told.contains("PL02"), "{told}");
}

#[test]
fn json_that_exceeds_a_limit_is_denied_and_what_is_no_json_is_not() {
    let context = initialised();
    let send =
        |payload: &str| context.run("dispatch-hook", &["PreToolUse", "--host", HOST], payload.as_bytes(), &[]).stdout;
    let deep = |levels: usize| {
        let value = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!("{{\"tool_name\": \"mcp__a__b\", \"tool_input\": {{\"a\": {value}}}}}")
    };
    for levels in [100, 1_000, 100_000] {
        let told = send(&deep(levels));
        assert!(told.contains("\"deny\"") && told.contains("PL01"), "{levels}: {told}");
    }
    assert_eq!(send(&deep(10)), "{}\n");
    assert_eq!(send("not json"), "{}\n");
}

#[test]
fn an_ask_is_a_deny_where_the_host_does_not_stop_for_it() {
    let context = initialised();
    let ask = "git reset --hard";
    let bypass = json!({"permission_mode": "bypassPermissions"});
    let project = context.project();
    assert_eq!(decide(&context, HOST, &project, &json!({}), ask).0, "ask");
    assert_eq!(decide(&context, HOST, &project, &bypass, ask).0, "ask");
    let (decision, reason) = decide(&context, HOST, &project, &bypass, "echo x > .claude/settings.json");
    assert_eq!(decision, "deny", "its bypass mode would run this: {reason}");
    for (host, tool) in [("codex", "Bash"), ("factory-droid", "Execute")] {
        assert_eq!(decide(&context, host, &project, &json!({"tool_name": tool}), ask).0, "deny", "{host}");
    }
    let payload = json!({"session_id": "s", "cwd": project, "hook_event_name": "BeforeTool",
        "tool_name": "run_shell_command", "tool_input": {"command": ask}});
    let output =
        context.run("dispatch-hook", &["BeforeTool", "--host", "gemini-cli"], payload.to_string().as_bytes(), &[]);
    assert_eq!(output.json()["decision"], "deny", "nobody is at a terminal: {output:?}");
    context.write(".ai/hooks/dispatch.manifest.json", r#"{"unattended": "allow"}"#);
    assert_eq!(decide(&context, "codex", &project, &json!({}), ask).0, "", "the user may say otherwise");
    assert_eq!(decide(&context, "codex", &project, &json!({}), "rm -r .ai/hooks").0, "deny", "but not about the rules");
}

#[test]
fn a_critical_module_that_is_missing_changed_or_unapproved_denies_and_is_named() {
    let source = "export default { supports: ['PreToolUse'], hotPathSafe: true, critical: true, async handle() {} };\n";
    let entries = [json!({"name": "guard", "critical": true}), json!({"name": "guard"})];
    for entry in entries {
        let workspace = PipelineWorkspace::ruled_by(&json!({"modules": ["session", entry]}));
        let file = ".ai/hooks/features/guard/hook.ts";
        workspace.context.write(file, source);
        assert_eq!(workspace.context.dispatch(&["trust", "--all"]).status, 0);
        assert_eq!(workspace.bash("ls")["decision"], "allow", "{entry}");
        let refused = |case: &str| {
            let answer = workspace.bash("ls");
            assert_eq!(answer["decision"], "deny", "{case} {entry}: {answer}");
            assert!(answer.to_string().contains("`guard`"), "{case} {entry}: {answer}");
        };
        workspace.context.write(file, format!("{source}\n"));
        refused("one byte more");
        workspace.context.write(file, source);
        workspace.context.write(".ai/hooks/features/guard/hook.mjs", "export default {};");
        refused("an unapproved file beside it");
        std::fs::remove_dir_all(workspace.context.project().join(".ai/hooks/features/guard")).unwrap();
        refused("deleted");
    }
}

#[test]
fn a_mistake_in_a_rule_file_takes_no_other_part_away() {
    let context = initialised();
    context.write(".ai/hooks/config.json", r#"{"graph-pretooluse": {"rules": {"GT01": "deny", "UB02": "maybe"}}}"#);
    assert_eq!(decide_here(&context, "git reset --hard").0, "deny", "the good part holds");
    let output = context.dispatch(&["check", "--json"]);
    assert_eq!(output.status, 1);
    let problem = &output.json()["problems"][0];
    assert_eq!(problem["file"], ".ai/hooks/config.json");
    assert_eq!(
        (problem["line"].as_u64(), &problem["key"]),
        (Some(1), &json!("graph-pretooluse.rules.UB02")),
        "{problem}"
    );
    assert_eq!(context.dispatch(&["doctor"]).status, 1);
}
