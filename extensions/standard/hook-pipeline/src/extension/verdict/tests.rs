//! Every verdict, as the guard chain gets it.

use dispatch_contracts::conversation::ToolCall;
use dispatch_contracts::hooks::TurnRef;
use dispatch_hook_dialects::Reply;
use serde_json::json;

use super::*;

fn outcome(answer: Answer) -> Outcome {
    Outcome {
        reply: Reply::default(),
        report: None,
        problems: Vec::new(),
        context: Vec::new(),
        answer,
        out_of_time_at: None,
    }
}

fn applied(outcome: &Outcome) -> (ToolBefore, Result<Vec<String>, HandlerError>) {
    let turn = TurnRef { session: "s".into(), turn: "t".into(), workdir: "/project".into() };
    let call = ToolCall { id: "c".into(), name: "run_shell".to_owned(), arguments: serde_json::Map::new() };
    let mut value = ToolBefore { turn, call, denied: None, questions: Vec::new() };
    let result = apply(outcome, &mut value);
    (value, result)
}

fn denied(outcome: &Outcome) -> Option<(String, String)> {
    applied(outcome).0.denied.map(|denial| (denial.code, denial.reason))
}

#[test]
fn a_question_is_left_to_a_person() {
    let (value, _) = applied(&outcome(Answer::ask("It edits the rules.")));
    let asked: Vec<_> =
        value.questions.iter().map(|question| (question.code.as_str(), question.reason.as_str())).collect();
    assert_eq!((value.denied, asked), (None, vec![("POLICY", "It edits the rules.")]));
}

#[test]
fn a_refusal_carries_its_code_its_reason_and_its_context() {
    let mut answer = Answer { code: Some("UB01".to_owned()), ..Answer::deny("Too wide.") };
    answer.context.push("Name a folder.".to_owned());
    answer.updated_input = Some(json!({"command": "ls"}));
    let (value, context) = applied(&outcome(answer));
    let denial = value.denied.unwrap();
    assert_eq!((denial.code.as_str(), denial.reason.as_str()), ("UB01", "Too wide.\n\nName a folder."));
    assert_eq!((value.call.arguments.len(), context.unwrap().len()), (0, 0));
}

#[test]
fn a_rewrite_replaces_the_arguments_and_must_leave_some() {
    let mut answer = Answer { updated_input: Some(json!({"command": "ls"})), ..Answer::pass() };
    answer.context.push("bounded".to_owned());
    let (value, context) = applied(&outcome(answer));
    assert_eq!(Value::Object(value.call.arguments), json!({"command": "ls"}));
    assert_eq!((value.denied, context.unwrap()), (None, vec!["bounded".to_owned()]));
    let text = outcome(Answer { updated_input: Some(json!("ls")), ..Answer::pass() });
    assert!(applied(&text).1.is_err());
}

#[test]
fn a_guard_that_was_not_asked_has_not_agreed() {
    let late = Outcome { out_of_time_at: Some("graph-pretooluse".to_owned()), ..outcome(Answer::pass()) };
    assert_eq!(denied(&late).unwrap().0, "BUDGET_EXCEEDED");
    assert_eq!(denied(&outcome(Answer::pass())), None);
}

#[test]
fn an_objection_where_nothing_can_be_refused_is_text() {
    let mut answer = Answer { code: Some("ST01".to_owned()), ..Answer::deny("Tests are owed.") };
    answer.context.push("more".to_owned());
    assert_eq!(texts(&outcome(answer)), ["ST01: Tests are owed.", "more"]);
    assert!(texts(&outcome(Answer::ask("ignored"))).is_empty());
}

#[test]
fn a_halt_refuses_the_call() {
    let halted = outcome(Answer { halt: Some("Budget exceeded".to_owned()), ..Answer::granted() });
    assert_eq!(denied(&halted), Some(("HALT".to_owned(), "Budget exceeded".to_owned())));
}

#[test]
fn a_new_result_is_text_whatever_a_module_gave() {
    let replaced = |value| new_result(&outcome(Answer { updated_output: value, ..Answer::pass() }));
    assert_eq!(replaced(Some(json!("[redacted]"))).as_deref(), Some("[redacted]"));
    assert_eq!(replaced(Some(json!({"rows": 1}))).as_deref(), Some(r#"{"rows":1}"#));
    assert_eq!(replaced(None), None);
}
