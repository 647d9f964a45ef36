//! Reads the list of models, in the forms that servers send it.
//!
//! Pure.

use dispatch_contracts::provider::ModelInfo;
use serde_json::Value;

/// How many models are listed at most.
pub(crate) const MAX_MODELS: usize = 5_000;

/// Where servers say how many tokens fit, the one in force before the one that is possible.
const CONTEXT_POINTERS: [&str; 9] = [
    "/loaded_context_length",
    "/max_model_len",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/meta/n_ctx",
    "/meta/n_ctx_train",
    "/top_provider/context_length",
    "/max_input_tokens",
];

/// The models of a list; `None` if the document is not a list of models.
pub(crate) fn read(document: &Value) -> Option<Vec<ModelInfo>> {
    let list = [document.get("data"), document.get("models"), Some(document)];
    let list = list.into_iter().flatten().find_map(Value::as_array)?;
    Some(list.iter().filter_map(read_one).take(MAX_MODELS).collect())
}

fn read_one(model: &Value) -> Option<ModelInfo> {
    let named = model.as_str().or_else(|| ["id", "name", "model"].iter().find_map(|key| model.get(key)?.as_str()))?;
    let context =
        CONTEXT_POINTERS.iter().find_map(|pointer| model.pointer(pointer)?.as_u64().filter(|tokens| *tokens > 0));
    (!named.is_empty()).then(|| ModelInfo { id: named.to_owned(), context_tokens: context })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_server_has_its_own_form() {
        let model = |id: &str, context_tokens| ModelInfo { id: id.to_owned(), context_tokens };
        for (server, document, expected) in [
            (
                "OpenAI",
                json!({ "object": "list", "data": [{ "id": "gpt", "object": "model" }] }),
                vec![model("gpt", None)],
            ),
            (
                "OpenRouter",
                json!({ "data": [{ "id": "a/b", "context_length": 8192 }] }),
                vec![model("a/b", Some(8192))],
            ),
            ("vLLM", json!({ "data": [{ "id": "q", "max_model_len": 4096 }] }), vec![model("q", Some(4096))]),
            ("Groq", json!({ "data": [{ "id": "l", "context_window": 131_072 }] }), vec![model("l", Some(131_072))]),
            (
                "LM Studio",
                json!({ "data": [{ "id": "m", "max_context_length": 9, "loaded_context_length": 5 }] }),
                vec![model("m", Some(5))],
            ),
            (
                "llama.cpp",
                json!({ "models": [{ "name": "x" }], "data": [{ "id": "y.gguf", "meta": { "n_ctx_train": 7 } }] }),
                vec![model("y.gguf", Some(7))],
            ),
            (
                "Ollama",
                json!({ "models": [{ "name": "qwen3:8b", "model": "qwen3:8b" }] }),
                vec![model("qwen3:8b", None)],
            ),
            ("a bare list", json!([{ "id": "a" }, "b", { "id": "" }, 3, {}]), vec![model("a", None), model("b", None)]),
            ("none yet", json!({ "object": "list", "data": [] }), vec![]),
        ] {
            assert_eq!(read(&document), Some(expected), "{server}");
        }
        for other in [json!({}), json!("models"), json!({ "data": {} }), Value::Null] {
            assert_eq!(read(&other), None, "{other}");
        }
    }
}
