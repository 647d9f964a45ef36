//! A tool whose answers hold no secrets: neither for the model nor for whoever watches it run.

use crate::redaction::clean;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::tool::{
    Effect, OutputSink, OutputStream, Resources, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};
use dispatch_redact::{Redactor, StreamRedactor};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// Stands in for a tool. What it says is cleaned here and not only where it is stored, because the next
/// request of the same turn is made from what the tool said.
pub(super) struct RedactedTool {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) redactor: Arc<Redactor>,
}

impl Tool for RedactedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn resources(&self, arguments: &Map<String, Value>) -> Resources {
        self.tool.resources(arguments)
    }

    fn effect(&self, arguments: &Map<String, Value>) -> Effect {
        self.tool.effect(arguments)
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let live = Arc::new(LiveOutput::new(Arc::clone(&context.sink), &self.redactor));
            let passing = Arc::clone(&live);
            let sink: OutputSink = Arc::new(move |stream, bytes| passing.push(stream, bytes));
            let answer = self.tool.call(arguments, ToolContext { sink, ..context }).await;
            live.finish();
            match answer {
                Ok(mut output) => {
                    clean(&self.redactor, &mut output.text);
                    Ok(output)
                }
                Err(ToolError(mut text)) => {
                    clean(&self.redactor, &mut text);
                    Err(ToolError(text))
                }
            }
        })
    }
}

type RedactedStream = StreamRedactor<Arc<Redactor>>;

/// LiveOutput output on its way; a secret that comes in pieces is one all the same.
struct LiveOutput {
    sink: OutputSink,
    streams: Mutex<[Option<RedactedStream>; 2]>,
}

impl LiveOutput {
    fn new(sink: OutputSink, redactor: &Arc<Redactor>) -> Self {
        let stream = || Some(StreamRedactor::new(Arc::clone(redactor)));
        Self { sink, streams: Mutex::new([stream(), stream()]) }
    }

    fn push(&self, stream: OutputStream, bytes: &[u8]) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let [out, err] = &mut *streams;
        let wanted = if stream == OutputStream::Stdout { out } else { err };
        let safe = wanted.as_mut().map(|redacting| redacting.push(bytes)).unwrap_or_default();
        if !safe.is_empty() {
            (self.sink)(stream, &safe);
        }
    }

    /// Gives out the rest; what comes afterwards is nobody's.
    fn finish(&self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let [out, err] = &mut *streams;
        for (stream, rest) in [(OutputStream::Stdout, out.take()), (OutputStream::Stderr, err.take())] {
            let safe = rest.map(StreamRedactor::finish).unwrap_or_default();
            if !safe.is_empty() {
                (self.sink)(stream, &safe);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_redact::Options;

    #[test]
    fn a_secret_in_two_pieces_is_shown_in_none() {
        let redactor = Arc::new(Redactor::new(Options::default()).unwrap());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&shown);
        let sink: OutputSink = Arc::new(move |_, bytes| seen.lock().unwrap().extend_from_slice(bytes));
        let live = LiveOutput::new(sink, &redactor);
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let (first, rest) = secret.split_at(15);
        for piece in ["the token is ", first, rest, "\nand more"] {
            live.push(OutputStream::Stdout, piece.as_bytes());
        }
        live.finish();
        live.push(OutputStream::Stdout, b"late");
        let text = String::from_utf8(shown.lock().unwrap().clone()).unwrap();
        assert!(text.starts_with("the token is ") && text.ends_with("and more"), "{text}");
        assert!(!text.contains(first) && !text.contains(rest), "{text}");
    }
}
