//! The API document against the real server: every operation is asked, every answer fits its schema.

use crate::client::{HttpAnswer, TestClient};
use crate::server::TestServer;
use dispatch_kernel::services::schema::check;
use dispatch_support::{After, Reply, Script};
use serde_json::{Value, json};

/// A request for each operation that must succeed, by operation id.
fn requests() -> Vec<(&'static str, &'static str, Option<Value>)> {
    vec![
        ("health", "/healthz", None),
        ("document", "/openapi.json", None),
        ("listSessions", "/v1/sessions?limit=5&prefix=m", None),
        ("getSession", "/v1/sessions/main", None),
        ("changeSession", "/v1/sessions/main", Some(json!({"title": "T"}))),
        ("forkSession", "/v1/sessions/main/fork", Some(json!({"label": "fork"}))),
        ("deleteSession", "/v1/sessions/fork", None),
        ("getMessages", "/v1/sessions/main/messages", None),
        ("postMessage", "/v1/sessions/main/messages", Some(json!({"text": "x", "mode": "followup", "ask": "none"}))),
        ("getDispatch", "/v1/dispatches/{dispatch}?waitMs=1000", None),
        ("cancelDispatch", "/v1/dispatches/{dispatch}/cancel", None),
        ("getQueue", "/v1/queue", None),
        ("search", "/v1/search?q=hi&limit=3", None),
        ("listApprovals", "/v1/approvals", None),
        ("listModels", "/v1/models", None),
        ("listExtensions", "/v1/extensions", None),
        ("listCommands", "/v1/commands", None),
        ("runCommand", "/v1/commands/echo", Some(json!({"args": ["a", "b"]}))),
        ("createChatCompletion", "/v1/chat/completions", Some(json!({"messages": [{"role": "user", "content": "x"}]}))),
    ]
}

/// Operations whose answers are streams or need a question to be open; their own tests ask them.
const ELSEWHERE: &[&str] = &["getEvents", "openWebSocket", "answerApproval"];

#[test]
fn every_operation_answers_as_described() {
    let server =
        TestServer::script(Script { replies: vec![Reply::say("Yes.")], after: After::RepeatLast, ..Script::default() });
    let dispatch = server.say("main", "hi")["id"].as_str().unwrap().to_owned();
    let client = server.client();
    let document = client.get("/openapi.json").expect(200).json();
    let mut asked = Vec::new();
    for (id, path, body) in requests() {
        let (method, operation) = find(&document, id).unwrap_or_else(|| panic!("no operation {id}"));
        let path = path.replace("{dispatch}", &dispatch);
        let answer = send(&client, &method, &path, body.as_ref());
        if let (Some(body), Some(schema)) = (&body, operation.pointer("/requestBody/content/application~1json/schema"))
        {
            fits(&document, schema, body, id);
        }
        let (status, described) = response(&document, operation, &answer);
        assert_ne!(status, "default", "{id}: {answer:?}");
        match described.pointer("/content/application~1json/schema") {
            Some(schema) => fits(&document, schema, &answer.json(), id),
            None => assert_eq!(answer.body, "", "{id}"),
        }
        asked.push(id);
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let Some(id) = operation["operationId"].as_str() else {
                assert!(
                    ["/v1/notes/{id}", "/v1/broken", "/v1/raw/{id}", "/v1/known-raw"].contains(&path.as_str()),
                    "{path} is contributed"
                );
                continue;
            };
            assert!(asked.contains(&id) || ELSEWHERE.contains(&id), "{id} is not tested");
        }
    }
}

#[test]
fn refusals_fit_their_schema_everywhere() {
    let server = TestServer::playing([]);
    let document = server.client().get("/openapi.json").expect(200).json();
    let schema = json!({"$ref": "#/components/schemas/Error"});
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let path = path.replace("{label}", "none").replace("{id}", "none").replace("{name}", "none");
            if path == "/healthz" || path == "/v1/raw/none" {
                continue;
            }
            let refused = send(&server.client().stranger(), &method.to_ascii_uppercase(), &path, None).expect(401);
            fits(&document, &schema, &refused.json(), &path);
        }
    }
    for (method, path) in [
        ("GET", "/nothing"),
        ("PUT", "/v1/sessions"),
        ("GET", "/v1/search"),
        ("GET", "/v1/sessions/none"),
        ("POST", "/v1/sessions/none/messages"),
        ("GET", "/v1/ws"),
        ("GET", "/v1/broken"),
        ("GET", "/v1/sessions?limit=x"),
    ] {
        let answer = send(&server.client(), method, path, None);
        assert!(answer.status >= 400, "{path}: {answer:?}");
        fits(&document, &schema, &answer.json(), path);
    }
}

fn send(client: &TestClient, method: &str, path: &str, body: Option<&Value>) -> HttpAnswer {
    let text = body.map(Value::to_string).unwrap_or_default();
    let headers: &[(&str, &str)] = if body.is_some() { &[("Content-Type", "application/json")] } else { &[] };
    client.request(method, path, headers, text.as_bytes())
}

fn find<'a>(document: &'a Value, id: &str) -> Option<(String, &'a Value)> {
    let items = document["paths"].as_object()?.values();
    let mut operations = items.flat_map(|item| item.as_object().unwrap());
    let (method, operation) = operations.find(|(_, operation)| operation["operationId"] == id)?;
    Some((method.to_ascii_uppercase(), operation))
}

fn response<'a>(document: &'a Value, operation: &'a Value, answer: &HttpAnswer) -> (String, &'a Value) {
    let status = answer.status.to_string();
    let responses = &operation["responses"];
    let (status, found) = match responses.get(&status) {
        Some(found) => (status, found),
        None => ("default".to_owned(), &responses["default"]),
    };
    let found = match found.get("$ref").and_then(Value::as_str) {
        Some(target) => document.pointer(target.trim_start_matches('#')).unwrap(),
        None => found,
    };
    (status, found)
}

#[track_caller]
fn fits(document: &Value, schema: &Value, value: &Value, what: &str) {
    let mut root = schema.clone();
    root["components"] = document["components"].clone();
    let violations = check(&root, value);
    assert!(violations.is_empty(), "{what}: {violations:?}\n{value}");
}
