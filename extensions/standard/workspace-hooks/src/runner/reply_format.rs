//! The forms in which other agents' programs print their answers.
//!
//! Pure.

/// What a program prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyFormat {
    /// The answer and nothing else.
    Text,
    /// `{"result", "is_error", "usage", "total_cost_usd"}`.
    ResultDocument,
    /// `{"response", "stats", "error"}`.
    GeminiDocument,
    /// A line for each event: `item.completed`, `turn.completed`, `turn.failed`, `error`.
    CodexLines,
    /// A line for each event: `text`, `step_finish`, `error`.
    OpencodeLines,
}
