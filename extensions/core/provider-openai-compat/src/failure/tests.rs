//! Answers of real servers and what they mean.

use super::*;
use ProviderErrorKind::{Auth, ContextLength, InvalidRequest, RateLimited, Unavailable};
use serde_json::json;

fn answered(status: u16, body: &str) -> ProviderError {
    let answer = ErrorAnswer { status, body, location: None, retry_after_ms: None, server: "http://127.0.0.1:1" };
    of_answer(&answer, &["secret-key-0123456789".to_owned()])
}

#[test]
fn a_status_decides_the_kind() {
    for (status, expected) in [
        (400, InvalidRequest),
        (401, Auth),
        (402, Auth),
        (403, Auth),
        (404, InvalidRequest),
        (408, Unavailable),
        (413, InvalidRequest),
        (422, InvalidRequest),
        (429, RateLimited),
        (500, Unavailable),
        (503, Unavailable),
        (529, Unavailable),
    ] {
        for body in ["", "{}", "null", "[]", "nonsense", "{\"error\":null}", "{\"error\":{}}", "{\"error\":\"no\"}"] {
            assert_eq!(answered(status, body).kind, expected, "{status} {body}");
        }
    }
}

#[test]
fn a_conversation_that_is_too_long_is_recognised() {
    let cases: [(&str, u16, Value); 14] = [
        (
            "OpenAI",
            400,
            json!({ "error": { "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", "type": "invalid_request_error", "code": "context_length_exceeded" } }),
        ),
        (
            "OpenAI, newer",
            400,
            json!({ "error": { "message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded" } }),
        ),
        (
            "llama.cpp",
            400,
            json!({ "error": { "code": 400, "message": "request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", "type": "exceed_context_size_error", "n_ctx": 4096 } }),
        ),
        (
            "llama.cpp, older",
            500,
            json!({ "error": { "code": 500, "message": "the request exceeds the available context size. try increasing the context size or enable context shift", "type": "server_error" } }),
        ),
        (
            "llama.cpp, while it answers",
            500,
            json!({ "error": { "code": 500, "message": "Context size has been exceeded.", "type": "server_error" } }),
        ),
        (
            "vLLM",
            400,
            json!({ "object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).", "type": "BadRequestError", "code": 400 }),
        ),
        (
            "vLLM, prompt",
            400,
            json!({ "error": { "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", "type": "BadRequestError", "code": 400 } }),
        ),
        (
            "Ollama",
            400,
            json!({ "error": { "message": "the input length exceeds the context length", "type": "api_error" } }),
        ),
        ("Ollama, native", 400, json!({ "error": "prompt too long; exceeded max context length by 100 tokens" })),
        (
            "LM Studio",
            400,
            json!({ "error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough." }),
        ),
        (
            "LM Studio, initial prompt",
            400,
            json!({ "error": "The number of tokens to keep from the initial prompt is greater than the context length." }),
        ),
        (
            "LiteLLM",
            400,
            json!({ "error": { "message": "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long: 210000 tokens > 200000 maximum", "type": null, "code": "400" } }),
        ),
        (
            "OpenRouter",
            400,
            json!({ "error": { "message": "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens.", "code": 400 } }),
        ),
        (
            "OpenRouter, behind",
            400,
            json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": { "raw": "{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}" } } }),
        ),
    ];
    for (server, status, body) in cases {
        assert_eq!(answered(status, &body.to_string()).kind, ContextLength, "{server}");
        assert_eq!(in_stream(&body, &[]).kind, ContextLength, "{server}, in a stream");
    }
}

#[test]
fn too_many_tokens_per_minute_is_not_too_long() {
    let body = json!({ "error": { "message": "Request too large for gpt on tokens per min (TPM): Limit 30000. Please reduce the length of the messages.", "code": "rate_limit_exceeded" } });
    assert_eq!(answered(429, &body.to_string()).kind, RateLimited);
}

#[test]
fn no_credit_is_not_worth_another_try() {
    let body = json!({ "error": { "message": "You exceeded your current quota", "code": "insufficient_quota" } });
    let error = answered(429, &body.to_string());
    assert_eq!(error.kind, Auth);
    assert!(error.message.contains("no credit left"), "{error}");
}

#[test]
fn errors_inside_a_stream_have_a_kind_too() {
    for (chunk, expected) in [
        (json!({ "error": { "message": "Rate limit reached", "type": "rate_limit_error" } }), RateLimited),
        (json!({ "error": { "code": 429, "message": "slow down" } }), RateLimited),
        (json!({ "error": { "code": 502, "message": "Upstream" } }), Unavailable),
        (json!({ "error": { "type": "overloaded_error", "message": "Overloaded" } }), Unavailable),
        (json!({ "error": { "type": "invalid_request_error", "message": "bad" } }), InvalidRequest),
        (json!({ "error": { "code": "401", "message": "no" } }), Auth),
        (json!({ "error": "something" }), Unavailable),
        (json!({ "object": "error", "message": "bad", "code": 400 }), InvalidRequest),
        (json!({ "detail": [{ "loc": ["body"], "msg": "field required" }] }), Unavailable),
    ] {
        assert_eq!(in_stream(&chunk, &[]).kind, expected, "{chunk}");
    }
}

#[test]
fn words_hold_no_key_and_no_page() {
    let error = answered(401, r#"{"error":{"message":"Incorrect API key provided: secret-key-0123456789"}}"#);
    assert!(!error.message.contains("secret-key-0123456789"), "{error}");
    assert!(error.message.contains("dispatch auth add"), "{error}");
    let page = answered(502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>");
    assert_eq!(page.kind, Unavailable);
    assert_eq!(
        page.message,
        "http://127.0.0.1:1 cannot answer at the moment (502): a web page titled \"502 Bad Gateway\""
    );
}

#[test]
fn a_redirect_says_where_to() {
    let location = Some("https://elsewhere.example/v1");
    let answer = ErrorAnswer { status: 308, body: "", location, retry_after_ms: None, server: "http://a" };
    let error = of_answer(&answer, &[]);
    assert_eq!(error.kind, InvalidRequest);
    assert!(error.message.contains("https://elsewhere.example/v1"), "{error}");
}
