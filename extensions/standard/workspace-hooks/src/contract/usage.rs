//! What a run spends.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// What a run of an agent spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, in millionths of a dollar.
    pub micro_usd: u64,
}
