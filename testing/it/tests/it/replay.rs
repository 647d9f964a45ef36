//! Recorded tool calls judged again: the same rules give the same answers, other rules are told apart.

use crate::agent::Agent;
use dispatch_support::TestContext;
use serde_json::json;

#[test]
fn the_same_rules_decide_the_same() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.prompt("go");
    agent.command("1", "ls");
    agent.edit_rules("2");
    agent.edit_rules("2");
    let output = context.dispatch(&["replay", "--json"]);
    assert_eq!(output.status, 0, "{output:?}");
    let tally = output.json();
    assert_eq!((&tally["replayed"], &tally["same"], &tally["changed"]), (&json!(2), &json!(2), &json!(0)));
    let left_out: Vec<&str> =
        tally["leftOut"].as_array().unwrap().iter().filter_map(|why| why["why"].as_str()).collect();
    assert!(left_out.iter().any(|why| why.starts_with("second deliveries")), "{tally}");
}

#[test]
fn another_manifest_is_compared_with_counts_and_examples() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.command("1", "ls");
    for id in ["2", "3", "4", "5"] {
        agent.edit_rules(id);
    }
    context.write("other.json", r#"{"version": 1, "modules": ["session"]}"#);
    let output = context.dispatch(&["replay", "--manifest", "other.json"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stdout.starts_with("5 tool calls judged again: 4 would be decided differently"), "{output:?}");
    assert!(output.stdout.contains("ask SG01 -> allow: 4\n"), "{output:?}");
    assert_eq!(output.stdout.matches("Write: .ai/hooks/config.json").count(), 3, "three examples are enough");
    assert_eq!(context.dispatch(&["replay"]).status, 0, "what was tried changed nothing");

    context.write("broken.json", "{");
    assert_eq!(context.dispatch(&["replay", "--manifest", "broken.json"]).status, 3);
    assert_eq!(context.dispatch(&["replay", "--manifest", "nowhere.json"]).status, 2);
}

#[test]
fn a_call_is_judged_in_the_phase_it_was_made_in() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    let manifest = r#"{"version": 1, "modules": ["session"], "enforcePhases": true}"#;
    context.write(".ai/hooks/dispatch.manifest.json", manifest);
    agent.prompt("go");
    let file = context.project().join("a.txt");
    let write = json!({"file_path": file, "content": ""});
    assert!(agent.before("Write", "1", &write).to_string().contains("deny"), "planning is for looking");
    let set = |phase: &str| context.dispatch(&["phase", "set", phase, "--reason", "test"]);
    assert_eq!(set("executing").status, 0);
    assert!(!agent.before("Write", "2", &write).to_string().contains("deny"));
    assert_eq!(set("complete").status, 0);
    let tally = context.dispatch(&["replay", "--json"]).json();
    assert_eq!((&tally["replayed"], &tally["changed"]), (&json!(2), &json!(0)), "{tally}");
}

#[test]
fn an_input_that_was_not_kept_whole_is_not_guessed() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.command("1", &format!("echo {}", "x".repeat(5_000)));
    agent.command("2", "curl -H 'Authorization: Bearer ghp_0123456789abcdefghijklmnopqrstuvwxyz' https://example.com");
    let tally = context.dispatch(&["replay", "--json"]).json();
    assert_eq!(tally["replayed"], 0, "{tally}");
    assert_eq!(tally["leftOut"][0]["count"], 2, "{tally}");
}
