//! A client on real pipes: what it says becomes events, and what becomes of runs is said to it.

use super::protocol::ClientExit;
use super::server::{LspPorts, serve};
use crate::approval::editor_approval::HookApprover;
use crate::contract::{
    Change, CustomEvent, Dormant, Event, ExecutionRecord, FileChange, HookSet, Metrics, Outcome, Problem, Receipt,
    RunId, RunQuery, Runs, RunsError, SendError, SentEvent, Source, Status, Trigger, Usage,
};
use dispatch_contracts::ports::{Clock, Spawner};
use dispatch_contracts::{BoxFuture, BoxStream};
use dispatch_os::paths::uri_of_path;
use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_util::StreamExt;
use futures_util::future::{pending, ready};
use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::{Value, json};
use std::io::{BufReader, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn record(hook: &str, id: &str, status: Status) -> ExecutionRecord {
    ExecutionRecord {
        id: RunId(id.to_owned()),
        hook_id: hook.to_owned(),
        start_ts: "2026-01-01T00:00:00.000Z".to_owned(),
        end_ts: status.is_over().then(|| "2026-01-01T00:00:02.500Z".to_owned()),
        status,
        exit_code: None,
        attempts: 1,
        logs: None,
        trigger: "onDidSaveTextDocument".to_owned(),
        files: vec![FileChange { path: "src/a.rs".to_owned(), change: Change::Changed, content_hash: None }],
        metadata: serde_json::Map::new(),
        content_hash: None,
        reason: String::new(),
        workspace: "/w".to_owned(),
        wrote: Vec::new(),
        usage: Usage::default(),
        session: None,
        patch: false,
        retry_of: None,
    }
}

/// Stands for the queue: keeps what it is given, and tells what it is told to.
struct RecordingRuns {
    submitted: Mutex<Sender<Event>>,
    set: Mutex<HookSet>,
    news: Mutex<Vec<UnboundedSender<ExecutionRecord>>>,
}

impl RecordingRuns {
    fn tell(&self, record: &ExecutionRecord) {
        self.news.lock().unwrap().iter().for_each(|news| news.unbounded_send(record.clone()).unwrap());
    }
}

impl Runs for RecordingRuns {
    fn refresh<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<HookSet, RunsError>> {
        Box::pin(ready(Ok(self.set.lock().unwrap().clone())))
    }
    fn submit(&self, event: Event) -> BoxFuture<'_, Result<Vec<Receipt>, RunsError>> {
        let _ = self.submitted.lock().unwrap().send(event);
        let receipt =
            Receipt { hook_id: "lint".to_owned(), run: Some(RunId("1".to_owned())), outcome: Outcome::Queued };
        Box::pin(ready(Ok(vec![receipt])))
    }
    fn send<'a>(
        &'a self,
        _: CustomEvent,
        _: &'a Path,
        _: &'a Path,
        _: &'a str,
    ) -> BoxFuture<'a, Result<SentEvent, SendError>> {
        Box::pin(ready(Ok(SentEvent { event: None, receipts: Vec::new(), is_busy: false })))
    }
    fn catch_up<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<bool, RunsError>> {
        Box::pin(ready(Ok(false)))
    }
    fn work<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<(), RunsError>> {
        Box::pin(pending())
    }
    fn idle<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<(), RunsError>> {
        Box::pin(ready(Ok(())))
    }
    fn run<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        Box::pin(ready(Ok(record("lint", id, Status::Success))))
    }
    fn list(&self, _: RunQuery) -> BoxFuture<'_, Result<Vec<ExecutionRecord>, RunsError>> {
        Box::pin(ready(Ok(vec![record("lint", "1", Status::Failed)])))
    }
    fn wait<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        self.run(&id.0)
    }
    fn cancel<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        Box::pin(ready(Err(RunsError::Unknown { what: "run", name: id.0.clone() })))
    }
    fn retry<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<RunId, RunsError>> {
        Box::pin(ready(Ok(RunId(format!("{id}-again")))))
    }
    fn news<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<BoxStream<'static, ExecutionRecord>, RunsError>> {
        let (send, receive) = unbounded();
        self.news.lock().unwrap().push(send);
        Box::pin(ready(Ok(receive.boxed())))
    }
    fn metrics<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<Metrics, RunsError>> {
        Box::pin(ready(Ok(Metrics::default())))
    }
    fn patch<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<Option<PathBuf>, RunsError>> {
        Box::pin(ready(Ok(None)))
    }
    fn patch_applied<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        self.run(&id.0)
    }
    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

struct TokioPorts;

impl Spawner for TokioPorts {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

impl Clock for TokioPorts {
    fn now_ms(&self) -> u64 {
        1_767_225_602_500
    }
    fn monotonic_ms(&self) -> u64 {
        0
    }
    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

struct TestEditor {
    _folder: tempfile::TempDir,
    root: PathBuf,
    queue: Arc<RecordingRuns>,
    submitted: Receiver<Event>,
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    ended: Receiver<ClientExit>,
    requests: i32,
}

impl TestEditor {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".akira")).unwrap();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::write(root.join(".akira/hooks.json"), "{ \"hooks\": [\n  { \"id\": \"lint\" }\n] }").unwrap();
        std::fs::write(root.join("src/a.rs"), "fn main() {}").unwrap();
        let (submit, submitted) = channel();
        let queue =
            Arc::new(RecordingRuns { submitted: Mutex::new(submit), set: Mutex::default(), news: Mutex::default() });
        let (server_input, input) = std::io::pipe().unwrap();
        let (output, server_output) = std::io::pipe().unwrap();
        let (end, ended) = channel();
        let wiring = LspPorts {
            runs: Arc::clone(&queue) as Arc<dyn Runs>,
            spawner: Arc::new(TokioPorts),
            clock: Arc::new(TokioPorts),
            fallback: root.clone(),
            data: root.join("data"),
            state: root.join("state"),
            approver: HookApprover::Person,
            opened: Box::new(|_| {}),
            leaving: Box::new(|| Box::pin(ready(()))),
        };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let input = Box::new(BufReader::new(server_input));
            let ending = runtime.block_on(serve(input, Box::new(server_output), wiring)).unwrap();
            end.send(ending).unwrap();
        });
        let output = BufReader::new(output);
        Self { _folder: folder, root, queue, submitted, input: Some(input), output, ended, requests: 0 }
    }

    /// A client that has got as far as `initialized`.
    fn initialized() -> Self {
        let mut editor = Self::new();
        let capabilities = json!({
            "textDocument": { "synchronization": { "willSave": true, "willSaveWaitUntil": true, "didSave": true } },
            "window": { "workDoneProgress": true },
            "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } },
        });
        let folders = json!([{ "uri": uri_of_path(&editor.root), "name": "w" }]);
        let answer = editor.ask("initialize", json!({
            "processId": std::process::id(), "rootUri": null, "workspaceFolders": folders, "capabilities": capabilities,
        }));
        assert_eq!(answer["capabilities"]["textDocumentSync"]["save"]["includeText"], false);
        editor.tell("initialized", json!({}));
        editor.until(|message| log_of(message).is_some_and(|text| text.contains("hooks are on")));
        editor
    }

    fn uri(&self, path: &str) -> String {
        uri_of_path(&self.root.join(path))
    }

    fn send(&mut self, message: &Message) {
        message.write(self.input.as_mut().unwrap()).unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&Notification { method: method.to_owned(), params }.into());
    }

    fn tell_document(&mut self, method: &str, path: &str) {
        let uri = self.uri(path);
        self.tell(method, json!({ "textDocument": { "uri": uri } }));
    }

    fn answer_to(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        self.send(&Request { id: id.clone(), method: method.to_owned(), params }.into());
        let found = self.until(|message| matches!(message, Message::Response(response) if response.id == id));
        let Message::Response(response) = found else { panic!("a response") };
        response.response_result.map_err(|error| (error.code, error.message))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.answer_to(method, params).unwrap()
    }

    fn until(&mut self, wanted: impl Fn(&Message) -> bool) -> Message {
        loop {
            let message = Message::read(&mut self.output).unwrap().expect("the server speaks");
            if wanted(&message) {
                return message;
            }
        }
    }

    fn notified(&mut self, method: &str) -> Value {
        let found = self
            .until(|message| matches!(message, Message::Notification(notification) if notification.method == method));
        let Message::Notification(notification) = found else { panic!("a notification") };
        notification.params
    }

    fn event(&self) -> Event {
        self.submitted.recv_timeout(PATIENCE).unwrap()
    }
}

fn log_of(message: &Message) -> Option<&str> {
    match message {
        Message::Notification(notification) if notification.method == "window/logMessage" => {
            notification.params["message"].as_str()
        }
        _ => None,
    }
}

#[test]
fn a_save_becomes_an_event_with_the_content() {
    let mut editor = TestEditor::initialized();
    editor.tell_document("textDocument/didOpen", "src/a.rs");
    editor.tell_document("textDocument/didSave", "src/a.rs");
    let event = editor.event();
    assert_eq!((event.trigger, event.source, event.workspace), (Trigger::DidSave, Source::Editor, editor.root.clone()));
    assert_eq!(event.files[0].path, "src/a.rs");
    assert_eq!(event.files[0].content_hash, crate::content::content_hash(&editor.root.join("src/a.rs")));
}

#[test]
fn a_save_to_come_is_one_event_and_is_not_kept_waiting() {
    let mut editor = TestEditor::initialized();
    editor.tell_document("textDocument/willSave", "src/a.rs");
    let uri = editor.uri("src/a.rs");
    let edits = editor.ask("textDocument/willSaveWaitUntil", json!({ "textDocument": { "uri": uri }, "reason": 1 }));
    assert_eq!(edits, json!([]));
    editor.tell_document("textDocument/didSave", "src/a.rs");
    let (first, second) = (editor.event(), editor.event());
    assert_eq!((first.trigger, &first.files[0].content_hash), (Trigger::WillSave, &None));
    assert_eq!(second.trigger, Trigger::DidSave);
    assert!(editor.submitted.try_recv().is_err());
}

#[test]
fn runs_are_logged_and_their_progress_shown() {
    let mut editor = TestEditor::initialized();
    editor.queue.tell(&record("lint", "1", Status::Running));
    let started = editor.notified("window/logMessage");
    assert_eq!(started["message"], "hook `lint` for src/a.rs started");
    let asked = editor.until(
        |message| matches!(message, Message::Request(request) if request.method == "window/workDoneProgress/create"),
    );
    let Message::Request(asked) = asked else { panic!("a question") };
    editor.send(&lsp_server::Response { id: asked.id, response_result: Ok(Value::Null) }.into());
    let begun = editor.notified("$/progress");
    assert_eq!((&begun["value"]["kind"], &begun["token"]), (&json!("begin"), &asked.params["token"]));
    editor.queue.tell(&ExecutionRecord { reason: "exit code 3".to_owned(), ..record("lint", "1", Status::Failed) });
    let failed = editor.notified("window/logMessage");
    assert_eq!(
        (&failed["type"], &failed["message"]),
        (&json!(1), &json!("hook `lint` for src/a.rs failed after 2.5 s: exit code 3"))
    );
    assert_eq!(editor.notified("$/progress")["value"]["kind"], "end");
}

#[test]
fn problems_of_the_hooks_are_shown_and_cleared() {
    let mut editor = TestEditor::initialized();
    let problem = Problem {
        file: ".akira/hooks.json".to_owned(),
        line: 2,
        column: 11,
        pointer: "/hooks/0/id".to_owned(),
        rule: "duplicate-id".to_owned(),
        message: "two hooks are called `lint`".to_owned(),
        hint: None,
    };
    editor.queue.set.lock().unwrap().problems.push(problem);
    editor.tell_document("textDocument/didOpen", ".akira/hooks.json");
    let shown = editor.notified("textDocument/publishDiagnostics");
    assert_eq!(shown["uri"], editor.uri(".akira/hooks.json"));
    assert_eq!(
        shown["diagnostics"][0]["range"],
        json!({
            "start": { "line": 1, "character": 10 }, "end": { "line": 1, "character": 16 }
        })
    );
    editor.queue.set.lock().unwrap().problems.clear();
    let uri = editor.uri(".akira/hooks.json");
    editor.tell("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": uri, "type": 2 }] }));
    assert_eq!(editor.notified("textDocument/publishDiagnostics")["diagnostics"], json!([]));
}

#[test]
fn an_approval_from_elsewhere_is_noticed_by_the_first_run() {
    let mut editor = TestEditor::initialized();
    let dormant = Dormant { hook_id: "lint".to_owned(), reason: "not approved".to_owned(), waits_for_approval: true };
    editor.queue.set.lock().unwrap().dormant.push(dormant);
    editor.tell_document("textDocument/didOpen", ".akira/hooks.json");
    let says = |text: &'static str| move |message: &Message| log_of(message).is_some_and(|said| said.contains(text));
    editor.until(says("hook `lint` does not run"));
    editor.queue.set.lock().unwrap().dormant.clear();
    let workspace = editor.root.to_str().unwrap().to_owned();
    editor.queue.tell(&ExecutionRecord { workspace, ..record("lint", "1", Status::Queued) });
    editor.until(says("hooks are on"));
}

#[test]
fn hooks_can_be_run_retried_and_canceled_from_the_editor() {
    let mut editor = TestEditor::initialized();
    let uri = editor.uri(".akira/hooks.json");
    let lenses = editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
    let commands: Vec<&str> =
        lenses.as_array().unwrap().iter().map(|lens| lens["command"]["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["dispatch.runs.start", "dispatch.runs.retry"]);
    let start = json!({ "command": "dispatch.runs.start", "arguments": lenses[0]["command"]["arguments"] });
    assert_eq!(editor.ask("workspace/executeCommand", start)["receipts"][0]["outcome"], "queued");
    let event = editor.event();
    assert_eq!((event.source, event.hook.as_deref()), (Source::Person, Some("lint")));
    let retry = json!({ "command": "dispatch.runs.retry", "arguments": ["7"] });
    assert_eq!(editor.ask("workspace/executeCommand", retry)["run"], "7-again");
    let cancel = json!({ "command": "dispatch.runs.cancel", "arguments": ["8"] });
    assert_eq!(
        editor.answer_to("workspace/executeCommand", cancel).unwrap_err(),
        (-32803, "unknown run `8`".to_owned())
    );
    let other = editor.uri("src/a.rs");
    assert_eq!(editor.ask("textDocument/codeLens", json!({ "textDocument": { "uri": other } })), json!([]));
}

#[test]
fn what_is_wrong_is_refused_and_the_server_goes_on() {
    let mut editor = TestEditor::new();
    assert_eq!(editor.answer_to("textDocument/hover", json!({})).unwrap_err().0, -32002);
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": "file:///x" } }));
    editor.input.as_mut().unwrap().write_all(b"garbage\r\nContent-Length: 3\r\n\r\n{\"\xff").unwrap();
    editor.ask("initialize", json!({ "capabilities": {} }));
    editor.tell("initialized", json!({}));
    assert_eq!(editor.answer_to("textDocument/hover", json!({})).unwrap_err().0, -32601);
    assert_eq!(editor.answer_to("initialize", json!({})).unwrap_err().0, -32600);
    for params in [json!({}), json!(null), json!({ "command": "rm" }), json!({ "command": "dispatch.runs.start" })] {
        assert_eq!(editor.answer_to("workspace/executeCommand", params).unwrap_err().0, -32602);
    }
    editor.tell("textDocument/didSave", json!({ "textDocument": 7 }));
    editor.tell("$/unknown", json!([1, 2]));
    editor.tell_document("textDocument/didSave", "src/a.rs");
    assert_eq!(editor.event().files[0].path, "src/a.rs");
}

#[test]
fn a_client_that_takes_its_leave_is_let_go() {
    let mut editor = TestEditor::initialized();
    assert_eq!(editor.ask("shutdown", Value::Null), Value::Null);
    assert_eq!(editor.answer_to("shutdown", Value::Null).unwrap_err().0, -32600);
    editor.tell("exit", Value::Null);
    assert_eq!(editor.ended.recv_timeout(PATIENCE).unwrap(), ClientExit::Proper);
}

#[test]
fn a_client_that_dies_ends_the_server_and_its_saves_count() {
    let mut editor = TestEditor::initialized();
    for number in 0..50 {
        std::fs::write(editor.root.join(format!("src/{number}.rs")), "x").unwrap();
        editor.tell_document("textDocument/didSave", &format!("src/{number}.rs"));
    }
    drop(editor.input.take());
    assert_eq!(editor.ended.recv_timeout(PATIENCE).unwrap(), ClientExit::Abrupt);
    assert_eq!(editor.submitted.try_iter().count(), 50);
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_whose_process_is_gone_ends_the_server() {
    let mut editor = TestEditor::new();
    editor.ask("initialize", json!({ "processId": u32::MAX, "capabilities": {} }));
    assert_eq!(editor.ended.recv_timeout(PATIENCE).unwrap(), ClientExit::Abrupt);
}

#[test]
fn folders_come_and_go_with_the_client() {
    let mut editor = TestEditor::initialized();
    let other = tempfile::tempdir().unwrap();
    let other_root = other.path().canonicalize().unwrap();
    std::fs::write(other_root.join("b.rs"), "x").unwrap();
    let uri = uri_of_path(&other_root);
    let change = json!({ "event": { "added": [{ "uri": uri, "name": "o" }], "removed": [] } });
    editor.tell("workspace/didChangeWorkspaceFolders", change);
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": format!("{uri}/b.rs") } }));
    assert_eq!(editor.event().workspace, other_root);
    let change = json!({ "event": { "added": [], "removed": [{ "uri": uri, "name": "o" }] } });
    editor.tell("workspace/didChangeWorkspaceFolders", change);
    editor.tell("textDocument/didSave", json!({ "textDocument": { "uri": format!("{uri}/b.rs") } }));
    editor.tell_document("textDocument/didSave", "src/a.rs");
    assert_eq!(editor.event().workspace, editor.root);
}
