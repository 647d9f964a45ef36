//! The many ways in which servers say that a conversation is too long.
//!
//! Pure.

/// Codes and types that say nothing else.
const CODES: [&str; 5] = [
    "context_length_exceeded",
    "exceed_context_size",
    "context_window_exceeded",
    "contextwindowexceeded",
    "model_max_prompt_tokens_exceeded",
];

/// Wordings, in lower case.
const WORDINGS: [&str; 24] = [
    "maximum context length",
    "exceeds the available context size",
    "exceed context size",
    "exceeds the context length",
    "exceeds the model's context",
    "exceeds maximum context length",
    "exceeded max context length",
    "exceeds the maximum context",
    "exceeds context window",
    "exceeds the context window",
    "exceeds model context",
    "context length exceeded",
    "context size has been exceeded",
    "context window exceeded",
    "contextwindowexceedederror",
    "longer than the maximum model length",
    "longer than the model's context length",
    "than the context length",
    "context the overflows",
    "reached context length of",
    "prompt is too long",
    "input is too long for requested model",
    "exceeds the maximum number of tokens allowed",
    "reduce the length of the messages",
];

pub(super) fn is_code(code: &str) -> bool {
    CODES.iter().any(|known| code.contains(known))
}

pub(super) fn is_wording(message: &str) -> bool {
    WORDINGS.iter().any(|known| message.contains(known))
}
