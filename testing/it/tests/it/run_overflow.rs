//! Conversations that outgrow their model, with a server that counts tokens and refuses what does not fit.

use crate::run_workspace::conversation::said;
use crate::run_workspace::{RunWorkspace, wait_until};
use crate::seeded_random::SeededRandom;
use dispatch_support::{Recorded, Reply, ScriptedModel, Step, slow_lane};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// How many tokens fit the model of these tests: our own system text and tools take about a third.
const WINDOW: usize = 6_000;

/// How this server counts: a token for four letters of everything that is sent.
fn tokens(request: &Value) -> usize {
    (request["messages"].to_string().len() + request["tools"].to_string().len()) / 4
}

fn last_text(request: &Value) -> String {
    let last = request["messages"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
    last["content"].as_str().unwrap_or_default().to_owned()
}

/// The facts that a text names.
fn facts(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.filter(|word| word.starts_with("fact-")).map(str::to_owned).collect()
}

fn wants_summary(request: &Value) -> bool {
    request["messages"][0]["content"].as_str().is_some_and(|text| text.starts_with("You summarise"))
}

/// Refuses what does not fit, in these words; summarises by naming the facts it was told; else agrees.
fn strict(refusal: fn(usize) -> Value, summarises: bool) -> ScriptedModel {
    ScriptedModel::answering(move |request: &Recorded| {
        let request = request.json();
        let count = tokens(&request);
        if count > WINDOW {
            return Reply::json(400, &refusal(count));
        }
        if wants_summary(&request) {
            let known: Vec<String> = facts(&last_text(&request)).into_iter().collect();
            return match summarises {
                true => Reply::say(&format!("The user told: {}.", known.join(" "))),
                false => Reply::json(400, &json!({"error": {"message": "this model does not summarise"}})),
            };
        }
        Reply::say("I see.")
    })
}

fn openai(count: usize) -> Value {
    let message = format!(
        "This model's maximum context length is {WINDOW} tokens. However, your messages resulted in {count} tokens."
    );
    json!({"error": {"message": message, "type": "invalid_request_error", "code": "context_length_exceeded"}})
}

fn anthropic(count: usize) -> Value {
    let message = format!("prompt is too long: {count} tokens > {WINDOW} maximum");
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
}

fn wordless(_: usize) -> Value {
    json!({"error": {"message": "the input exceeds the context window", "code": "context_length_exceeded"}})
}

/// What the model was asked to answer, in order.
fn asked(workspace: &RunWorkspace) -> Vec<Value> {
    let requests = workspace.model.requests().into_iter().filter(|request| request.method == "POST");
    requests.map(|request| request.json()).collect()
}

/// The last request that was not for a summary.
fn last_answered(workspace: &RunWorkspace) -> Value {
    asked(workspace).into_iter().rfind(|request| !wants_summary(request)).expect("a request")
}

/// A message with a fact in it, of about a tenth of the window.
fn long_message(number: usize) -> String {
    format!("Remember fact-{number}. {}", "Nothing of this matters much. ".repeat(80))
}

#[test]
fn a_session_goes_on_after_its_history_outgrew_the_model() {
    for (refusal, summarises) in [(openai as fn(usize) -> Value, true), (anthropic, true), (wordless, false)] {
        let workspace = RunWorkspace::new(strict(refusal, summarises), &[]);
        let served = workspace.start();
        for number in 0..16 {
            let view = served.client.say("s", &long_message(number));
            assert_eq!(view["reason"], "", "message {number}");
        }
        let requests = asked(&workspace);
        assert!(requests.iter().any(|request| tokens(request) > WINDOW), "it did not fit at some time");
        let last = last_answered(&workspace);
        let known = facts(&last["messages"].to_string());
        assert!(known.contains("fact-0") && known.contains("fact-15"), "what was summarised is known: {known:?}");
        let history = said(&workspace.history(&served.client, "s"));
        assert_eq!(facts(&history).len(), 16, "the conversation itself is whole");
        assert_eq!(history.matches("Nothing of this matters much.").count(), 16 * 80);
        workspace.check_requests();
    }
}

#[test]
fn a_known_window_is_not_exceeded_at_all() {
    let window = format!("compaction.window={}", WINDOW * 3 / 4);
    let workspace = RunWorkspace::new(strict(openai, true), &[&window, "compaction.keep=2"]);
    let served = workspace.start();
    for number in 0..16 {
        assert_eq!(served.client.say("s", &long_message(number))["reason"], "", "message {number}");
    }
    let requests = asked(&workspace);
    assert!(requests.iter().all(|request| tokens(request) <= WINDOW), "nothing was refused");
    assert!(requests.iter().any(wants_summary), "because it was summarised before");
}

#[test]
fn a_known_window_is_made_free_behind_the_turn_that_filled_it() {
    // System text and tools take a quarter of this window, five messages a third, and the story another.
    let wide = WINDOW * 2;
    let model = ScriptedModel::answering(move |request| {
        let request = request.json();
        match last_text(&request).as_str() {
            text if wants_summary(&request) => {
                let known: Vec<String> = facts(text).into_iter().collect();
                Reply::say(&format!("The user told: {}.", known.join(" ")))
            }
            "Tell a story." => Reply::say(&"Once upon a time. ".repeat(wide / 18)),
            _ => Reply::say("I see."),
        }
    });
    let window = format!("compaction.window={wide}");
    let workspace = RunWorkspace::new(model, &[&window, "compaction.keep=1", "compaction.at=0.7"]);
    let served = workspace.start();
    for number in 0..5 {
        assert_eq!(served.client.say("s", &long_message(number))["reason"], "", "message {number}");
    }
    let summaries = || asked(&workspace).iter().filter(|request| wants_summary(request)).count();
    assert_eq!(summaries(), 0, "there is room");
    assert_eq!(served.client.say("s", "Tell a story.")["reason"], "");
    wait_until("a summary is asked for although nobody says anything", || summaries() == 1);
    assert_eq!(served.client.say("s", "What do you know?")["reason"], "");
    let last = last_answered(&workspace);
    let text = last["messages"].to_string();
    assert_eq!(facts(&text).len(), 5, "{text:.500}");
    assert!(!text.contains("Nothing of this matters much.") && text.contains("Once upon a time."), "{text:.500}");
    assert_eq!(summaries(), 1, "the next turn found it ready");
    let undone = workspace.context.dispatch(&["session", "undo", "s", "--json"]).json();
    assert_eq!((&undone["undone"]["by"], &undone["undone"]["turns"]), (&"model".into(), &5.into()), "{undone}");
    let again = workspace.context.dispatch(&["session", "undo", "s"]);
    assert_ne!(again.status, 0, "it was the only one: {again:?}");
}

#[test]
fn a_fork_goes_on_too_and_an_undo_brings_the_original_back() {
    let workspace = RunWorkspace::new(strict(openai, true), &[]);
    let mut served = workspace.start();
    for number in 0..12 {
        assert_eq!(served.client.say("s", &long_message(number))["reason"], "");
    }
    served.kill();
    let forked = workspace.context.dispatch(&["session", "fork", "s", "t"]);
    assert_eq!(forked.status, 0, "{forked:?}");
    let mut served = workspace.start();
    let before = asked(&workspace).len();
    assert_eq!(served.client.say("t", "What do you know?")["reason"], "");
    let first = asked(&workspace).swap_remove(before);
    assert!(tokens(&first) <= WINDOW, "the fork begins with the summary");
    assert!(facts(&first["messages"].to_string()).contains("fact-0"));
    served.kill();
    let undone = workspace.context.dispatch(&["session", "undo", "s", "--json"]);
    assert_eq!(undone.status, 0, "{undone:?}");
    assert!(undone.json()["undone"]["turns"].as_u64().is_some_and(|turns| turns > 0), "{undone:?}");
    // What was summarised twice is taken back twice.
    while workspace.context.dispatch(&["session", "undo", "s"]).status == 0 {}
    let served = workspace.start();
    let before = asked(&workspace).len();
    assert_eq!(served.client.say("s", "Go on.")["reason"], "", "and it is summarised again when that is refused");
    let first = asked(&workspace).swap_remove(before);
    let text = first["messages"].to_string();
    assert!(tokens(&first) > WINDOW && text.matches("Nothing of this matters much.").count() >= 80 * 6, "{text:.500}");
    let nothing = workspace.context.dispatch(&["session", "undo", "nobody"]);
    assert_ne!(nothing.status, 0);
    assert!(nothing.stderr.contains("hint:"), "{nothing:?}");
}

#[test]
fn input_that_fits_no_model_fails_alone() {
    let workspace = RunWorkspace::new(strict(openai, true), &[]);
    let served = workspace.start();
    assert_eq!(served.client.say("s", "Remember fact-1.")["reason"], "");
    let view = served.client.say("s", &"far too long ".repeat(WINDOW));
    assert!(view["reason"].as_str().is_some_and(|reason| reason.contains("does not fit")), "{view:.300}");
    for text in ["Still there?", "And now?"] {
        assert_eq!(served.client.say("s", text)["reason"], "", "{text}");
    }
    let last = last_answered(&workspace);
    assert!(facts(&last["messages"].to_string()).contains("fact-1"));
    workspace.check_requests();
}

#[test]
fn outputs_of_one_turn_that_outgrow_the_model_are_cut() {
    let model = ScriptedModel::answering(|request| {
        let request = request.json();
        if tokens(&request) > WINDOW {
            return Reply::json(400, &openai(tokens(&request)));
        }
        let done = request["messages"].as_array().map_or(0, |all| all.iter().filter(|it| it["role"] == "tool").count());
        match done {
            0..4 => Reply::call(&[(&format!("c{done}"), "read_file", json!({ "path": format!("{done}.txt") }))]),
            _ => Reply::say("All read."),
        }
    });
    let workspace = RunWorkspace::new(model, &[]);
    for number in 0..4 {
        workspace.context.write(format!("{number}.txt"), format!("line of file {number}\n").repeat(600));
    }
    let served = workspace.start();
    assert_eq!(served.client.say("s", "Read the four files.")["reason"], "");
    let history = said(&workspace.history(&served.client, "s"));
    assert!(history.contains("All read."), "{history:.500}");
    workspace.check_requests();
}

#[test]
fn a_kill_at_any_moment_leaves_the_old_or_the_new_history() {
    let model = ScriptedModel::answering(|request| {
        let request = request.json();
        if tokens(&request) > WINDOW {
            return Reply::json(400, &openai(tokens(&request)));
        }
        if wants_summary(&request) {
            let known: Vec<String> = facts(&last_text(&request)).into_iter().collect();
            return Reply::steps([
                Step::SleepMs(40),
                Step::say(&format!("The user told: {}.", known.join(" "))),
                Step::event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})),
                Step::done(),
            ]);
        }
        Reply::say("I see.")
    });
    let workspace = RunWorkspace::new(model, &["compaction.keep=1"]);
    let seed = std::env::var("DISPATCH_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_117);
    let mut random = SeededRandom(seed);
    let rounds = if slow_lane() { 50 } else { 12 };
    let mut served = workspace.start();
    for number in 0..rounds {
        let dispatch = served.client.submit("s", &json!({"text": long_message(number), "ask": "all"}));
        std::thread::sleep(Duration::from_millis(random.below(150)));
        served.kill();
        served = workspace.start();
        let view = served.client.ended(&dispatch);
        assert_eq!(view["state"], "done", "round {number}: {view}");
        let history = said(&workspace.history(&served.client, "s"));
        assert_eq!(facts(&history).len(), number + 1, "round {number}: nothing is lost");
    }
    assert_eq!(served.client.say("s", "What do you know?")["reason"], "");
    let last = last_answered(&workspace);
    let known = facts(&last["messages"].to_string());
    assert_eq!(known.len(), rounds, "every fact is told or summarised: {known:?}");
    workspace.check_requests();
}
