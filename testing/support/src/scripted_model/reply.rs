//! What a scripted server answers, as data that also fits into a file.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A whole script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// Sent one per request, in order.
    pub replies: Vec<Reply>,
    /// What a request for the list of models gets, every time.
    pub models: Reply,
    /// What happens when the replies are used up.
    pub after: After,
    /// The most requests that are remembered; older ones are forgotten.
    pub keep: usize,
}

impl Default for Script {
    fn default() -> Self {
        let models = Reply::json(200, &json!({ "object": "list", "data": [{ "id": "scripted" }] }));
        Self { replies: Vec::new(), models, after: After::Fail, keep: usize::MAX }
    }
}

/// What happens when the replies are used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// Every further request gets an error.
    #[default]
    Fail,
    /// The last reply is replied again.
    RepeatLast,
    /// The replies are replied from the first on.
    StartAgain,
}

impl Script {
    pub(super) fn reply(&self, at: usize) -> Reply {
        let count = self.replies.len().max(1);
        let at = match self.after {
            After::Fail => at,
            After::RepeatLast => at.min(count - 1),
            After::StartAgain => at % count,
        };
        let over = || Reply::json(400, &json!({ "error": { "message": "the script is over" } }));
        self.replies.get(at).cloned().unwrap_or_else(over)
    }
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The HTTP headers, beside those of the framing.
    pub headers: Vec<(String, String)>,
    /// The body, step by step. Without a [`Step::Reset`] or [`Step::Cut`] it ends properly.
    pub body: Vec<Step>,
}

/// One step of a body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Sends this text in one piece.
    Text(String),
    /// Sends these bytes in one piece.
    Bytes(Vec<u8>),
    /// Sends one byte after the other.
    ByteByByte(String),
    /// Sends a text so many times over, for large bodies.
    Repeat {
        /// The text.
        text: String,
        /// How often.
        times: usize,
    },
    /// Waits.
    SleepMs(u64),
    /// Waits until the client closes the connection, at most so long.
    UntilClosedMs(u64),
    /// Breaks the connection off with a reset.
    Reset,
    /// Closes the connection without ending the body.
    Cut,
}

impl Default for Reply {
    fn default() -> Self {
        Self { status: 200, headers: vec![content_type("text/event-stream")], body: Vec::new() }
    }
}

impl Reply {
    /// A stream of these steps.
    #[must_use]
    pub fn steps(body: impl IntoIterator<Item = Step>) -> Self {
        Self { body: body.into_iter().collect(), ..Self::default() }
    }

    /// A stream of these chunks, one event each, then `[DONE]`.
    #[must_use]
    pub fn events(chunks: impl IntoIterator<Item = Value>) -> Self {
        let events = chunks.into_iter().map(|chunk| Step::event(&chunk));
        Self::steps(events.chain([Step::done()]))
    }

    /// Says a text word by word.
    #[must_use]
    pub fn say(text: &str) -> Self {
        let words = text.split_inclusive(' ').map(|word| delta(&json!({ "content": word })));
        Self::events(words.chain([finish("stop")]))
    }

    /// Calls tools: id, name and arguments of each.
    #[must_use]
    pub fn call(calls: &[(&str, &str, Value)]) -> Self {
        let call = |(index, (id, name, arguments)): (usize, &(&str, &str, Value))| {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            delta(&json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": function }] }))
        };
        Self::events(calls.iter().enumerate().map(call).chain([finish("tool_calls")]))
    }

    /// One JSON document.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: vec![content_type("application/json")], body: vec![Step::Text(body.to_string())] }
    }

    /// A page for people.
    #[must_use]
    pub fn html(status: u16, page: &str) -> Self {
        Self { status, headers: vec![content_type("text/html")], body: vec![Step::Text(page.to_owned())] }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Step {
    /// One event of a stream.
    #[must_use]
    pub fn event(chunk: &Value) -> Self {
        Self::Text(format!("data: {chunk}\n\n"))
    }

    /// A piece of text as one event.
    #[must_use]
    pub fn say(text: &str) -> Self {
        Self::event(&delta(&json!({ "content": text })))
    }

    /// The end of a stream.
    #[must_use]
    pub fn done() -> Self {
        Self::Text("data: [DONE]\n\n".to_owned())
    }
}

fn content_type(value: &str) -> (String, String) {
    ("Content-Type".to_owned(), value.to_owned())
}

fn delta(delta: &Value) -> Value {
    json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn finish(reason: &str) -> Value {
    json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}
