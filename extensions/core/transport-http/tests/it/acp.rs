//! The Agent TestClient Protocol with real frames over pipes.

use crate::server::TestServer;
use dispatch_support::{Reply, Step};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};

struct AcpEditor {
    out: DuplexStream,
    lines: Lines<BufReader<DuplexStream>>,
    next: u64,
    updates: Vec<Value>,
    answer: &'static str,
}

impl AcpEditor {
    fn open(server: &TestServer, answer: &'static str) -> (Self, tokio::task::JoinHandle<()>) {
        let (out, theirs) = tokio::io::duplex(1 << 16);
        let (said, hearing) = tokio::io::duplex(1 << 16);
        let transport = Arc::clone(&server.transport);
        let served = tokio::spawn(async move { transport.acp(Box::new(theirs), Box::new(said)).await.unwrap() });
        (Self { out, lines: BufReader::new(hearing).lines(), next: 0, updates: Vec::new(), answer }, served)
    }

    async fn send(&mut self, message: Value) {
        self.out.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Reads to the answer of a request; updates are kept, questions answered.
    async fn end(&mut self, id: u64) -> Value {
        loop {
            let message = self.read().await;
            assert_eq!(message["jsonrpc"], "2.0");
            match message["method"].as_str() {
                Some("session/update") => self.updates.push(message["params"]["update"].clone()),
                Some("session/request_permission") => {
                    let kinds: Vec<&str> = message["params"]["options"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter_map(|option| option["kind"].as_str())
                        .collect();
                    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
                    assert_eq!(message["params"]["toolCall"]["kind"], "edit");
                    let outcome = json!({"outcome": "selected", "optionId": self.answer});
                    let result = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}});
                    self.send(result).await;
                }
                Some(other) => panic!("{other}"),
                None if message["id"] == id => return message,
                None => panic!("{message}"),
            }
        }
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        let answer = self.end(id).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn new_session(&mut self, server: &TestServer) -> String {
        let made = self.ask("session/new", json!({"cwd": server.workdir(), "mcpServers": []})).await;
        made["sessionId"].as_str().unwrap().to_owned()
    }

    fn kinds(&self) -> Vec<&str> {
        self.updates.iter().filter_map(|update| update["sessionUpdate"].as_str()).collect()
    }

    fn text(&self, kind: &str) -> String {
        let of_kind = self.updates.iter().filter(|update| update["sessionUpdate"] == kind);
        of_kind.filter_map(|update| update["content"]["text"].as_str()).collect()
    }
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn writing() -> TestServer {
    let call = Reply::call(&[("c1", "write_file", json!({"path": "out.txt", "content": "made"}))]);
    TestServer::playing([call, Reply::say("It is done.")])
}

#[test]
fn an_editor_prompts_is_asked_and_sees_the_change() {
    let server = writing();
    server.block_on(async {
        let (mut editor, served) = AcpEditor::open(&server, "once");
        let hello = editor.ask("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}})).await;
        assert_eq!(hello["protocolVersion"], 1);
        assert_eq!(hello["agentCapabilities"]["loadSession"], true);
        let session = editor.new_session(&server).await;
        let end = editor.ask("session/prompt", prompt(&session, "write")).await;
        assert_eq!(end, json!({"stopReason": "end_turn"}));
        assert_eq!(editor.text("agent_message_chunk"), "It is done.");
        let made = editor.updates.iter().find(|update| update["sessionUpdate"] == "tool_call").unwrap();
        assert_eq!((made["kind"].as_str(), made["status"].as_str()), (Some("edit"), Some("pending")));
        let path = server.workdir().join("out.txt");
        assert_eq!(made["locations"][0]["path"], json!(path));
        let last = editor.updates.iter().rfind(|update| update["sessionUpdate"] == "tool_call_update").unwrap();
        assert_eq!(last["status"], "completed");
        assert_eq!(last["content"][0]["type"], "diff");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "made");

        let listed = editor.ask("session/list", json!({})).await;
        assert_eq!(listed["sessions"][0]["sessionId"], json!(session));
        editor.updates.clear();
        editor.ask("session/load", json!({"sessionId": session, "cwd": server.workdir(), "mcpServers": []})).await;
        assert_eq!(editor.kinds(), ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]);
        drop(editor);
        served.await.unwrap();
    });
}

#[test]
fn a_no_keeps_the_file_as_it_was() {
    let server = writing();
    server.block_on(async {
        let (mut editor, _served) = AcpEditor::open(&server, "deny");
        let session = editor.new_session(&server).await;
        editor.ask("session/prompt", prompt(&session, "write")).await;
        let last = editor.updates.iter().rfind(|update| update["sessionUpdate"] == "tool_call_update").unwrap();
        assert_eq!(last["status"], "failed");
        assert!(!server.workdir().join("out.txt").exists());
    });
}

#[test]
fn a_prompt_is_cancelled() {
    let server = TestServer::playing([Reply::steps([Step::say("Thinking "), Step::UntilClosedMs(60_000)])]);
    server.block_on(async {
        let (mut editor, _served) = AcpEditor::open(&server, "once");
        let session = editor.new_session(&server).await;
        let running = editor.begin("session/prompt", prompt(&session, "long")).await;
        loop {
            let message = editor.read().await;
            if message["params"]["update"]["sessionUpdate"] == "agent_message_chunk" {
                break;
            }
        }
        let again = editor.begin("session/prompt", prompt(&session, "more")).await;
        assert!(editor.end(again).await["error"]["message"].as_str().unwrap().contains("has a running prompt"));
        editor.send(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})).await;
        assert_eq!(editor.end(running).await["result"], json!({"stopReason": "cancelled"}));
    });
}

#[test]
fn an_editor_that_goes_away_stops_its_prompts() {
    let server = TestServer::playing([Reply::steps([Step::say("Thinking "), Step::UntilClosedMs(60_000)])]);
    server.block_on(async {
        let (mut editor, served) = AcpEditor::open(&server, "once");
        let session = editor.new_session(&server).await;
        editor.begin("session/prompt", prompt(&session, "long")).await;
        loop {
            if editor.read().await["params"]["update"]["sessionUpdate"] == "agent_message_chunk" {
                break;
            }
        }
        drop(editor);
        served.await.unwrap();
    });
    assert!(server.model.saw_close_within(crate::server::PATIENCE));
}

#[test]
fn what_is_wrong_is_told() {
    let server = TestServer::playing([]);
    server.block_on(async {
        let (mut editor, _served) = AcpEditor::open(&server, "once");
        for (method, params, code) in [
            ("no/such", json!({}), -32601),
            ("session/new", json!({"cwd": "relative", "mcpServers": []}), -32602),
            ("session/new", json!({}), -32602),
            ("session/load", json!({"sessionId": "nobody", "cwd": "/", "mcpServers": []}), -32002),
            ("session/prompt", prompt("nobody", "x"), -32002),
            ("session/set_mode", json!({"sessionId": "nobody", "modeId": "ask"}), -32002),
        ] {
            let id = editor.begin(method, params).await;
            assert_eq!(editor.end(id).await["error"]["code"], code, "{method}");
        }
        editor.out.write_all(b"{\n").await.unwrap();
        assert_eq!(editor.read().await["error"]["code"], -32700);
        let session = editor.new_session(&server).await;
        editor.ask("session/set_mode", json!({"sessionId": session, "modeId": "allow"})).await;
        assert_eq!(editor.kinds(), ["available_commands_update", "current_mode_update"]);
        let failed = editor.begin("session/prompt", prompt(&session, "hi")).await;
        assert!(editor.end(failed).await["error"]["message"].is_string(), "the model is not there");
    });
}

#[test]
fn commands_of_extensions_are_offered_once_and_run() {
    let server = TestServer::playing([]);
    server.block_on(async {
        let (mut editor, _served) = AcpEditor::open(&server, "once");
        let session = editor.new_session(&server).await;
        let offered = editor.read().await;
        assert_eq!(offered["params"]["update"]["availableCommands"][0]["name"], "echo", "{offered}");
        let ended = editor.ask("session/prompt", prompt(&session, "/echo 'two words' x")).await;
        assert_eq!(ended, json!({"stopReason": "end_turn"}), "no model is asked");
        let said: Value = serde_json::from_str(&editor.text("agent_message_chunk")).unwrap();
        assert_eq!(said, json!({"args": ["two words", "x"]}));
        assert_eq!(editor.kinds(), ["agent_message_chunk"], "what is known is not told again");
    });
}
