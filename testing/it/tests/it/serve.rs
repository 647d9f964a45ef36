//! `dispatch serve` and `dispatch acp` as other programs start them.

use dispatch_support::{Reply, ScriptedModel, TestContext};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

fn spawn(context: &TestContext, arguments: &[&str], model: &ScriptedModel) -> Child {
    let mut command = context.command("dispatch");
    let base_url = format!("model.base_url={}", model.base_url());
    command.args(arguments).args(["--set", &base_url, "--set", "model.model=scripted"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ends the process as the system would.
fn terminate(child: &Child) {
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
}

fn request(address: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "{head}\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[cfg(unix)]
#[test]
fn a_server_says_one_line_serves_and_ends_when_told() {
    let context = TestContext::new();
    let model = ScriptedModel::playing([Reply::say("Hello there.")]);
    let mut server = spawn(&context, &["serve", "--listen", "127.0.0.1:0"], &model);
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("listening on http://").unwrap().to_owned();
    let token = std::fs::read_to_string(context.home().join("token")).unwrap().trim().to_owned();
    assert_eq!(request(&address, "GET /healthz HTTP/1.1", "").0, 200);
    assert_eq!(request(&address, "GET /v1/sessions HTTP/1.1", "").0, 401);
    let auth = format!("Authorization: Bearer {token}\r\nContent-Type: application/json");
    let post = format!("POST /v1/sessions/main/messages HTTP/1.1\r\n{auth}");
    let (status, body) = request(&address, &post, &json!({"text": "hi", "id": "1"}).to_string());
    assert_eq!(status, 202, "{body}");
    let dispatch = serde_json::from_str::<Value>(&body).unwrap()["dispatch"].as_str().unwrap().to_owned();
    let (_, view) = request(&address, &format!("GET /v1/dispatches/{dispatch}?waitMs=60000 HTTP/1.1\r\n{auth}"), "");
    assert!(view.contains(r#""state":"done""#), "{view}");
    terminate(&server);
    let status = server.wait().unwrap();
    assert!(status.success(), "{status}");
    let (mut rest, mut words) = (String::new(), String::new());
    stdout.read_to_string(&mut rest).unwrap();
    server.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert_eq!(rest, "", "one line and no more");
    assert!(words.contains("the token is in ") && !words.contains(&token), "{words}");
}

#[test]
fn other_machines_need_an_explicit_word() {
    let output = TestContext::new().dispatch(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status, 2, "{output:?}");
    assert!(output.stderr.contains("--allow-remote"), "{output:?}");
    assert_eq!(output.stdout, "");
}

#[test]
fn pipes_are_served_until_they_end() {
    let context = TestContext::new();
    for (arguments, first, expected) in [
        (&["serve", "--stdio"][..], json!({"type": "ping", "ref": 1}), r#""ref":1"#),
        (
            &["acp"],
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}),
            "agentCapabilities",
        ),
    ] {
        let model = ScriptedModel::playing([]);
        let mut child = spawn(&context, arguments, &model);
        writeln!(child.stdin.take().unwrap(), "{first}").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(expected), "{said}");
        assert!(said.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{said}");
    }
}
