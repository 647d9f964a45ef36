//! Bad answers of the model's server, through the real binary: told clearly, and the session goes on.

use crate::run_workspace::RunWorkspace;
use crate::run_workspace::conversation::{calls, said};
use dispatch_contracts::conversation::ResultStatus;
use dispatch_support::{Reply, ScriptedModel, Step};
use serde_json::{Value, json};

/// What a bad answer leads to.
struct StreamCase {
    /// What the user says; the server answers by it.
    name: &'static str,
    reply: Reply,
    /// What the end of the turn is said to be; nothing when it ends well.
    reason: &'static [&'static str],
    /// What the history holds afterwards.
    kept: &'static str,
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Step {
    Step::event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn half_a_call() -> Step {
    let function = json!({"name": "run_shell", "arguments": "{\"command\": \"touch half"});
    Step::event(&delta(&json!({"tool_calls": [{"index": 0, "id": "half", "type": "function", "function": function}]})))
}

fn cases() -> Vec<StreamCase> {
    let text = |text: &str| Step::Text(text.to_owned());
    let words = "data: {\"choices\":[{\"delta\":{\"content\":\"gr\u{fc}\u{df} \u{4e16}\u{754c}\"}}]}\n\n";
    vec![
        StreamCase {
            name: "truncated json",
            reply: Reply::steps([
                Step::say("before it broke"),
                text("data: {\"choices\":[{\"delta\":{\"con\n\n"),
                Step::done(),
            ]),
            reason: &["the model could not answer"],
            kept: "before it broke",
        },
        StreamCase {
            name: "split utf-8",
            reply: Reply::steps([Step::ByteByByte(words.to_owned()), finish("stop"), Step::done()]),
            reason: &[],
            kept: "gr\u{fc}\u{df} \u{4e16}\u{754c}",
        },
        StreamCase {
            name: "no utf-8",
            reply: Reply::steps([
                Step::say("fine so far"),
                Step::Bytes(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n".to_vec()),
                finish("stop"),
                Step::done(),
            ]),
            reason: &[],
            kept: "fine so far",
        },
        StreamCase {
            name: "unknown events",
            reply: Reply::steps([
                text(": a comment\n\nevent: ping\ndata: {}\n\nid: 7\nretry: 10\n\ndata: {\"object\":\"news\"}\n\n"),
                Step::say("still here"),
                text("data: {\"choices\":[]}\n\ndata: {\"choices\":[{\"delta\":{\"mood\":[1]}}]}\n\n"),
                finish("stop"),
                Step::done(),
            ]),
            reason: &[],
            kept: "still here",
        },
        StreamCase {
            name: "no done",
            reply: Reply::steps([Step::say("over without a word"), finish("stop")]),
            reason: &[],
            kept: "over without a word",
        },
        StreamCase {
            name: "no end",
            reply: Reply::steps([Step::say("over without a reason"), Step::Cut]),
            reason: &["the model could not answer"],
            kept: "over without a reason",
        },
        StreamCase {
            name: "error for an answer",
            reply: Reply::json(200, &json!({"error": {"message": "the tank is empty", "code": "no_fuel"}})),
            reason: &["the model could not answer", "the tank is empty"],
            kept: "",
        },
        StreamCase {
            name: "error in the stream",
            reply: Reply::steps([Step::say("so far"), Step::event(&json!({"error": {"message": "the tank leaks"}}))]),
            reason: &["the model could not answer", "the tank leaks"],
            kept: "so far",
        },
        StreamCase {
            name: "page for people",
            reply: Reply::html(200, "<html><body>Please sign in</body></html>"),
            reason: &["the model could not answer"],
            kept: "",
        },
        StreamCase {
            name: "reset in a call",
            reply: Reply::steps([Step::say("I will"), half_a_call(), Step::SleepMs(50), Step::Reset]),
            reason: &["the model could not answer"],
            kept: "I will",
        },
        StreamCase {
            name: "ten megabytes at once",
            reply: Reply::steps([Step::say(&"x".repeat(10 * 1024 * 1024)), finish("stop"), Step::done()]),
            reason: &["limit"],
            kept: "interrupted",
        },
    ]
}

#[test]
fn a_bad_answer_is_told_and_the_session_goes_on() {
    let script: Vec<(&str, Reply)> = cases().into_iter().map(|case| (case.name, case.reply)).collect();
    let model = ScriptedModel::answering(move |request| {
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned();
        let known = script.iter().find(|(name, _)| *name == last);
        known.map_or_else(|| Reply::say("and so on"), |(_, reply)| reply.clone())
    });
    let workspace = RunWorkspace::new(model, &[]);
    let served = workspace.start();
    for (at, case) in cases().iter().enumerate() {
        let (name, session) = (case.name, format!("s{at}"));
        let view = served.client.say(&session, name);
        let reason = view["reason"].as_str().unwrap_or_default();
        assert_eq!(view["state"], "done", "{name}: {view}");
        assert_eq!(reason.is_empty(), case.reason.is_empty(), "{name}: {view}");
        assert!(case.reason.iter().all(|part| reason.contains(part)), "{name}: {reason}");
        assert!(reason.len() < 2_000, "{name}: {reason}");
        let turns = served.client.get(&format!("/v1/sessions/{session}/messages")).json()["turns"].clone();
        let end = turns[0]["end"].to_string();
        assert_eq!(end.contains("finished"), case.reason.is_empty(), "{name}: the history says how it ended: {end}");
        let history = said(&workspace.history(&served.client, &session));
        assert!(history.contains(case.kept), "{name}: {:.2000}", history);
        let next = served.client.say(&session, "next");
        assert_eq!((next["state"].as_str(), next["reason"].as_str()), (Some("done"), Some("")), "{name}: {next}");
        assert!(said(&workspace.history(&served.client, &session)).ends_with("and so on"), "{name}");
    }
    assert!(!workspace.context.project().join("half").exists(), "half a call is not run");
    workspace.check_requests();
}

#[test]
fn calls_with_one_id_are_told_apart() {
    let model = ScriptedModel::answering(|request| {
        if request.body.contains("\"tool_call_id\"") {
            return Reply::say("both are there");
        }
        let write = |text: &str| json!({ "command": format!("echo {text} >> twice.txt") });
        Reply::call(&[("same", "run_shell", write("one")), ("same", "run_shell", write("two"))])
    });
    let workspace = RunWorkspace::new(model, &[]);
    let served = workspace.start();
    assert_eq!(served.client.say("s", "go")["reason"], "");
    let ended = calls(&workspace.history(&served.client, "s"));
    assert_eq!(ended.iter().map(|(_, status)| *status).collect::<Vec<_>>(), [ResultStatus::Succeeded; 2], "{ended:?}");
    assert_eq!(
        std::fs::read_to_string(workspace.context.project().join("twice.txt")).unwrap_or_default(),
        "one\ntwo\n"
    );
    workspace.check_requests();
}

#[test]
fn the_next_model_answers_when_the_first_cannot() {
    let model = ScriptedModel::answering(|request| match request.json()["model"].as_str() {
        Some("second") => Reply::say("I am the second."),
        _ => Reply::json(500, &json!({"error": {"message": "out of order"}})),
    });
    let workspace = RunWorkspace::new(model, &["model.fallbacks=[\"second\"]"]);
    let served = workspace.start();
    let view = served.client.say("s", "who are you");
    assert_eq!((view["state"].as_str(), view["reason"].as_str()), (Some("done"), Some("")), "{view}");
    assert!(said(&workspace.history(&served.client, "s")).contains("I am the second."));
    let asked = workspace.model.requests().into_iter().filter(|request| request.method == "POST");
    let asked: Vec<String> = asked.map(|request| request.json()["model"].to_string()).collect();
    assert_eq!(asked.first().map(String::as_str), Some("\"scripted\""), "{asked:?}");
    assert_eq!(asked.last().map(String::as_str), Some("\"second\""), "{asked:?}");
}
