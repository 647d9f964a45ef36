//! Which calls run, which are asked about, which are refused, as tables.

use super::*;
use serde_json::json;

fn call(name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall { id: "c".into(), name: name.to_owned(), arguments: arguments.as_object().unwrap().clone() }
}

fn rule(permission: &str, target: &str, verdict: Verdict) -> PermissionRule {
    PermissionRule { permission: permission.into(), target: target.into(), verdict, reason: None }
}

fn decided(
    call: ToolCall,
    effect: Effect,
    configured: &[PermissionRule],
    sender: &[PermissionRule],
    ask: Ask,
) -> String {
    let proposal = Proposal { call, effect, questions: Vec::new() };
    let workdir = Path::new("/w");
    let rights = CallRights { configured, sent_under: &[], sender, ask, remembered: &[], workdir, workspace: workdir };
    word(&decide(&proposal, &rights))
}

fn word(decision: &CallDecision) -> String {
    match decision {
        CallDecision::Run => "run".to_owned(),
        CallDecision::Refuse(_) => "refuse".to_owned(),
        CallDecision::Ask(questions) => format!("ask {}", questions.len()),
    }
}

#[test]
fn looking_is_free_and_changing_is_asked_about() {
    let write = || call("write_file", json!({"path": "a"}));
    assert_eq!(decided(call("read_file", json!({"path": "a"})), Effect::Looks, &[], &[], Ask::Person), "run");
    assert_eq!(decided(write(), Effect::Changes, &[], &[], Ask::Person), "ask 1");
    assert_eq!(decided(write(), Effect::Changes, &[], &[], Ask::All), "run");
    assert_eq!(decided(write(), Effect::Changes, &[], &[], Ask::None), "refuse");
}

#[test]
fn rules_decide_and_a_senders_rules_only_make_it_stricter() {
    let allow = [rule("write_file", "*", Verdict::Allow), rule("write_file", "secret/*", Verdict::Deny)];
    let write = |path: &str| call("write_file", json!({ "path": path }));
    assert_eq!(decided(write("a"), Effect::Changes, &allow, &[], Ask::Person), "run");
    assert_eq!(decided(write("secret/a"), Effect::Changes, &allow, &[], Ask::All), "refuse");
    let strict = [rule("write_file", "*", Verdict::Deny)];
    assert_eq!(decided(write("a"), Effect::Changes, &allow, &strict, Ask::All), "refuse");
    let lax = [rule("*", "*", Verdict::Allow)];
    assert_eq!(decided(write("secret/a"), Effect::Changes, &allow, &lax, Ask::All), "refuse");
    assert_eq!(decided(write("a"), Effect::Changes, &[], &lax, Ask::Person), "ask 1", "rights are not widened");
}

#[test]
fn every_command_of_a_line_is_judged() {
    let allow = [rule("run_shell", "git *", Verdict::Allow), rule("run_shell", "ls*", Verdict::Allow)];
    for (command, expected) in [
        ("git status", "run"),
        ("git status && ls -l", "run"),
        ("git status; reboot", "ask 1"),
        ("git status $(reboot)", "ask 1"),
        ("git $SOMETHING", "ask 1"),
    ] {
        let made = decided(call("run_shell", json!({ "command": command })), Effect::Changes, &allow, &[], Ask::Person);
        assert_eq!(made, expected, "{command}");
    }
}

#[test]
fn what_was_allowed_for_good_is_not_asked_again_but_a_guards_question_is() {
    let made = call("write_file", json!({"path": "a"}));
    let remembered = [rule("write_file", "a", Verdict::Allow)];
    let rights = CallRights {
        configured: &[],
        sent_under: &[],
        sender: &[],
        ask: Ask::Person,
        remembered: &remembered,
        workdir: Path::new("/w"),
        workspace: Path::new("/w"),
    };
    let quiet = Proposal { call: made.clone(), effect: Effect::Changes, questions: Vec::new() };
    assert_eq!(word(&decide(&quiet, &rights)), "run");
    let questions = vec![Question { code: "SG01".into(), reason: "it edits the rules".into() }];
    assert_eq!(word(&decide(&Proposal { questions, ..quiet }, &rights)), "ask 1");
    let elsewhere = call("write_file", json!({"path": "b"}));
    let other = Proposal { call: elsewhere, effect: Effect::Changes, questions: Vec::new() };
    assert_eq!(word(&decide(&other, &rights)), "ask 1");
}

#[test]
fn a_command_that_only_looks_inside_the_workspace_is_not_asked_about() {
    for (command, expected) in [
        ("ls", "run"),
        ("ls -l src && cat src/a.rs", "run"),
        ("grep -rn needle src | head -5", "run"),
        ("cat /etc/passwd", "ask 1"),
        ("cat ../other/secret", "ask 1"),
        ("ls > listing.txt", "ask 1"),
        ("rm a", "ask 1"),
        ("cat $FILE", "ask 1"),
        ("ls; make", "ask 1"),
    ] {
        let made = decided(call("run_shell", json!({ "command": command })), Effect::Changes, &[], &[], Ask::Person);
        assert_eq!(made, expected, "{command}");
    }
    let outside = call("run_shell", json!({ "command": "ls", "workdir": "../.." }));
    assert_eq!(decided(outside, Effect::Changes, &[], &[], Ask::Person), "ask 1");
    let asks = [rule("run_shell", "ls*", Verdict::Ask)];
    let ruled = call("run_shell", json!({ "command": "ls" }));
    assert_eq!(decided(ruled, Effect::Changes, &asks, &[], Ask::Person), "ask 1", "a rule counts more");
}

#[test]
fn rules_of_the_process_that_took_the_message_hold_in_every_other() {
    let strict = [rule("write_file", "*", Verdict::Deny)];
    let lax = [rule("write_file", "*", Verdict::Allow)];
    let proposal =
        Proposal { call: call("write_file", json!({"path": "a"})), effect: Effect::Changes, questions: vec![] };
    let workdir = Path::new("/w");
    let rights = |configured, sent_under| CallRights {
        configured,
        sent_under,
        sender: &[],
        ask: Ask::All,
        remembered: &[],
        workdir,
        workspace: workdir,
    };
    assert_eq!(word(&decide(&proposal, &rights(&lax, &strict))), "refuse");
    assert_eq!(word(&decide(&proposal, &rights(&strict, &lax))), "refuse");
    assert_eq!(word(&decide(&proposal, &rights(&lax, &lax))), "run");
}

#[test]
fn a_remembered_form_covers_words_and_no_redirection() {
    let remembered = [rule("run_shell", "mkdir *", Verdict::Allow)];
    let workdir = Path::new("/w");
    let rights = CallRights {
        configured: &[],
        sent_under: &[],
        sender: &[],
        ask: Ask::Person,
        remembered: &remembered,
        workdir,
        workspace: workdir,
    };
    for (command, expected, rules) in [
        ("mkdir a", "run", vec!["mkdir *"]),
        ("mkdir a > .ai/hooks/config.json", "ask 1", vec![]),
        ("mkdir a && touch x", "ask 1", vec!["mkdir *", "touch *"]),
        ("./mkdir a", "ask 1", vec![]),
        ("mkdir $(x)", "ask 1", vec![]),
    ] {
        let made = call("run_shell", json!({ "command": command }));
        assert_eq!(forms_to_remember(&made, &rights), rules, "{command}");
        let proposal = Proposal { call: made, effect: Effect::Changes, questions: Vec::new() };
        assert_eq!(word(&decide(&proposal, &rights)), expected, "{command}");
    }
}
