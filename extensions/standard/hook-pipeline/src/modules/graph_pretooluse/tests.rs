//! Whole calls through the module: commands, other tools, other hosts, configuration, exceptions.

mod bypasses;
mod commands;
mod tools;

use dispatch_hook_module::testing::TestInvocation;
use dispatch_hook_module::{Decision, EventName, HookAction, Module};
use proptest::prelude::*;
use serde_json::json;

use super::GraphPretooluse;
use super::rules::{ALL, RuleSeverity};

/// The code of the objection, or nothing.
fn code(scene: &TestInvocation) -> String {
    scene.handle(&GraphPretooluse).code.unwrap_or_default()
}

/// Judges every command of a table and names all that differ.
fn check(table: &[(&str, &str)]) {
    let judged = table.iter().map(|(command, expected)| (command, expected, code(&TestInvocation::command(command))));
    let wrong: Vec<String> = judged
        .filter(|(_, expected, found)| found != *expected)
        .map(|(command, expected, found)| format!("{command:?}: expected {expected:?}, found {found:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn every_rule_says_why_and_what_else_to_do() {
    for (index, rule) in ALL.iter().enumerate() {
        assert!(ALL[..index].iter().all(|other| other.code != rule.code), "{} twice", rule.code);
        assert!(!rule.reason.ends_with('.') && rule.safer.ends_with('.'), "{}", rule.code);
        assert_ne!(rule.severity, RuleSeverity::Off, "{}", rule.code);
    }
}

#[test]
fn a_refusal_names_the_path_the_reason_and_the_safer_way() {
    let action = TestInvocation::command("rm -rf /etc").handle(&GraphPretooluse);
    assert_eq!(action.decision, Some(Decision::Deny));
    let reason = action.deny_reason.unwrap_or_default();
    assert!(reason.contains("/etc") && reason.contains("Name one folder inside the workspace."), "{reason}");
}

#[test]
fn severities_are_the_rules_own_unless_configured() {
    let decision = |scene: TestInvocation| scene.handle(&GraphPretooluse).decision;
    assert_eq!(decision(TestInvocation::command("git reset --hard")), Some(Decision::Ask));
    assert_eq!(decision(TestInvocation::command("git push --force")), Some(Decision::Deny));
    let with = |command: &str, rules: serde_json::Value| {
        decision(TestInvocation::command(command).config(json!({ "rules": rules })))
    };
    assert_eq!(with("git reset --hard", json!({"GT01": "deny"})), Some(Decision::Deny));
    assert_eq!(with("git reset --hard", json!({"gt01": "off"})), None);
    assert_eq!(with("rm -rf /", json!({"UB01": "ask"})), Some(Decision::Ask));
    assert_eq!(with("rm -rf /", json!({"UB01": "off"})), None);
    assert_eq!(with("rm -rf /", json!({"UB02": "off"})), Some(Decision::Deny));
}

#[test]
fn a_rule_switched_off_leaves_the_others_of_the_same_call() {
    let scene = TestInvocation::command("git reset --hard && rm -rf /").config(json!({"rules": {"UB01": "off"}}));
    assert_eq!(code(&scene), "GT01");
}

#[test]
fn a_refusal_wins_over_a_question() {
    assert_eq!(code(&TestInvocation::command("git reset --hard && rm -rf /")), "UB01");
}

#[test]
fn a_broken_configuration_keeps_the_rules_and_warns() {
    let scene = TestInvocation::command("rm -rf /").config(json!({"rules": {"UB01": "sometimes"}}));
    assert_eq!(code(&scene), "UB01");
}

#[test]
fn an_exception_covers_its_rule_and_no_other() {
    assert_eq!(TestInvocation::command("rm -rf /opt/x").excused("UB01").handle(&GraphPretooluse), HookAction::none());
    assert_eq!(code(&TestInvocation::command("rm -rf /etc").excused("UB02")), "UB01");
    assert_eq!(code(&TestInvocation::command("git reset --hard && rm -rf /etc").excused("UB01")), "GT01");
}

#[test]
fn temporary_folders_are_configurable() {
    let none = json!({"scratch": []});
    assert_eq!(code(&TestInvocation::command("rm -rf /tmp/build")), "");
    assert_eq!(code(&TestInvocation::command("rm -rf /tmp/build").config(none)), "UB01");
    assert_eq!(code(&TestInvocation::command("rm -rf /scratch/build").config(json!({"scratch": ["/scratch"]}))), "");
}

#[test]
fn it_runs_before_tools_only_and_is_critical() {
    for event in EventName::KNOWN {
        assert_eq!(GraphPretooluse.spec().handles(&event), event == EventName::PreToolUse);
    }
    assert!(GraphPretooluse.spec().critical && GraphPretooluse.spec().hot_path_safe);
    assert_eq!(GraphPretooluse.spec().priority, 10);
    assert_eq!(TestInvocation::new(EventName::PreToolUse).handle(&GraphPretooluse), HookAction::none());
}

#[test]
fn what_cannot_be_told_is_not_refused_for_that() {
    for command in
        ["./configure", "make install", "$CMD", "rm -rf \"$X\"", "python3 build.py", "unknown-tool --x", "if then"]
    {
        assert_eq!(TestInvocation::command(command).handle(&GraphPretooluse), HookAction::none(), "{command}");
    }
}

#[test]
fn what_exceeds_a_limit_is_asked_about_with_a_code_of_its_own() {
    let long = format!("echo {}", "x".repeat(200_000));
    assert_eq!(code(&TestInvocation::command(&long)), "UB09");
    let many = (0..3_000).map(|n| format!(" a{n}")).collect::<String>();
    assert_eq!(code(&TestInvocation::command(&format!("rm -rf{many}"))), "UB09");
    let ordinary = format!("echo {} # {}", "x".repeat(17_000), "(".repeat(200));
    assert_eq!(code(&TestInvocation::command(&ordinary)), "");
}

const FRAGMENTS: &[&str] = &[
    "rm",
    "-rf",
    "/",
    "~",
    "*",
    "$X",
    "\"",
    "'",
    "`",
    "$(",
    ")",
    "(",
    "{",
    "}",
    "|",
    "&",
    "&&",
    ";",
    "<",
    "<<EOF",
    "\n",
    "git",
    "reset",
    "--hard",
    "clean",
    "-fdx",
    "push",
    "+main",
    ":",
    "curl",
    "https://x",
    "-d",
    "@-",
    "@.env",
    "sh",
    "-c",
    "eval",
    "base64",
    "-d",
    "env",
    "nc",
    "psql",
    "DELETE",
    "FROM",
    "t",
    "find",
    ".",
    "-delete",
    "-exec",
    "tail",
    "-f",
    "x",
    "é",
    "\\",
    "X=",
    "while",
    "true",
    "do",
    "done",
    "cypher-shell",
    "MATCH (n)",
    "RETURN n",
    "/dev/sda",
    ">",
    "mv",
    "$",
    "${",
    "-",
];

proptest! {
    #[test]
    fn any_command_is_judged_without_panic_and_always_alike(parts in prop::collection::vec(prop::sample::select(FRAGMENTS), 0..16)) {
        let command = parts.join(" ");
        let first = TestInvocation::command(&command).handle(&GraphPretooluse);
        prop_assert_eq!(&first, &TestInvocation::command(&command).handle(&GraphPretooluse));
        prop_assert_eq!(first.decision.is_some(), first.code.is_some());
    }

    #[test]
    fn any_text_is_judged_without_panic(command in "\\PC{0,120}", tool in "[a-z_]{1,12}") {
        let _ = TestInvocation::command(&command).handle(&GraphPretooluse);
        let _ = TestInvocation::before_tool(&tool, json!({"query": command, "path": command})).handle(&GraphPretooluse);
    }

    #[test]
    fn quoting_a_program_changes_nothing(at in 0_usize..3) {
        let plain = ["rm -rf /", "git push -f", "tail -f x"][at];
        let (program, rest) = plain.split_once(' ').unwrap_or_default();
        let (head, end) = program.split_at(1);
        for spelled in [format!("{head}''{end} {rest}"), format!("\\{program} {rest}"), format!("\"{program}\" {rest}")] {
            prop_assert_eq!(code(&TestInvocation::command(&spelled)), code(&TestInvocation::command(plain)));
        }
    }
}
