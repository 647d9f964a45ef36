//! Requests as servers receive them.

use super::*;
use dispatch_contracts::conversation::{Chunk, Image, Message, ResultStatus, Role, ToolCall, ToolResult, validate};

fn text(text: &str) -> Chunk {
    Chunk::Text { text: text.to_owned() }
}

fn image() -> Image {
    Image { media_type: "image/png".to_owned(), data: "QUJD".to_owned() }
}

fn call(id: &str, name: &str) -> Chunk {
    let arguments = json!({ "path": "a" }).as_object().cloned().unwrap();
    Chunk::ToolCall(ToolCall { id: id.into(), name: name.to_owned(), arguments })
}

fn result(id: &str, status: ResultStatus, images: Vec<Image>) -> Chunk {
    Chunk::ToolResult(ToolResult { call: id.into(), status, text: "said".to_owned(), images })
}

fn message(role: Role, chunks: Vec<Chunk>) -> Message {
    Message { role, chunks }
}

fn written(messages: Vec<Message>) -> Value {
    validate(&messages).unwrap();
    let request =
        ModelRequest { model: "m".to_owned(), system: Vec::new(), messages, tools: Vec::new(), options: Map::new() };
    body(&request, &Map::new(), &ToolNames::default())["messages"].clone()
}

#[test]
fn system_sections_are_one_message() {
    let request = ModelRequest {
        model: "m".to_owned(),
        system: vec!["one".to_owned(), " ".to_owned(), "two\n".to_owned()],
        messages: vec![Message::text(Role::User, "hi")],
        tools: Vec::new(),
        options: Map::new(),
    };
    let body = body(&request, &Map::new(), &ToolNames::default());
    assert_eq!(
        Value::Object(body),
        json!({
            "model": "m",
            "messages": [{ "role": "system", "content": "one\n\ntwo" }, { "role": "user", "content": "hi" }],
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    );
}

#[test]
fn a_turn_with_tools_and_pictures() {
    let seal = |field: &str| Some(json!({ "field": field }).to_string());
    let messages = written(vec![
        message(Role::User, vec![text("look"), Chunk::Image(image())]),
        message(
            Role::Assistant,
            vec![
                Chunk::Reasoning { text: "hm".to_owned(), signature: seal("reasoning_content") },
                call("1", "read_file"),
                call("2", "run_shell"),
            ],
        ),
        message(
            Role::Tool,
            vec![
                result("1", ResultStatus::Succeeded, vec![image()]),
                result("2", ResultStatus::Denied, Vec::new()),
                text("faster please"),
            ],
        ),
    ]);
    let picture = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    let asked = |id: &str, name: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": "{\"path\":\"a\"}" } });
    assert_eq!(
        messages,
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "look" }, picture] },
            {
                "role": "assistant", "content": null, "reasoning_content": "hm",
                "tool_calls": [asked("1", "read_file"), asked("2", "run_shell")],
            },
            { "role": "tool", "tool_call_id": "1", "content": "said" },
            { "role": "tool", "tool_call_id": "2", "content": "[refused, did not run] said" },
            { "role": "user", "content": [
                { "type": "text", "text": "The pictures of the tool result 1:" }, picture,
                { "type": "text", "text": "faster please" },
            ] },
        ])
    );
}

#[test]
fn plain_reasoning_of_a_past_turn_stays_here_and_sealed_reasoning_goes_back() {
    let plain =
        Chunk::Reasoning { text: "hm".to_owned(), signature: Some(json!({ "field": "reasoning" }).to_string()) };
    let details = json!([{ "type": "reasoning.encrypted", "data": "x" }]);
    let sealed =
        Chunk::Reasoning { text: String::new(), signature: Some(json!({ "reasoning_details": details }).to_string()) };
    let foreign = Chunk::Reasoning { text: "hm".to_owned(), signature: None };
    let messages = written(vec![
        Message::text(Role::User, "a"),
        message(Role::Assistant, vec![plain, sealed, foreign, text("b")]),
        Message::text(Role::User, "c"),
    ]);
    assert_eq!(messages[1], json!({ "role": "assistant", "content": "b", "reasoning_details": details }));
}

#[test]
fn tools_have_names_and_schemas_that_servers_take() {
    let tool = |name: &str, parameters: Value| ToolSpec {
        name: name.to_owned(),
        description: "d".to_owned(),
        parameters,
        concurrency_safe: true,
    };
    let tools = vec![tool("a.b", json!({ "type": "object" })), tool("c", Value::Null)];
    let names = ToolNames::new(&tools);
    let request = ModelRequest {
        model: "m".to_owned(),
        system: Vec::new(),
        messages: vec![
            Message::text(Role::User, "x"),
            message(Role::Assistant, vec![call("1", "a.b")]),
            message(Role::Tool, vec![result("1", ResultStatus::Unknown, Vec::new())]),
        ],
        tools,
        options: Map::new(),
    };
    let body = body(&request, &Map::new(), &names);
    assert_eq!(
        body["tools"][0]["function"],
        json!({ "name": "a_b", "description": "d", "parameters": { "type": "object" } })
    );
    assert_eq!(body["tools"][1]["function"]["parameters"], json!({ "type": "object", "properties": {} }));
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["name"], "a_b");
}

#[test]
fn options_are_merged_and_cannot_replace_the_call() {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let request = ModelRequest {
        model: "m".to_owned(),
        system: Vec::new(),
        messages: vec![Message::text(Role::User, "x")],
        tools: Vec::new(),
        options: object(json!({ "temperature": 1, "stream_options": null, "stream": false, "messages": [] })),
    };
    let settings = object(json!({ "temperature": 0, "top_p": 0.5, "model": "other" }));
    let body = body(&request, &settings, &ToolNames::default());
    assert_eq!(
        Value::Object(body),
        json!({
            "model": "m", "messages": [{ "role": "user", "content": "x" }], "stream": true,
            "temperature": 1, "top_p": 0.5,
        })
    );
}
