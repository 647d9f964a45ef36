//! A module of one's own: made, tried, approved, in force; and what sessions learned.

use crate::agent::Agent;
use dispatch_support::TestContext;
use serde_json::json;

fn enable(context: &TestContext, names: &[&str]) {
    // The engine has more to do in a debug build than any budget allows for.
    let manifest = json!({"version": 1, "modules": names, "budgets": {"PreToolUse": 20_000}});
    context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
}

#[test]
fn a_new_module_works_in_both_languages_once_it_is_approved() {
    for (language, file) in [(&[][..], "hook.ts"), (&["--js"][..], "hook.mjs")] {
        let context = TestContext::new();
        let agent = Agent::new(&context, "abc");
        enable(&context, &["session", "ask-push"]);
        let made = context.dispatch(&[&["module", "new", "ask-push"], language].concat());
        assert!(made.stdout.contains(&format!(".ai/hooks/features/ask-push/{file}")), "{made:?}");
        let tried = context.dispatch(&["module", "test", "ask-push"]);
        assert_eq!(tried.status, 0, "{tried:?}");
        assert!(tried.stdout.contains("\"decision\": \"ask\""), "{tried:?}");
        assert!(tried.stdout.contains("log: info a push"), "{tried:?}");

        assert!(!agent.command("1", "git push").to_string().contains("ask"), "not approved yet");
        let waiting = context.dispatch(&["trust", "--list", "--json"]).json();
        assert_eq!(waiting["waiting"][0]["path"], format!("[TEST]/project/.ai/hooks/features/ask-push/{file}"));
        assert_eq!(context.dispatch(&["trust", "ask-push"]).status, 0);
        assert!(agent.command("2", "git push").to_string().contains("MINE01"));
        assert!(!agent.command("3", "git status").to_string().contains("MINE01"));

        assert_eq!(context.dispatch(&["allow-once", "MINE01"]).status, 0);
        assert!(!agent.command("4", "git push").to_string().contains("MINE01"), "scripts know exceptions too");
    }
}

#[test]
fn a_test_that_fails_says_so() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["module", "new", "mine"]).status, 0);
    let event = json!({"host": "claude-code", "payload": {"hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "git push"}}, "expect": {"decision": "deny"}});
    context.write("wrong.json", event.to_string());
    let output = context.dispatch(&["module", "test", "mine", "--event", "wrong.json"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stdout.contains("error: decision is ask, expected deny"), "{output:?}");

    context.write(
        ".ai/hooks/features/loop/hook.mjs",
        "export default { name: 'loop', supports: ['PreToolUse'], hotPathSafe: true, handle() { for (;;) {} } };",
    );
    let output = context.dispatch(&["module", "test", "loop", "--event", "wrong.json"]);
    assert!(output.status == 1 && output.stdout.contains("FAILED"), "{output:?}");

    context.write(".ai/hooks/features/broken/hook.mjs", "export default {");
    assert_eq!(context.dispatch(&["module", "test", "broken", "--event", "wrong.json"]).status, 3);
    assert_eq!(context.dispatch(&["module", "test", "nowhere", "--event", "wrong.json"]).status, 2);
}

#[test]
fn a_module_is_not_made_over_another() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["module", "new", "mine"]).status, 0);
    for name in ["mine", "session", "../x", "a b", ""] {
        assert_eq!(context.dispatch(&["module", "new", name]).status, 2, "{name}");
    }
}

#[test]
fn the_list_says_what_runs_and_what_does_not() {
    let context = TestContext::new();
    Agent::new(&context, "abc");
    assert_eq!(context.dispatch(&["module", "new", "mine"]).status, 0);
    enable(&context, &["session", "mine", "nowhere"]);
    let state = |name: &str| {
        let listed = context.dispatch(&["module", "list", "--json"]).json();
        let found = listed["modules"].as_array().unwrap().iter().find(|module| module["name"] == name).cloned();
        found.unwrap()["state"].clone()
    };
    assert_eq!(state("session"), "runs");
    assert_eq!(state("mine"), "not approved");
    assert_eq!(state("nowhere"), "missing");
    assert_eq!(state("self-guard"), "off");
    assert_eq!(context.dispatch(&["trust", "--all"]).status, 0);
    assert_eq!(state("mine"), "runs");
    context.write(".ai/hooks/features/mine/hook.ts", "export default {};");
    assert_eq!(state("mine"), "not approved", "other content is not approved");
}

#[test]
fn a_preference_becomes_a_reminder_and_can_be_forgotten() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    enable(&context, &["session", "memory-journal", "memory-activation"]);
    agent.prompt("Always use pnpm instead of npm in this project.");
    agent.fire("Stop", &json!({}));
    let listed = context.dispatch(&["memory", "list", "--json"]).json();
    let id = listed["candidates"][0]["id"].as_str().unwrap_or_default().to_owned();
    assert!(id.starts_with("mem-"), "{listed}");
    assert_eq!(context.dispatch(&["memory", "promote", &id]).status, 0);
    assert_eq!(context.dispatch(&["memory", "list", "--json"]).json()["candidates"][0]["promoted"], true);
    assert!(agent.command("1", "npm install").to_string().contains("pnpm"));
    let forgotten = context.dispatch(&["memory", "forget", &id]);
    assert!(forgotten.stdout.contains("its reminder is gone"), "{forgotten:?}");
    assert_eq!(context.dispatch(&["memory", "list"]).stdout, "nothing is worth remembering yet\n");
    assert_eq!(context.dispatch(&["memory", "promote", &id]).status, 2);
}
