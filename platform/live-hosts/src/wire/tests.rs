//! A call goes out and its result comes back, in every protocol.

use super::*;

const PATHS: [(&str, WireProtocol); 4] = [
    ("/v1/chat/completions", WireProtocol::Chat),
    ("/v1/responses", WireProtocol::Responses),
    ("/v1/messages", WireProtocol::Messages),
    ("/v1beta/models/gemini-2.5-flash:streamGenerateContent", WireProtocol::Gemini),
];

#[test]
fn the_path_says_which_protocol_it_is() {
    for (path, protocol) in PATHS {
        assert_eq!(WireProtocol::of_path(path), Some(protocol), "{path}");
    }
    assert_eq!(WireProtocol::of_path("/v1/messages/count_tokens"), None);
    assert!(WireProtocol::Gemini.is_streamed(PATHS[3].0, &json!({})));
    assert!(WireProtocol::Chat.is_streamed("", &json!({ "stream": true })));
    assert!(!WireProtocol::Messages.is_streamed("", &json!({})));
}

#[test]
fn offered_tools_and_results_are_found() {
    let check = |protocol: WireProtocol, body: Value| {
        assert_eq!(protocol.offered(&body), ["shell"], "{protocol:?}");
        assert_eq!(protocol.results(&body), ["one", "two"], "{protocol:?}");
    };
    check(
        WireProtocol::Chat,
        json!({
            "tools": [{ "type": "function", "function": { "name": "shell" } }],
            "messages": [
                { "role": "user", "content": "go" }, { "role": "tool", "content": "one" },
                { "role": "tool", "content": [{ "type": "text", "text": "two" }] },
            ],
        }),
    );
    check(
        WireProtocol::Responses,
        json!({
            "tools": [{ "type": "function", "name": "shell" }],
            "input": [
                { "type": "function_call_output", "output": "one" },
                { "type": "custom_tool_call_output", "output": "two" },
            ],
        }),
    );
    check(
        WireProtocol::Messages,
        json!({
            "tools": [{ "name": "shell" }],
            "messages": [{ "role": "user", "content": [
                { "type": "tool_result", "content": "one" },
                { "type": "tool_result", "content": [{ "type": "text", "text": "two" }] },
            ] }],
        }),
    );
    check(
        WireProtocol::Gemini,
        json!({
            "tools": [{ "functionDeclarations": [{ "name": "shell" }] }],
            "contents": [{ "parts": [
                { "functionResponse": { "response": { "output": "one" } } },
                { "functionResponse": { "response": { "error": "two" } } },
            ] }],
        }),
    );
}

#[test]
fn a_step_goes_out_whole_and_streamed() {
    let step = ModelStep::call("shell", json!({ "command": "echo marker" }));
    for (_, protocol) in PATHS {
        let whole = protocol.reply(&step, 1, &json!({})).to_string();
        assert!(whole.contains("shell") && whole.contains("echo marker"), "{protocol:?}: {whole}");
        let events = protocol.events(&step, 1, &json!({}));
        assert!(events.iter().any(|(_, data)| data.contains("echo marker")), "{protocol:?}: {events:?}");
        let words = protocol.events(&ModelStep::Words("finished".to_owned()), 1, &json!({}));
        assert!(words.iter().any(|(_, data)| data.contains("finished")), "{protocol:?}: {words:?}");
    }
}
