//! Takes secrets out of rows before they are stored and out of live output before it is shown.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Chunk, Row, RowBody, ToolCall, ToolResult};
use dispatch_contracts::settings::Settings;
use dispatch_contracts::turn::{SinkError, StepSink, TurnEvent};
use dispatch_redact::{Allowed, Options, RedactError, Redactor, UserPattern};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The redactor of the settings.
pub fn redactor(settings: &Settings) -> Result<Redactor, RedactError> {
    redactor_with(settings, &[])
}

/// The redactor of the settings with further forms of secrets.
pub(crate) fn redactor_with(settings: &Settings, more: &[String]) -> Result<Redactor, RedactError> {
    let mut patterns: Vec<UserPattern> = settings.read("redact.patterns").unwrap_or_default();
    patterns.extend(more.iter().map(|regex| UserPattern::new("secret", regex)));
    let allowed: Vec<String> = settings.read("redact.allow").unwrap_or_default();
    Redactor::new(Options {
        patterns,
        allowed: allowed.into_iter().map(Allowed::Exact).collect(),
        ..Options::default()
    })
}

/// A sink behind which nothing secret is stored.
pub(crate) struct RedactingSink<'a> {
    pub(crate) sink: &'a dyn StepSink,
    pub(crate) redactor: Arc<Redactor>,
}

impl RedactingSink<'_> {
    /// The same for what is shown while the turn runs.
    pub(crate) fn watcher(&self, inner: Arc<dyn Fn(TurnEvent) + Send + Sync>) -> Arc<dyn Fn(TurnEvent) + Send + Sync> {
        let redactor = Arc::clone(&self.redactor);
        Arc::new(move |mut event| {
            if let TurnEvent::CallOutput { text, .. }
            | TurnEvent::TextDelta { text, .. }
            | TurnEvent::ReasoningDelta { text, .. }
            | TurnEvent::Notice { text, .. } = &mut event
            {
                clean(&redactor, text);
            }
            inner(event);
        })
    }
}

impl StepSink for RedactingSink<'_> {
    fn record_all<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let rows: Vec<Row> = rows.iter().map(|row| cleaned(&self.redactor, row)).collect();
            self.sink.record_all(&rows).await
        })
    }
}

/// A row without its secrets.
fn cleaned(redactor: &Redactor, row: &Row) -> Row {
    let mut row = row.clone();
    match &mut row.body {
        RowBody::Chunk { chunk, .. } => match chunk {
            Chunk::Text { text } | Chunk::Reasoning { text, .. } => clean(redactor, text),
            Chunk::ToolCall(call) => clean_call(redactor, call),
            Chunk::ToolResult(result) => clean_result(redactor, result),
            Chunk::Image(_) => {}
        },
        RowBody::CallStarted { call, .. } => clean_call(redactor, call),
        RowBody::CallEnded { result } => clean_result(redactor, result),
        RowBody::Steer { text, .. } | RowBody::Marker { text } => clean(redactor, text),
        RowBody::StepEnded { .. } | RowBody::TurnEnded { .. } | RowBody::Unreadable => {}
    }
    row
}

pub(crate) fn clean(redactor: &Redactor, text: &mut String) {
    if let std::borrow::Cow::Owned(redacted) = redactor.redact(text) {
        *text = redacted;
    }
}

pub(crate) fn clean_call(redactor: &Redactor, call: &mut ToolCall) {
    clean_map(redactor, &mut call.arguments);
}

fn clean_result(redactor: &Redactor, result: &mut ToolResult) {
    clean(redactor, &mut result.text);
}

fn clean_map(redactor: &Redactor, map: &mut Map<String, Value>) {
    map.values_mut().for_each(|value| clean_value(redactor, value));
}

fn clean_value(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => clean(redactor, text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean_value(redactor, item)),
        Value::Object(map) => clean_map(redactor, map),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
