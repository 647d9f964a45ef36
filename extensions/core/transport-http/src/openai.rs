//! Chat completions as OpenAI's clients speak them, mapped onto sessions.
//!
//! Pure.

mod chunk;
mod continuation;
mod request;

pub(crate) use chunk::{ChatCompletion, ChatFinishReason, ChatFrame, finish_reason};
pub(crate) use continuation::{Continuations, Fingerprint};
pub(crate) use request::{ChatPlan, ChatRequest, ToolVisibility};
