//! Adds a bound or the plan's scope to a call, where that keeps its meaning.
//!
//! Pure.

mod command;
mod search;
mod words;

use dispatch_hook_dialects::dialect::{Abilities, by_name};
use dispatch_hook_module::Context;
use serde_json::Value;

use crate::plan::PlanNode;

/// A call with a bound.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InputRewrite {
    /// The keys of the tool input to overwrite, or the new text.
    pub(super) update: Value,
    /// What the model is told.
    pub(super) note: String,
}

/// The rewrite that fits the call, if there is one and the host can take it.
pub(super) fn find(ctx: &Context<'_>, open: &[&PlanNode], max_count: u32) -> Option<InputRewrite> {
    let dialect = by_name(ctx.event.host)?;
    if !dialect.support().abilities(&ctx.event.host_event).has(Abilities::REWRITE) {
        return None;
    }
    search::with_scope(ctx, open).or_else(|| command::bounded(ctx, open, max_count))
}

/// Whether every tool reads a text the same way: nothing but names, `/`, `*` and `?`.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./*?".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain)
}
