//! Questions to people are rows: whoever is attached sees them, and the first answer counts.

use crate::run_workspace::{RunWorkspace, wait_until};
use dispatch_support::{Output, Recorded, Reply, ScriptedModel, Served, Step, Terminal};
use serde_json::{Value, json};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// `[[COMMAND]]` in the last message is run; what a tool said is repeated.
pub(crate) fn answer(request: &Recorded) -> Reply {
    let body = request.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.last().cloned().unwrap_or_default();
    let text = last["content"].as_str().unwrap_or_default().to_owned();
    if last["role"] == "tool" {
        return Reply::say(&format!("It said: {text}"));
    }
    match text.split_once("[[").and_then(|(_, rest)| rest.split_once("]]")) {
        Some((command, _)) if text.starts_with("say it") => {
            let call = json!({ "command": command }).to_string();
            let function = json!({ "name": "run_shell", "arguments": call });
            let call = json!({ "tool_calls": [{ "index": 0, "id": "c1", "type": "function", "function": function }] });
            Reply::steps([
                Step::say("Let me see."),
                Step::event(&json!({ "choices": [{ "index": 0, "delta": call, "finish_reason": null }] })),
                Step::event(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] })),
                Step::done(),
            ])
        }
        Some((command, _)) => Reply::call(&[("c1", "run_shell", json!({ "command": command }))]),
        None => Reply::say("hello"),
    }
}

/// A home whose model asks for commands.
pub(crate) struct Asking {
    pub(crate) workspace: RunWorkspace,
}

impl Asking {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(settings: &[&str]) -> Self {
        Self { workspace: RunWorkspace::new(ScriptedModel::answering(answer), settings) }
    }

    pub(crate) fn chat(&self, session: &str) -> Terminal {
        let mut command = self.workspace.context.command("dispatch");
        command.env("DISPATCH_BASE_URL", self.workspace.model.base_url()).env("DISPATCH_MODEL", "scripted");
        command.args(["chat", "--session", session]);
        Terminal::start(command)
    }

    pub(crate) fn dispatch(&self, arguments: &[&str]) -> Output {
        self.workspace.context.dispatch(arguments)
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.workspace.context.command("dispatch");
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the executable starts")
    }

    /// The open questions, once there is one.
    pub(crate) fn question(&self) -> Value {
        let open = || self.dispatch(&["approvals", "list", "--json"]).json();
        wait_until("a question is open", || open().as_array().is_some_and(|list| !list.is_empty()));
        open()[0].clone()
    }

    pub(crate) fn lines(&self, file: &str) -> usize {
        let text = std::fs::read_to_string(self.workspace.context.project().join(file)).unwrap_or_default();
        text.lines().count()
    }
}

pub(crate) fn submit(served: &Served, session: &str, command: &str) -> String {
    served.client.submit(session, &json!({ "text": format!("run [[{command}]]"), "ask": "person" }))
}

#[test]
fn the_question_of_another_process_appears_in_chat_and_yes_runs_the_call_once() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    let first = submit(&served, "main", "echo ran >> ran.txt");
    asking.question();
    // The server has the session: the chat's message waits behind the one that asks.
    let mut terminal = asking.chat("main");
    terminal.wait_for("main · scripted > ");
    terminal.press("hello\r");
    let began = Instant::now();
    let asked = terminal.wait_for("[N]o: ");
    assert!(asked.contains("echo ran >> ran.txt") && !asked.contains("always"), "{asked}");
    assert!(began.elapsed() < Duration::from_secs(30), "it came after {:?}", began.elapsed());
    terminal.press("y\r");
    assert_eq!(served.client.ended(&first)["state"], "done");
    assert_eq!(asking.lines("ran.txt"), 1);
    terminal.wait_for("main · scripted > ");

    // A message of the chat that the server runs asks in the chat too, and a reason reaches the model.
    let blocker = submit(&served, "main", "echo other >> ran.txt");
    terminal.press("run [[rm ran.txt]]\r");
    terminal.wait_for("[N]o: ");
    terminal.press("n\r");
    assert_eq!(served.client.ended(&blocker)["state"], "done");
    let asked = terminal.wait_for("[N]o: ");
    assert!(asked.contains("rm ran.txt"), "{asked}");
    terminal.press("no, it is still needed\r");
    terminal.wait_for("It said: ");
    terminal.wait_for("The user said no: it is still needed");
    assert_eq!(asking.lines("ran.txt"), 1);
    terminal.wait_for("main · scripted > ");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().0, 0);
}

#[test]
fn of_two_terminals_that_answer_at_once_one_wins() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    let dispatch = submit(&served, "main", "echo ran >> ran.txt");
    asking.question();
    let mut terminals = [asking.chat("main"), asking.chat("main")];
    for terminal in &mut terminals {
        terminal.wait_for("main · scripted > ");
        terminal.press("hello\r");
        terminal.wait_for("[N]o: ");
    }
    let [first, second] = &mut terminals;
    first.press("y\r");
    second.press("n\r");
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    for terminal in &mut terminals {
        terminal.wait_for("hello");
    }
    let audit = asking.dispatch(&["approvals", "list", "--all", "--json"]).json();
    assert_eq!(audit.as_array().map(Vec::len), Some(1), "{audit}");
    let allowed = audit[0]["state"] == "allowed";
    assert!(allowed || audit[0]["state"] == "denied", "{audit}");
    assert_eq!(asking.lines("ran.txt"), usize::from(allowed), "{audit}");
    assert_eq!(audit[0]["answeredFrom"], "chat", "{audit}");
}

#[test]
fn commands_answer_once_remember_and_forget() {
    let asking = Asking::new();
    asking.workspace.context.allow_policy_changes();
    let served = asking.workspace.start();
    let dispatch = submit(&served, "main", "git tag one");
    let question = asking.question();
    let id = question["id"].as_str().expect("an id").to_owned();
    let mut names: Vec<&String> = question.as_object().expect("an object").keys().collect();
    names.sort();
    assert_eq!(names, ["dispatch", "expires", "folder", "id", "session", "summary", "tool"]);
    assert_eq!(question["dispatch"], dispatch.as_str());
    assert_eq!(question["folder"], "[TEST]/project");

    let answers: Vec<_> =
        (0..2).map(|_| asking.start(&["approvals", "answer", &id, "allow", "--remember", "--json"])).collect();
    let ends: Vec<_> = answers.into_iter().map(|child| child.wait_with_output().expect("its end")).collect();
    let mut statuses: Vec<_> = ends.iter().map(|end| end.status.code()).collect();
    statuses.sort();
    assert_eq!(statuses, [Some(0), Some(2)], "{ends:?}");
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    let audit = asking.dispatch(&["approvals", "list", "--all", "--json"]).json();
    assert_eq!((&audit[0]["state"], &audit[0]["answeredFrom"]), (&"allowed".into(), &"command line".into()), "{audit}");
    assert!(audit[0]["answeredAt"].is_string(), "{audit}");

    // The same form is not asked about again, in this project, until it is removed.
    let again = submit(&served, "main", "git tag two");
    assert_eq!(served.client.ended(&again)["state"], "done");
    let listed = asking.dispatch(&["permissions", "list", "--json"]).json();
    let permission = &listed["permissions"][0];
    assert_eq!((&permission["permission"], &permission["target"]), (&"run_shell".into(), &"git tag *".into()));
    let elsewhere = asking.workspace.context.home();
    let other = asking.dispatch(&["--project", &elsewhere.to_string_lossy(), "permissions", "list", "--json"]).json();
    assert_eq!(other["permissions"], json!([]));
    let removed = asking.dispatch(&["permissions", "remove", permission["id"].as_str().expect("an id")]);
    assert_eq!(removed.status, 0, "{removed:?}");
    let asked = submit(&served, "main", "git tag three");
    let id = asking.question()["id"].as_str().expect("an id").to_owned();
    let denied = asking.dispatch(&["approvals", "answer", &id, "deny", "--reason", "enough tags"]);
    assert_eq!(denied.status, 0, "{denied:?}");
    assert_eq!(served.client.ended(&asked)["state"], "done");
    let history = served.client.get("/v1/sessions/main/messages").body;
    assert!(history.contains("The user said no: enough tags"), "{history}");
}

#[test]
fn an_agent_cannot_answer_its_own_question() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    let dispatch = submit(&served, "main", "touch made.txt");
    let id = asking.question()["id"].as_str().expect("an id").to_owned();
    let program = asking.workspace.context.command("dispatch").get_program().to_string_lossy().into_owned();
    let command = format!("{program} approvals answer {id} allow");
    let text = json!({ "text": format!("run [[{command}]]"), "ask": "all" });
    assert_eq!(served.client.ended(&served.client.submit("other", &text))["state"], "done");
    let said = served.client.get("/v1/sessions/other/messages").body;
    assert!(said.contains("cannot answer a question"), "{said}");
    let path = format!("/v1/approvals/{id}");
    assert_eq!(
        served.client.post(&path, &json!({ "answer": "allow" })).status,
        403,
        "the server's token is not enough"
    );
    assert_eq!(asking.question()["id"], id.as_str(), "it is still open");
    let person = std::fs::read_to_string(asking.workspace.context.home().join("approval-token")).expect("its token");
    let mut client = served.client.clone();
    client.token = Some(person.trim().to_owned());
    assert_eq!(client.post(&path, &json!({ "answer": "allow" })).status, 200);
    assert_eq!(served.client.ended(&dispatch)["state"], "done");
    assert!(asking.workspace.context.project().join("made.txt").exists());
}

#[test]
fn a_chat_that_goes_on_shows_what_was_said_last_and_takes_no_model_that_is_not_there() {
    let asking = Asking::new();
    let served = asking.workspace.start();
    assert_eq!(served.client.say("main", "an earlier message")["state"], "done");
    assert_eq!(served.client.say("main", "the last message")["state"], "done");
    drop(served);
    let mut command = asking.workspace.context.command("dispatch");
    command.env("DISPATCH_BASE_URL", asking.workspace.model.base_url()).env("DISPATCH_MODEL", "scripted");
    command.args(["chat", "--continue"]);
    let mut terminal = Terminal::start(command);
    let shown = terminal.wait_for("main · scripted > ");
    assert!(shown.contains("the last message") && shown.contains("hello"), "{shown}");
    assert!(!shown.contains("an earlier message"), "{shown}");
    terminal.press("/model nobody\r");
    terminal.wait_for("unknown model `nobody`");
    terminal.wait_for("main · scripted > ");
    terminal.press("/model scripted\r");
    terminal.wait_for("scripted answers from the next message on");
    terminal.wait_for("main · scripted > ");
    terminal.press("\u{4}");
    assert_eq!(terminal.finish().0, 0);
}
