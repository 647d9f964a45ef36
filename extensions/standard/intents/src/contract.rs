//! What another extension may use of the intents.

pub use crate::entry::{FileHashes, MutationClass, ScopeValidation, TraceEntry};
pub use crate::intent::{IntentKind, IntentSpec, IntentStatus};
