//! What becomes of a question when nobody is there to answer it.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// What becomes of a question when nobody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unattended {
    /// It is refused.
    Deny,
    /// It passes.
    Allow,
}
