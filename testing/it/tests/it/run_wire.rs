//! Our protocols against clients and servers that are not ours.

use crate::installed::{npm, python};
use crate::run_workspace::conversation::said;
use crate::run_workspace::{RunWorkspace, wait_until};
use dispatch_support::{Client, Reply, ScriptedModel, Step, slow_lane};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

const OPENAI_PYTHON: &str = "openai==3.49.0";
const OPENAI_JAVASCRIPT: &str = "openai@6.49.0";
const ACP_PYTHON: &str = "agent-client-protocol==0.12.1";
const AIMOCK: &str = "@copilotkit/aimock@1.43.0";
const LITELLM: &str = "litellm[proxy]==1.83.0";

/// A model for conversations: it greets, remembers, writes a file, or never ends.
fn model() -> ScriptedModel {
    ScriptedModel::answering(|request| {
        let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.last().cloned().unwrap_or_default();
        let write = json!({"path": "made.txt", "content": "made\n"});
        match (last["role"].as_str(), last["content"].as_str()) {
            (Some("user"), Some("write it")) => Reply::call(&[("w", "write_file", write)]),
            (Some("user"), Some("never end")) => Reply::steps([Step::say("on and on "), Step::UntilClosedMs(120_000)]),
            (Some("user"), Some("what did I say")) => {
                Reply::say(&format!("you said it in {} messages", messages.len()))
            }
            _ => Reply::say("good morning to you"),
        }
    })
}

/// What a client printed, by name.
pub(crate) fn told(command: &mut Command) -> BTreeMap<String, Value> {
    let output = command.output().expect("the client runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.map(|line| (line["name"].as_str().unwrap_or_default().to_owned(), line["value"].clone())).collect()
}

fn check_openai(workspace: &RunWorkspace, told: &BTreeMap<String, Value>, path_error: &str) {
    let models = told["models"].as_array().expect("models");
    assert!(models.contains(&json!("dispatch")) && models.contains(&json!("openai-compat/scripted")), "{told:?}");
    let reply = "good morning to you";
    assert_eq!(told["whole"], json!(["chat.completion", "assistant", reply, "stop", true]));
    assert_eq!(told["stream"], json!([reply, "assistant", ["stop"], true, true, 1]));
    assert_eq!(told["again"], "you said it in 4 messages", "the session remembers: system, user, assistant, user");
    assert_eq!(told["helper"], reply);
    assert_eq!(told["token"], json!(["AuthenticationError", true]));
    assert_eq!(told["path"], json!([path_error, true]));
    assert_eq!(told["empty"], json!(["BadRequestError", true]));
    workspace.check_requests();
}

#[test]
fn openais_python_client_talks_to_a_session() {
    let workspace = RunWorkspace::new(model(), &[]);
    let served = workspace.start();
    let base_url = format!("http://{}/v1", served.client.address);
    let token = served.client.token.clone().expect("a token");
    let script = include_str!("run_wire/openai_client.py");
    let python = python("openai-client", OPENAI_PYTHON);
    let told = told(Command::new(python).args(["-c", script, &base_url, &token]));
    check_openai(&workspace, &told, "NotFoundError");
    assert_eq!(told["honoured"], "good morning to you");
    let is_limited = |request: &dispatch_support::Recorded| {
        let body = request.json();
        body["max_tokens"] == 7 && body["temperature"] == 0 && body["response_format"]["type"] == "json_object"
    };
    assert_eq!(workspace.model.requests().iter().filter(|it| is_limited(it)).count(), 1, "the model's server was told");
    let kind = "invalid_request_error";
    let unsupported = |name: &str| json!([kind, name, "unsupported_parameter"]);
    let expected = json!([
        unsupported("tools"),
        unsupported("n"),
        unsupported("logprobs"),
        [kind, "model", "model_not_found"],
        unsupported("max_token"),
    ]);
    assert_eq!(told["refused"], expected);
}

#[test]
fn openais_javascript_client_talks_to_a_session() {
    let workspace = RunWorkspace::new(model(), &[]);
    let served = workspace.start();
    let base_url = format!("http://{}/v1", served.client.address);
    let token = served.client.token.clone().expect("a token");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/run_wire/openai_client.mjs");
    let installed = npm("openai-client", OPENAI_JAVASCRIPT);
    let told = told(Command::new("node").arg(script).arg(installed).args([&base_url, &token]));
    check_openai(&workspace, &told, "NotFoundError");
}

#[test]
fn an_editor_drives_the_agent() {
    let workspace = RunWorkspace::new(model(), &[]);
    let python = python("acp-client", ACP_PYTHON);
    let program = workspace.context.command("dispatch");
    let script = include_str!("run_wire/acp_client.py");
    let mut command = Command::new(python);
    command
        .args(["-c", script])
        .arg(program.get_program())
        .arg(workspace.context.project())
        .arg(workspace.context.home());
    let told = told(command.arg(workspace.model.base_url()));
    assert_eq!(told["initialize"], json!([1, true]));
    assert_eq!(told["hello"], json!(["end_turn", "good morning to you"]));
    assert_eq!(told["write"][0], "end_turn", "{told:?}");
    let kinds = told["write"][1].to_string();
    assert!(kinds.contains("tool_call") && kinds.contains("tool_call_update"), "{kinds}");
    assert_eq!(told["write"][2], json!([["edit", ["allow_once", "allow_always", "reject_once"]]]));
    assert_eq!(std::fs::read_to_string(workspace.context.project().join("made.txt")).unwrap_or_default(), "made\n");
    assert_eq!(told["cancel"], json!(["cancelled", "on and on "]));
    assert_eq!(told["load"][0], true, "{told:?}");
    workspace.check_requests();
}

#[test]
fn an_editor_lists_sessions_by_folder_and_hears_that_its_mcp_servers_are_not_started() {
    let workspace = RunWorkspace::new(model(), &[]);
    let context = &workspace.context;
    let other = context.home().parent().expect("a folder").join("other");
    std::fs::create_dir_all(&other).expect("another folder");
    let mut command = Command::new(python("acp-client", ACP_PYTHON));
    command.args(["-c", include_str!("run_wire/acp_folders.py")]);
    command.arg(context.command("dispatch").get_program()).arg(context.project()).arg(context.home());
    let told = told(command.arg(workspace.model.base_url()).arg(&other));
    assert_eq!(told["project"], json!([[true, context.project()]]));
    assert_eq!(told["other"], json!([[true, other]]));
    assert_eq!(told["all"].as_array().map(Vec::len), Some(2), "{told:?}");
    assert_eq!(told["server"][0], -32602, "{told:?}");
    let said = told["server"][1].as_str().unwrap_or_default();
    assert!(said.contains("MCP servers are not supported yet") && said.contains("files"), "{said}");
}

/// A server of somebody else's, ended with the test.
struct ForeignServer {
    child: Child,
    base_url: String,
}

impl ForeignServer {
    /// Starts a program that is told its port last and waits until this path is there.
    fn start(command: &mut Command, health: &str) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port").local_addr().expect("its address");
        command.arg(free.port().to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("their server starts");
        let theirs = Self { child, base_url: format!("http://{free}/v1") };
        let client = Client::new(free, None);
        wait_until("their server is there", || client.ask("GET", health, &[], "").is_ok_and(|it| it.status == 200));
        theirs
    }
}

impl Drop for ForeignServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Says these things to a model of their server; every turn must end well.
fn talk(workspace: &RunWorkspace, theirs: &ForeignServer, texts: &[&str]) -> String {
    let variables =
        [("DISPATCH_BASE_URL", theirs.base_url.as_str()), ("DISPATCH_MODEL", "mock"), ("DISPATCH_API_KEY", "sk-1234")];
    let served = workspace.start_with(&variables);
    for text in texts {
        let view = served.client.say("s", text);
        assert_eq!((view["state"].as_str(), view["reason"].as_str()), (Some("done"), Some("")), "{text}: {view}");
    }
    said(&workspace.history(&served.client, "s"))
}

#[test]
fn a_server_of_somebody_else_answers_and_calls_tools() {
    let installed = npm("aimock", AIMOCK);
    let workspace = RunWorkspace::place(&[]);
    let write = json!({"name": "write_file", "arguments": {"path": "theirs.txt", "content": "theirs\n"}});
    let fixtures = json!({"fixtures": [
        {"match": {"userMessage": "make a file", "hasToolResult": false}, "response": {"toolCalls": [write]}},
        {"match": {"userMessage": "make a file", "hasToolResult": true}, "response": {"content": "The file is made."}},
        {"match": {"userMessage": "hello"}, "response": {"content": "Somebody else answers, gr\u{fc}\u{df}e."}},
    ]});
    workspace.context.write_home("fixtures.json", fixtures.to_string());
    let mut command = Command::new(installed.join("node_modules/.bin/llmock"));
    command.arg("-f").arg(workspace.context.home().join("fixtures.json")).args(["-c", "3", "-p"]);
    let theirs = ForeignServer::start(&mut command, "/v1/models");
    let history = talk(&workspace, &theirs, &["hello", "make a file"]);
    assert!(history.contains("Somebody else answers, gr\u{fc}\u{df}e."), "{history}");
    assert!(history.contains("The file is made."), "{history}");
    assert_eq!(std::fs::read_to_string(workspace.context.project().join("theirs.txt")).unwrap_or_default(), "theirs\n");
    // Its installation is 750 MB, which no normal run should pay for.
    if slow_lane() {
        a_widely_used_gateway_answers();
    }
}

fn a_widely_used_gateway_answers() {
    let python = python("litellm", LITELLM);
    let workspace = RunWorkspace::place(&[]);
    let config = "model_list:\n- model_name: mock\n  litellm_params:\n    model: openai/mock\n    api_key: none\n    \
                  mock_response: Somebody else answers.\ngeneral_settings:\n  master_key: sk-1234\n";
    workspace.context.write_home("litellm.yaml", config);
    let mut command = Command::new(python.with_file_name("litellm"));
    command
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .arg("--config")
        .arg(workspace.context.home().join("litellm.yaml"));
    let theirs = ForeignServer::start(command.args(["--host", "127.0.0.1", "--port"]), "/health/liveliness");
    let history = talk(&workspace, &theirs, &["hello", "and again"]);
    assert_eq!(history.matches("Somebody else answers.").count(), 2, "{history}");
    let wrong = workspace.start_with(&[
        ("DISPATCH_BASE_URL", &theirs.base_url),
        ("DISPATCH_MODEL", "mock"),
        ("DISPATCH_API_KEY", "sk-wrong"),
    ]);
    let view = wrong.client.say("t", "hello");
    assert!(view["reason"].as_str().is_some_and(|it| it.contains("could not answer")), "{view}");
}
