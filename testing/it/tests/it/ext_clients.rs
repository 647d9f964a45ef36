//! What each client shows of extensions: an edit while it runs, and what one of them did wrong.

use crate::ext_outside::add;
use crate::ext_reload::{COMMAND, answers, done, says, write};
use dispatch_support::{Served, Terminal, TestContext};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

const REHEARSAL: [&str; 2] = ["--set", "model.provider=rehearsal"];
const PROMPT: &str = "rehearsal > ";
const PATIENCE: Duration = Duration::from_secs(60);

/// An extension that is approved and that somebody works on.
fn being_edited(context: &TestContext) {
    write(context, "talk", COMMAND, &says("one"));
    done(context, &["trust", "talk"]);
    done(context, &["ext", "dev", "talk"]);
}

fn edit(context: &TestContext, word: &str) {
    context.write_cloned(".dispatch/extensions/talk/index.ts", says(word));
}

/// `dispatch acp` with a session.
struct Editor {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    session: String,
}

impl Editor {
    fn start(context: &TestContext) -> Self {
        let mut command = context.command("dispatch");
        command.args(REHEARSAL).arg("acp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut editor = Self { child, input, output, last_id: 0, session: String::new() };
        editor.ask("initialize", json!({ "protocolVersion": 1 }));
        let (answer, _) = editor.ask("session/new", json!({ "cwd": context.project(), "mcpServers": [] }));
        editor.session = answer["result"]["sessionId"].as_str().unwrap_or_default().to_owned();
        assert!(!editor.session.is_empty(), "{answer}");
        editor
    }

    /// Asks, and gives the answer and all that was told before it.
    fn ask(&mut self, method: &str, params: Value) -> (Value, String) {
        self.last_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        writeln!(self.input, "{request}").unwrap();
        let mut told = String::new();
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended: {told}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.last_id && message.get("method").is_none() {
                return (message, told);
            }
            told.push_str(&line);
        }
    }

    /// Says something; gives all that was told until the turn ended.
    fn say(&mut self, text: &str) -> String {
        let prompt = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        let (answer, told) = self.ask("session/prompt", prompt);
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer} {told}");
        told
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_edit_runs_at_the_prompt_in_the_editor_and_in_what_up_started() {
    let context = TestContext::new();
    being_edited(&context);

    let mut command = context.command("dispatch");
    command.args(REHEARSAL).arg("chat");
    let mut terminal = Terminal::start(command);
    terminal.wait_for(PROMPT);
    terminal.press("/word\r");
    assert!(terminal.wait_for(PROMPT).contains("one"));
    edit(&context, "at-the-prompt");
    terminal.wait_for("extension `talk` 1.0.0 was loaded again");
    terminal.press("/word\r");
    terminal.wait_for("at-the-prompt");
    terminal.wait_for(PROMPT);
    terminal.press("\u{4}");
    drop(terminal.finish());

    let mut editor = Editor::start(&context);
    assert!(editor.say("/word").contains("at-the-prompt"));
    edit(&context, "in-the-editor");
    let start = Instant::now();
    while !editor.say("/word").contains("in-the-editor") {
        assert!(start.elapsed() < PATIENCE, "the editor never saw the edit");
    }

    let mut command = context.command("dispatch");
    command.args(REHEARSAL).args(["up", "--listen", "127.0.0.1:0"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let served = Served::over(child, &context.home()).unwrap();
    answers(&served, "word", "in-the-editor");
    edit(&context, "after-up");
    answers(&served, "word", "after-up");
}

#[test]
fn a_fault_and_a_switch_off_are_told_in_the_editor_and_over_http() {
    let context = TestContext::new();
    let code = "export function activate(host) {
        host.defineTool({ name: 'hang', description: 'x', timeoutMs: 100, execute() { for (;;); } });
    }";
    add(&context, "sleepy", r#","contributes":{"tools":["hang"]}"#, code);
    let served = Served::start(&context, &REHEARSAL, &[]);
    served.client.say("main", "hello");
    let mut events = served.client.send("GET", "/v1/sessions/main/events", &[], "").unwrap();
    let mut heard = |text: &str| {
        let mut seen = String::new();
        while !seen.contains(text) {
            assert!(events.read_line(&mut seen).unwrap() > 0, "the stream ended without `{text}`: {seen}");
        }
    };
    heard("200 OK");
    served.client.say("main", "call hang {}");
    heard(r#""type":"notice""#);

    let mut editor = Editor::start(&context);
    let mut told = String::new();
    for _ in 0..3 {
        told.push_str(&editor.say("call hang {}"));
    }
    assert!(told.contains("agent_thought_chunk") && told.contains("sleepy"), "{told}");
    assert!(told.contains("`dispatch ext enable sleepy` brings it back"), "{told}");
}
