//! `kill -9` of the server during turns with tools: nothing that was acknowledged is lost, nothing is done twice.

mod rounds;

use crate::run_workspace::conversation::{call_texts, results, said};
use crate::run_workspace::{RunWorkspace, alive, kill_with_own_children, wait_until};
use dispatch_support::{Reply, ScriptedModel, Step};
use serde_json::{Value, json};

/// What stands in the history for a reply that broke off.
const INTERRUPTED: &str = "This reply was interrupted";

/// A model that makes these calls when it is asked first, and says something ever after.
fn calling(calls: Vec<(&'static str, &'static str, Value)>) -> ScriptedModel {
    ScriptedModel::answering(move |request| {
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        let asked_first = messages.iter().filter(|message| message["role"] == "user").count() == 1;
        let is_new = messages.last().is_some_and(|message| message["role"] == "user");
        if asked_first && is_new { Reply::call(&calls) } else { Reply::say("I see.") }
    })
}

fn shell(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "run_shell", json!({ "command": command }))
}

#[test]
fn a_result_that_had_arrived_survives_beside_one_that_had_not() {
    for slow_first in [false, true] {
        let fast = shell("fast", "echo the fast one");
        let slow = shell("slow", "sleep 600; echo the slow one");
        let model = calling(if slow_first { vec![slow, fast] } else { vec![fast, slow] });
        let workspace =
            RunWorkspace::new(model, &["tool_dispatch.max_concurrent=4", "extensions.tool-shell.overlap=true"]);
        let mut served = workspace.start();
        let dispatch = served.client.submit("s", &json!({"text": "do both", "ask": "all"}));
        let arrived = || {
            call_texts(&workspace.history(&served.client, "s")).iter().any(|(_, text)| text.contains("the fast one"))
        };
        wait_until("the fast result is stored", arrived);
        served.kill();
        let served = workspace.start();
        let view = served.client.ended(&dispatch);
        assert_eq!(view["state"], "done", "{view}");
        assert!(view["reason"].as_str().unwrap().contains("interrupted"), "{view}");
        assert_eq!(served.client.say("s", "go on")["state"], "done");
        let request = workspace.model.requests().last().expect("a request").json();
        let told = results(&request);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told["fast"].contains("the fast one"), "slow first: {slow_first}: {told:?}");
        assert!(told["slow"].contains("may or may not have taken effect"), "slow first: {slow_first}: {told:?}");
        workspace.check_requests();
    }
}

#[test]
fn half_a_reply_is_kept_and_marked() {
    let model = ScriptedModel::answering(|request| {
        if request.body.contains("go on") {
            return Reply::say("Where was I?");
        }
        Reply::steps([Step::say("I was about to tell "), Step::say("you"), Step::UntilClosedMs(600_000)])
    });
    let workspace = RunWorkspace::new(model, &[]);
    let mut served = workspace.start();
    let dispatch = served.client.submit("s", &json!({"text": "tell me"}));
    wait_until("the text is stored", || said(&workspace.history(&served.client, "s")).contains("about to tell you"));
    served.kill();
    let served = workspace.start();
    assert_eq!(served.client.ended(&dispatch)["state"], "done", "it is not asked again");
    let history = said(&workspace.history(&served.client, "s"));
    assert!(history.contains("I was about to tell you") && history.contains(INTERRUPTED), "{history}");
    assert_eq!(served.client.say("s", "go on")["state"], "done");
    let request = workspace.model.requests().last().expect("a request").body.clone();
    assert!(request.contains("I was about to tell you") && request.contains(INTERRUPTED), "{request}");
    workspace.check_requests();
}

#[test]
fn a_message_that_no_answer_began_for_is_answered_after_the_crash() {
    let slowly = [Step::SleepMs(400), Step::say("Here."), Step::done()];
    let model = ScriptedModel::answering(move |_| Reply::steps(slowly.clone()));
    let workspace = RunWorkspace::new(model, &[]);
    let mut served = workspace.start();
    let dispatch = served.client.submit("s", &json!({"text": "are you there"}));
    assert!(workspace.model.saw_requests_within(1, std::time::Duration::from_secs(30)));
    served.kill();
    let served = workspace.start();
    assert_eq!(served.client.ended(&dispatch)["reason"], "", "it is answered as if nothing had been");
    let history = workspace.history(&served.client, "s");
    assert_eq!(history.len(), 2, "one question and one answer: {history:?}");
    workspace.check_requests();
}

/// Commands that leave what they started behind in every way a shell knows.
fn family(marker: &str) -> String {
    format!(
        "setsid sleep {marker}1 & nohup sleep {marker}2 >/dev/null 2>&1 & (sleep {marker}3 &) ; \
         setsid -f env -i /bin/sleep {marker}4 </dev/null >/dev/null 2>&1; sleep {marker}5"
    )
}

#[test]
fn no_child_of_a_tool_outlives_the_server() {
    for guardians_too in [false, true] {
        let marker = format!("9{}{}", std::process::id(), u8::from(guardians_too));
        let mut command = family(&marker);
        if guardians_too {
            // Without a guardian only what still carries our token can be told from what others started.
            command = command.replace("env -i ", "");
        }
        let model = calling(vec![shell("family", &command)]);
        let workspace = RunWorkspace::new(model, &[]);
        let mut served = workspace.start();
        let _ = served.client.submit("s", &json!({"text": "go", "ask": "all"}));
        wait_until("all five run", || {
            alive(&marker).iter().filter(|line| line.starts_with("sleep") || line.starts_with("/bin/sleep")).count()
                == 5
        });
        if guardians_too {
            kill_with_own_children(&mut served);
        } else {
            served.kill();
            wait_until("the family is gone without anybody's help", || alive(&marker).is_empty());
        }
        let _served = workspace.start();
        wait_until("nothing is left after the restart", || alive(&marker).is_empty());
    }
}
