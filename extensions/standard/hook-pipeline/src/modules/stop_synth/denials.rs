//! The calls and prompts that were refused, by rule.
//!
//! Pure.

use dispatch_hook_module::{EventName, Record};

use crate::call_outcomes::{self, text};

/// Refusals by one rule of one tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DeniedCall {
    pub(super) code: String,
    /// The tool; nothing for a prompt.
    pub(super) tool: Option<String>,
    pub(super) reason: String,
    pub(super) count: usize,
}

/// In the order in which they first came.
pub(super) fn denials(records: &[Record]) -> Vec<DeniedCall> {
    let mut found: Vec<DeniedCall> = Vec::new();
    for record in records.iter().filter(|record| is_refusal(record)) {
        let code = text(&record.data, "code").or_else(|| text(&record.data, "decidedBy")).unwrap_or("unknown");
        let tool = text(&record.data, "tool");
        match found.iter_mut().find(|denial| denial.code == code && denial.tool.as_deref() == tool) {
            Some(denial) => denial.count += 1,
            None => found.push(DeniedCall {
                code: code.to_owned(),
                tool: tool.map(str::to_owned),
                reason: text(&record.data, "reason").unwrap_or("no reason given").to_owned(),
                count: 1,
            }),
        }
    }
    found
}

/// A refused stop is not one: it would be a new fact after every stop.
fn is_refusal(record: &Record) -> bool {
    let event = EventName::known(&record.event);
    call_outcomes::is_refusal(record) && matches!(event, Some(EventName::PreToolUse | EventName::UserPromptSubmit))
}
