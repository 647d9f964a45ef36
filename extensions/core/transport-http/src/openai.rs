//! Chat completions as OpenAI's clients speak them, mapped onto sessions; pure.

mod chunk;
mod continuation;
mod request;

pub(crate) use chunk::{Frame, completion, finish_reason};
pub(crate) use continuation::{Continuations, Fingerprint};
pub(crate) use request::{ChatRequest, Plan, Tools};
