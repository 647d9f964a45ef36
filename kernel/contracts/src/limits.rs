//! Named limits and the dispatch policy of a turn.

use serde::{Deserialize, Serialize};

/// How tool calls of one step are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct DispatchPolicy {
    /// How many run at once: 0 for no limit, 1 for one after the other.
    pub max_concurrent: u32,
    /// Whether a call starts when it arrives, or when the model has finished speaking.
    pub eager: bool,
}

impl Default for DispatchPolicy {
    fn default() -> Self {
        Self { max_concurrent: 1, eager: true }
    }
}

/// The bounds of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnLimits {
    /// Model calls in one turn.
    pub steps: u32,
    /// Tool calls the model may make in one step; further ones are refused.
    pub calls_per_step: u32,
    /// Wall-clock time of the turn.
    pub turn_ms: u64,
    /// Wall-clock time of one tool call.
    pub call_ms: u64,
    /// How long a cancelled call may take to end by itself.
    pub cancel_grace_ms: u64,
    /// Bytes of one tool's text that the model reads; the rest is spilled.
    pub output_bytes: usize,
    /// Bytes the model may say in one turn, reasoning and arguments included.
    pub reply_bytes: usize,
    /// Streamed text is stored whenever this much has come.
    pub flush_bytes: usize,
    /// Streamed text is stored at the latest when it has waited this long.
    pub flush_ms: u64,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            steps: 200,
            calls_per_step: 128,
            turn_ms: 2 * 60 * 60 * 1000,
            call_ms: 30 * 60 * 1000,
            cancel_grace_ms: 2_000,
            output_bytes: 48 * 1024,
            reply_bytes: 4 * 1024 * 1024,
            flush_bytes: 4 * 1024,
            flush_ms: 200,
        }
    }
}
