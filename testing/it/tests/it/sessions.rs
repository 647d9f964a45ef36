//! Conversations and their queue as commands, also while another process works on them.

use dispatch_support::{Output, Reply, ScriptedModel, Step, TestContext};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn chat(context: &TestContext, text: &str, session: &str) -> Output {
    let output = context.dispatch(&["--set", "model.provider=rehearsal", "chat", text, "--session", session]);
    assert_eq!(output.status, 0, "{output:?}");
    output
}

/// Ends the process, however the test ends.
struct EndedChild(Child);

impl Drop for EndedChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn labels(context: &TestContext) -> Vec<String> {
    let listed = context.dispatch(&["session", "list", "--json"]).json();
    let all = listed["sessions"].as_array().unwrap().iter();
    let mut labels: Vec<String> = all.map(|it| it["label"].as_str().unwrap().to_owned()).collect();
    labels.sort();
    labels
}

#[test]
fn sessions_are_read_and_arranged() {
    let context = TestContext::new();
    context.write("a.txt", "the content\n");
    assert_eq!(
        context.dispatch(&["session", "list"]).stdout,
        "no sessions here yet; `dispatch chat` starts one, `session list --all-folders` shows those of other folders\n"
    );
    chat(&context, "read a.txt", "main");
    let shown = context.dispatch(&["session", "show", "main", "--json"]).json();
    assert_eq!(shown["session"]["label"], "main");
    let roles: Vec<&Value> = shown["messages"].as_array().unwrap().iter().map(|it| &it["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    let told = context.dispatch(&["session", "show", "main"]).stdout;
    for part in ["you:\n  read a.txt\n", "● read_file {\"path\":\"a.txt\"}\n", "tools:\n  done\n", "the content"] {
        assert!(told.contains(part), "{part:?} is missing in {told}");
    }
    assert_eq!(context.dispatch(&["session", "fork", "main", "other"]).stdout, "other continues main\n");
    chat(&context, "what did I say before?", "other");
    assert_eq!(context.dispatch(&["session", "rename", "other", "third"]).status, 0);
    assert_eq!(labels(&context), ["main", "third"]);
    let hits = context.dispatch(&["session", "search", "content", "--json"]).json();
    assert!(!hits["hits"].as_array().unwrap().is_empty(), "{hits}");
    let export = context.dispatch(&["session", "export", "third"]).json();
    assert_eq!((&export["format"], export["turns"].as_array().unwrap().len()), (&"dispatch-conversation/1".into(), 2));
    assert_eq!(context.dispatch(&["session", "delete", "main"]).status, 0);
    assert_eq!(labels(&context), ["third"]);
    // The turn that the fork shares is still there.
    assert!(context.dispatch(&["session", "show", "third"]).stdout.contains("the content"));
}

#[test]
fn what_is_not_there_is_a_usage_error_with_a_hint() {
    let context = TestContext::new();
    for arguments in [
        &["session", "show", "nobody"][..],
        &["session", "export", "nobody"],
        &["session", "fork", "nobody", "new"],
        &["session", "rename", "nobody", "new"],
        &["session", "delete", "nobody"],
        &["queue", "cancel", "nothing"],
    ] {
        let output = context.dispatch(arguments);
        assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{arguments:?}: {output:?}");
        assert!(output.stderr.contains("hint: `dispatch "), "{arguments:?}: {output:?}");
    }
}

#[test]
fn commands_work_beside_a_server_on_the_same_database() {
    let context = TestContext::new();
    let mut serving = context.command("dispatch");
    serving.args(["--set", "model.provider=rehearsal", "serve", "--listen", "127.0.0.1:0"]);
    let mut child = EndedChild(serving.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening on http://127.0.0.1:"), "{line}");
    chat(&context, "my cat is called Ada", "main");
    assert!(chat(&context, "what did I say before?", "main").stdout.contains("my cat is called Ada"));
    assert_eq!(labels(&context), ["main"]);
    assert_eq!(context.dispatch(&["queue", "show"]).stdout, "no messages wait or run\n");
    assert_eq!(context.dispatch(&["session", "rename", "main", "cats"]).status, 0);
    assert!(chat(&context, "what did I say before?", "cats").stdout.contains("what did I say before?"));
}

#[test]
fn a_turn_of_another_process_is_seen_and_stopped() {
    let model = ScriptedModel::playing([Reply::steps([Step::UntilClosedMs(60_000)])]);
    let context = TestContext::new();
    let mut chatting = context.command("dispatch");
    let server = format!("model.base_url={}", model.base_url());
    chatting.args(["--set", &server, "--set", "model.model=m", "chat", "think long", "--session", "main", "--json"]);
    let child = chatting.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(model.saw_requests_within(1, Duration::from_secs(60)), "the model was not asked");
    let queue = context.dispatch(&["queue", "show", "--json"]).json();
    let running = &queue["queue"][0];
    assert_eq!((&running["session"], &running["state"]), (&"main".into(), &"running".into()), "{queue}");
    let refused = context.dispatch(&["session", "delete", "main"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    let id = running["id"].as_str().unwrap();
    assert!(refused.stderr.contains(&format!("dispatch queue cancel {id}")), "{refused:?}");
    let cancelled = context.dispatch(&["queue", "cancel", id, "--json"]).json();
    assert_eq!(cancelled["outcome"], "stopping");
    let asked = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(50), "it was not stopped, it ended");
    let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &outcome["status"]), (Some(1), &"cancelled".into()), "{outcome}");
    let late = context.dispatch(&["queue", "cancel", id]);
    assert_eq!((late.status, late.stdout), (1, format!("{id} had already ended\n")));
}
