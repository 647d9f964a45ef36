//! What a client asks for: its last message, the conversation before it, and which session it means.
//!
//! Pure.

use super::continuation::Fingerprint;
use crate::refusal::Refusal;
use dispatch_contracts::conversation::Image;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt::Write;

/// What a model server is told as the client says it.
const FOR_THE_MODEL: [&str; 12] = [
    "frequency_penalty",
    "logit_bias",
    "max_completion_tokens",
    "max_tokens",
    "presence_penalty",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "temperature",
    "top_p",
    "verbosity",
];
/// What changes nothing about the reply.
const WITHOUT_EFFECT: [&str; 6] =
    ["parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "store"];

/// The body of a request. Every field is honoured, without effect by its nature, or refused.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ChatRequest {
    /// `dispatch` for the configured model.
    #[serde(default)]
    pub(crate) model: String,
    messages: Vec<ChatMessage>,
    #[serde(default)]
    pub(crate) stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// The label of the session, if nothing else names it.
    #[serde(default)]
    user: Option<String>,
    /// `session` is the label of the session; `show_tools: text` shows tool calls as text.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    /// How many replies; only 1 is accepted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1))]
    n: Option<u32>,
    /// The other parameters of OpenAI.
    #[serde(flatten)]
    more: Map<String, Value>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Option<ChatContent>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum ChatContent {
    Text(String),
    Parts(Vec<ChatContentPart>),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatContentPart {
    Text {
        text: String,
    },
    ImageUrl {
        image_url: ChatImageUrl,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ChatImageUrl {
    url: String,
}

/// Whether the client sees the tool calls of our own agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolVisibility {
    /// The client sees what was said.
    Hidden,
    /// The client sees a line for each call, too.
    AsText,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChatPlan {
    /// The client's last words.
    pub(crate) text: String,
    pub(crate) images: Vec<Image>,
    /// The session that the client names, if it does.
    pub(crate) session: Option<String>,
    /// The conversation before the last message: what a session that continues it knows.
    pub(crate) before: Fingerprint,
    /// The same as text, for a new session; empty when there is nothing before.
    pub(crate) told_before: String,
    pub(crate) include_usage: bool,
    pub(crate) tools: ToolVisibility,
    /// What the model's server is told.
    pub(crate) options: Map<String, Value>,
}

impl ChatRequest {
    /// Reads the conversation. `header` is the session that the request's headers name.
    pub(crate) fn plan(&self, header: Option<&str>) -> Result<ChatPlan, Refusal> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(unsupported("n", "`n` must be 1: a session has one next reply"));
        }
        let options = options(&self.more)?;
        let Some((last, before)) = self.messages.split_last().filter(|(last, _)| last.role == "user") else {
            return Err(Refusal::invalid("the last message must have the role `user`"));
        };
        let metadata = |name: &str| self.metadata.as_ref().and_then(|fields| fields.get(name)?.as_str());
        let session = header.or_else(|| metadata("session")).or(self.user.as_deref());
        let mut fingerprint = Fingerprint::default();
        for message in before {
            fingerprint = fingerprint.with(&message.role, &message.words());
        }
        let text = last.words();
        let images = last.images()?;
        if text.trim().is_empty() && images.is_empty() {
            return Err(Refusal::invalid("the last message is empty"));
        }
        Ok(ChatPlan {
            text,
            images,
            session: session.filter(|name| !name.is_empty()).map(ToOwned::to_owned),
            before: fingerprint,
            told_before: tell(before),
            include_usage: self.stream_options.as_ref().and_then(|options| options.include_usage) == Some(true),
            tools: if metadata("show_tools") == Some("text") { ToolVisibility::AsText } else { ToolVisibility::Hidden },
            options,
        })
    }
}

/// The parameters for the model's server; one that cannot be honoured is refused.
fn options(more: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
    let mut kept = Map::new();
    for (name, value) in more.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "tools" | "functions" if value.as_array().is_some_and(Vec::is_empty) => {}
            "tools" | "functions" => {
                let why = "the tools of the agent run on the server; tools of the client are not called";
                return Err(unsupported(name, &format!("`{name}` is not supported: {why}")));
            }
            "tool_choice" | "function_call" if value == "auto" || value == "none" => {}
            "logprobs" if *value == Value::Bool(false) => {}
            "modalities" if *value == serde_json::json!(["text"]) => {}
            known if FOR_THE_MODEL.contains(&known) => {
                kept.insert(name.clone(), value.clone());
            }
            known if WITHOUT_EFFECT.contains(&known) => {}
            _ => return Err(unsupported(name, &format!("`{name}` is not supported"))),
        }
    }
    Ok(kept)
}

/// Refuses a parameter, in OpenAI's words.
fn unsupported(parameter: &str, message: &str) -> Refusal {
    Refusal { code: "unsupported_parameter", ..Refusal::invalid(message).parameter(parameter) }
}

impl ChatMessage {
    fn words(&self) -> String {
        match &self.content {
            None => String::new(),
            Some(ChatContent::Text(text)) => text.clone(),
            Some(ChatContent::Parts(parts)) => {
                let texts = parts.iter().filter_map(|part| match part {
                    ChatContentPart::Text { text } => Some(text.as_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn images(&self) -> Result<Vec<Image>, Refusal> {
        let Some(ChatContent::Parts(parts)) = &self.content else { return Ok(Vec::new()) };
        let mut images = Vec::new();
        for part in parts {
            match part {
                ChatContentPart::Text { .. } => {}
                ChatContentPart::ImageUrl { image_url } => images.push(data_url(&image_url.url).ok_or_else(|| {
                    Refusal::invalid("an image must be a `data:` URL with base64 data; nothing is fetched")
                })?),
                ChatContentPart::Other => return Err(Refusal::invalid("a message may hold text and images only")),
            }
        }
        Ok(images)
    }
}

fn data_url(url: &str) -> Option<Image> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?;
    media_type.starts_with("image/").then(|| Image { media_type: media_type.to_owned(), data: data.trim().to_owned() })
}

/// The conversation before the last words, for a model that was not there.
fn tell(messages: &[ChatMessage]) -> String {
    let mut told = String::new();
    for message in messages {
        let words = message.words();
        if words.trim().is_empty() {
            continue;
        }
        let who = match message.role.as_str() {
            "system" | "developer" => "Instructions",
            "assistant" => "You said",
            "tool" | "function" => "A tool said",
            _ => "I said",
        };
        // Writing to a string cannot fail.
        let _ = write!(told, "{who}:\n{words}\n\n");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(body: Value, header: Option<&str>) -> Result<ChatPlan, Refusal> {
        serde_json::from_value::<ChatRequest>(body).unwrap().plan(header)
    }

    #[test]
    fn the_last_words_are_taken_and_the_rest_is_told() {
        let found = plan(
            json!({"model": "m", "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "one"}]},
                {"role": "assistant", "content": "1", "tool_calls": []},
                {"role": "user", "content": [
                    {"type": "text", "text": "two"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                ]},
            ], "temperature": 1, "stream_options": {"include_usage": true}}),
            None,
        )
        .unwrap();
        assert_eq!(found.text, "two");
        assert_eq!(found.images, [Image { media_type: "image/png".into(), data: "AAAA".into() }]);
        assert_eq!(found.told_before, "Instructions:\nBe brief.\n\nI said:\none\n\nYou said:\n1\n\n");
        assert!(found.include_usage && found.session.is_none());
    }

    #[test]
    fn a_session_is_named_by_header_then_metadata_then_user() {
        let body = |more: Value| {
            let mut body = json!({"messages": [{"role": "user", "content": "hi"}]});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let all = json!({"user": "u", "metadata": {"session": "m"}});
        assert_eq!(plan(body(all.clone()), Some("h")).unwrap().session.unwrap(), "h");
        assert_eq!(plan(body(all), None).unwrap().session.unwrap(), "m");
        assert_eq!(plan(body(json!({"user": "u"})), None).unwrap().session.unwrap(), "u");
        assert_eq!(plan(body(json!({"user": ""})), None).unwrap().session, None);
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        for (messages, more) in [
            (json!([]), json!({})),
            (json!([{"role": "assistant", "content": "x"}]), json!({})),
            (json!([{"role": "user", "content": " "}]), json!({})),
            (json!([{"role": "user", "content": null}]), json!({})),
            (json!([{"role": "user", "content": "x"}]), json!({"n": 2})),
            (json!([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]), json!({})),
            (
                json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]),
                json!({}),
            ),
        ] {
            let mut body = json!({"messages": messages});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(plan(body.clone(), None).unwrap_err().status, 400, "{body}");
        }
    }

    #[test]
    fn parameters_are_honoured_or_refused() {
        let with = |more: Value| {
            let mut body = json!({"messages": [{"role": "user", "content": "hi"}]});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            plan(body, None)
        };
        let format = json!({"type": "json_object"});
        let found = with(json!({"max_tokens": 5, "response_format": format, "tools": [], "store": true, "stop": null}));
        assert_eq!(found.unwrap().options, *json!({"max_tokens": 5, "response_format": format}).as_object().unwrap());
        for (more, parameter) in [
            (json!({"tools": [{"type": "function"}]}), "tools"),
            (json!({"tool_choice": "required"}), "tool_choice"),
            (json!({"logprobs": true}), "logprobs"),
            (json!({"n": 2}), "n"),
            (json!({"max_token": 5}), "max_token"),
        ] {
            let refusal = with(more).unwrap_err();
            assert_eq!(
                (refusal.status.as_u16(), refusal.openai.and_then(|it| it.parameter).as_deref()),
                (400, Some(parameter))
            );
        }
    }
}
