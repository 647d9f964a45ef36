//! Turns the chunks of a reply into model events, whatever dialect of the protocol the server speaks.
//!
//! Pure.

use crate::assembly::{CallAssembly, CompleteCall};
use crate::failure;
use crate::reasoning::Reasoning;
use crate::tool_names::ToolNames;
use dispatch_contracts::provider::{Finish, ModelEvent, ProviderError, ProviderErrorKind, Usage};
use serde_json::Value;

/// What ends a stream.
const DONE: &str = "[DONE]";

/// The reply so far.
#[derive(Debug, Default)]
pub(crate) struct ReplyReducer {
    names: ToolNames,
    secrets: Vec<String>,
    calls: CallAssembly,
    reasoning: Reasoning,
    finish: Option<Finish>,
    saw_choice: bool,
    called: bool,
    is_over: bool,
}

type ReducedEvents = Result<Vec<ModelEvent>, ProviderError>;

impl ReplyReducer {
    /// A reducer that knows the tools as the server was told, and what must not show up in errors.
    pub(crate) fn new(names: ToolNames, secrets: Vec<String>) -> Self {
        Self { names, secrets, ..Self::default() }
    }

    /// Takes the data of one event of a stream.
    pub(crate) fn push(&mut self, event_name: &str, data: &str) -> ReducedEvents {
        let data = data.trim();
        if self.is_over || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == DONE {
            return self.done();
        }
        let Ok(chunk) = serde_json::from_str::<Value>(data) else {
            if event_name == "error" {
                return Err(failure::in_stream(&Value::from(data), &self.secrets));
            }
            return Err(failure::not_json(data, &self.secrets));
        };
        if event_name == "error" && chunk.get("error").is_none() {
            return Err(failure::in_stream(&chunk, &self.secrets));
        }
        self.chunk(&chunk)
    }

    /// Takes one parsed chunk, or a whole reply of a server that does not stream.
    pub(crate) fn chunk(&mut self, chunk: &Value) -> ReducedEvents {
        if failure::is_error(chunk) {
            return Err(failure::in_stream(chunk, &self.secrets));
        }
        let mut events = Vec::new();
        let choices = chunk.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // One answer was asked for; a server that sends more is heard for its first.
        let first = choices.iter().find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0);
        if let Some(choice) = first {
            self.saw_choice = true;
            self.choice(choice, &mut events)?;
        }
        let usage =
            [chunk.get("usage"), chunk.pointer("/x_groq/usage")].into_iter().flatten().find(|it| it.is_object());
        events.extend(usage.map(|usage| ModelEvent::Usage(read_usage(usage))));
        Ok(events)
    }

    /// The stream has ended without `[DONE]`.
    pub(crate) fn end(&mut self) -> ReducedEvents {
        if self.is_over {
            return Ok(Vec::new());
        }
        if self.finish.is_none() {
            let what = if self.saw_choice { "in the middle of the reply" } else { "before the model said anything" };
            return Err(ProviderError::new(
                ProviderErrorKind::BrokenStream,
                format!("the model's stream ended {what}"),
            ));
        }
        self.done()
    }

    fn done(&mut self) -> ReducedEvents {
        if !self.saw_choice {
            let message = "the model's stream ended before the model said anything";
            return Err(ProviderError::new(ProviderErrorKind::BrokenStream, message));
        }
        let mut events = Vec::new();
        self.stop(&mut events);
        let finish = match self.finish.unwrap_or(Finish::Stop) {
            Finish::Stop | Finish::ToolCalls if self.called => Finish::ToolCalls,
            Finish::ToolCalls => Finish::Stop,
            other => other,
        };
        events.push(ModelEvent::Finished { finish });
        self.is_over = true;
        Ok(events)
    }

    fn choice(&mut self, choice: &Value, events: &mut Vec<ModelEvent>) -> Result<(), ProviderError> {
        if failure::is_error(choice) {
            return Err(failure::in_stream(choice, &self.secrets));
        }
        // A whole reply has its message where a stream has the delta.
        for delta in [choice.get("delta"), choice.get("message")].into_iter().flatten() {
            self.delta(delta, events);
        }
        // The oldest form of the protocol has bare text.
        self.text(choice.get("text").and_then(Value::as_str).unwrap_or_default(), events);
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            self.finish = Some(read_finish(reason)?);
            self.stop(events);
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, events: &mut Vec<ModelEvent>) {
        let thought = self.reasoning.push(delta);
        if !thought.is_empty() {
            events.push(ModelEvent::ReasoningDelta { text: thought });
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.text(text, events),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part, events)),
            _ => {}
        }
        self.text(delta.get("refusal").and_then(Value::as_str).unwrap_or_default(), events);
        let calls = delta.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let old = delta.get("function_call").filter(|call| call.is_object());
        for element in calls.iter().chain(old) {
            self.seal(events);
            let whole = self.calls.push(element);
            self.call(whole, events);
        }
    }

    /// One part of a content that is a list.
    fn part(&mut self, part: &Value, events: &mut Vec<ModelEvent>) {
        let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
        match part.get("thinking") {
            Some(Value::String(thought)) => events.push(ModelEvent::ReasoningDelta { text: thought.clone() }),
            Some(Value::Array(thoughts)) => {
                let texts = thoughts.iter().filter_map(|thought| thought.get("text")?.as_str());
                events.extend(texts.map(|text| ModelEvent::ReasoningDelta { text: text.to_owned() }));
            }
            _ => self.text(text, events),
        }
    }

    fn text(&mut self, text: &str, events: &mut Vec<ModelEvent>) {
        if !text.is_empty() {
            self.seal(events);
            events.push(ModelEvent::TextDelta { text: text.to_owned() });
        }
    }

    fn seal(&mut self, events: &mut Vec<ModelEvent>) {
        events.extend(self.reasoning.seal().map(|signature| ModelEvent::ReasoningSealed { signature }));
    }

    fn stop(&mut self, events: &mut Vec<ModelEvent>) {
        self.seal(events);
        let rest = self.calls.finish();
        self.call(rest, events);
    }

    fn call(&mut self, whole: Vec<CompleteCall>, events: &mut Vec<ModelEvent>) {
        self.called |= !whole.is_empty();
        events.extend(whole.into_iter().map(|call| ModelEvent::ToolCall {
            id: call.id,
            name: self.names.ours(&call.name).to_owned(),
            arguments: call.arguments,
        }));
    }
}

fn read_finish(reason: &str) -> Result<Finish, ProviderError> {
    let failed = |message: &str| Err(ProviderError::new(ProviderErrorKind::Unavailable, message));
    match reason.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "max_output_tokens" | "model_length" => Ok(Finish::Length),
        "tool_calls" | "function_call" | "tool_use" => Ok(Finish::ToolCalls),
        "content_filter" | "safety" | "recitation" | "refusal" => Ok(Finish::Filtered),
        "error" => failed("the server broke off the reply with an error"),
        "insufficient_system_resource" => failed("the server broke the reply off: it is overloaded"),
        _ => Ok(Finish::Stop),
    }
}

fn read_usage(usage: &Value) -> Usage {
    let count = |pointers: &[&str]| {
        let found = pointers.iter().find_map(|pointer| usage.pointer(pointer)).filter(|value| !value.is_null());
        // Some servers count in floating point.
        found.and_then(|value| value.as_u64().or_else(|| value.as_f64().map(|float| float as u64))).unwrap_or_default()
    };
    Usage {
        input_tokens: count(&["/prompt_tokens", "/input_tokens"]),
        cached_input_tokens: count(&["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"]),
        output_tokens: count(&["/completion_tokens", "/output_tokens"]),
        reasoning_tokens: count(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]),
    }
}

#[cfg(test)]
mod tests;
