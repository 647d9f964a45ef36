//! Rules of one's own without code, through the real hook program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dispatch_support::TestContext;
use serde_json::{Value, json};

const CONFIG: &str = ".ai/hooks/config.json";

fn project() -> TestContext {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["init", "--host", "claude-code"]).status, 0);
    context
}

/// What the host is told about a call: the decision and the reason.
fn decide(context: &TestContext, tool: &str, input: Value) -> (String, String) {
    let payload = json!({
        "session_id": "s", "hook_event_name": "PreToolUse", "cwd": context.project(), "tool_name": tool,
        "tool_input": input, "transcript_path": "/x/.claude/t.jsonl",
    });
    let arguments = ["PreToolUse", "--host", "claude-code"];
    let output = context.run("dispatch-hook", &arguments, payload.to_string().as_bytes(), &[]);
    assert_eq!(output.status, 0, "{output:?}");
    let told = &output.json()["hookSpecificOutput"];
    let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

fn decide_command(context: &TestContext, command: &str) -> String {
    decide(context, "Bash", json!({ "command": command })).0
}

#[test]
fn a_rule_of_a_project_tightens_at_once_and_permits_after_trust() {
    let context = project();
    let rules = json!({"rules": [
        {"when": {"command": "npm publish *"}, "then": "deny", "because": "Releases come from CI."},
        {"when": {"path": "infra/**"}, "then": "ask", "because": "Ask the platform team."},
        {"when": {"command": "git branch -D *"}, "then": "allow"},
        {"when": {"command": "cargo test *"}, "then": "grant"},
        {"when": {"command": "git push --force *"}, "then": "allow"},
    ]});
    context.write_cloned(CONFIG, rules.to_string());
    let (decision, reason) = decide(&context, "Bash", json!({"command": "cd web && npm publish --tag next"}));
    assert_eq!((decision.as_str(), reason.contains("Releases come from CI.")), ("deny", true), "{reason}");
    let write = json!({"file_path": context.project().join("infra/main.tf"), "content": "x"});
    assert_eq!(decide(&context, "Write", write).0, "ask");
    assert_eq!(decide_command(&context, "git branch -D old"), "ask", "a clone permits nothing");
    assert_eq!(decide_command(&context, "cargo test -p x"), "");

    assert_eq!(context.dispatch(&["trust", "--all"]).status, 0);
    assert_eq!(decide_command(&context, "git branch -D old"), "");
    assert_eq!(decide_command(&context, "cargo test -p x"), "allow", "a grant answers the host's own question");
    assert_eq!(decide_command(&context, "cargo test; git branch -D old"), "ask", "it covers the whole command");
    assert_eq!(decide_command(&context, "git push --force origin x"), "deny", "a denial stays one");
}

#[test]
fn the_users_own_rules_hold_everywhere_and_lift_denials_but_not_of_the_rules() {
    let context = project();
    let rules = json!({"rules": [
        {"when": {"command": "git push --force *"}, "then": "allow", "because": "I work alone."},
        {"when": {"command": "rm *"}, "then": "allow"},
        {"when": {"tool": "WebFetch"}, "then": "deny"},
    ]});
    context.write_home("config/hooks/config.json", rules.to_string());
    assert_eq!(decide_command(&context, "git push --force origin x"), "");
    assert_eq!(decide_command(&context, "rm -rf .ai/hooks"), "ask");
    assert_eq!(decide(&context, "WebFetch", json!({"url": "https://example.com"})).0, "deny");
}

#[test]
fn rules_are_listed_tried_and_checked() {
    let context = project();
    assert_eq!(context.dispatch(&["rules", "list"]).status, 0);
    let rules = json!({"rules": [
        {"when": {"command": "npm publish *"}, "then": "deny", "because": "CI does that."},
        {"when": {"path": "infra/**"}, "then": "ask"},
        {"when": {"tool": "mcp__jira__*"}, "then": "grant"},
    ]});
    context.write_cloned(CONFIG, rules.to_string());
    let listed = context.dispatch(&["rules", "list", "--json"]).json();
    assert_eq!(listed["rules"].as_array().unwrap().len(), 3, "{listed}");
    assert_eq!((&listed["rules"][0]["inForce"], &listed["rules"][2]["inForce"]), (&true.into(), &false.into()));
    for (arguments, expected) in [
        (&["npm publish"][..], "deny"),
        (&["npm test"], "none"),
        (&["--path", "infra/a.tf"], "ask"),
        (&["--tool", "mcp__jira__search"], "none"),
    ] {
        let all = [&["rules", "test"], arguments, &["--json"]].concat();
        let tried = context.dispatch(&all);
        assert_eq!(tried.json()["decision"], expected, "{tried:?}");
    }
    context.write(CONFIG, "{\"rules\": [\n{\"when\": {\"command\": \"x\"}, \"then\": \"deny\"},\n{\"when\": {\"comand\": \"x\"}, \"then\": \"deny\"}]}");
    let checked = context.dispatch(&["check", "--json"]);
    assert_eq!(checked.status, 1, "{checked:?}");
    let problem = &checked.json()["problems"][0];
    assert_eq!((&problem["line"], &problem["key"]), (&3.into(), &"rules[1].when.comand".into()), "{problem}");
    assert_eq!(decide_command(&context, "x"), "deny", "the other rules hold");
}

#[test]
fn tools_of_mcp_servers_are_judged_by_their_input() {
    let context = project();
    let home = context.home();
    for (tool, input, expected) in [
        ("mcp__filesystem__write_file", json!({"path": home.join(".bashrc"), "content": "x"}), "ask"),
        ("mcp__filesystem__delete_directory", json!({"path": "/"}), "deny"),
        ("mcp__filesystem__read_file", json!({"path": home.join(".ssh/id_rsa")}), "ask"),
        ("mcp__shell__run", json!({"command": "rm -rf /"}), "deny"),
        ("mcp__filesystem__write_file", json!({"path": "src/a.rs", "content": "x"}), ""),
        ("mcp__github__create_or_update_file", json!({"path": "README.md"}), ""),
    ] {
        let (decision, reason) = decide(&context, tool, input.clone());
        assert_eq!(decision, expected, "{tool} {input}: {reason}");
    }
}

#[test]
fn git_works_as_ever_where_our_git_hooks_are_installed() {
    let context = project();
    let git = context.run_shell("git init -q && git config user.email a@b.c && git config user.name x");
    assert_eq!(git.status, 0, "{git:?}");
    assert_eq!(context.dispatch(&["trace", "hook", "install"]).status, 0);
    assert_eq!(context.dispatch(&["init", "--git"]).status, 0);
    for command in [
        "git add -A",
        "git commit -qm x",
        "git checkout -b topic",
        "git stash",
        "git fetch",
        "git tag v1",
        "git status",
    ] {
        assert_eq!(
            decide(&context, "Bash", json!({ "command": command })),
            (String::new(), String::new()),
            "{command}"
        );
    }
    for command in ["rm .git/hooks/post-commit", "cp -r evil .git", "git config core.hooksPath /tmp/x"] {
        assert_eq!(decide_command(&context, command), "ask", "{command}");
    }
}
