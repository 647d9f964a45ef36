//! Which reminders were given already, as the state points it out.
//!
//! Pure.

use dispatch_hook_module::{Context, MAIN_AGENT};
use serde_json::Value;

use crate::followup::{FollowupRule, ReminderFrequency};

/// Whether the rule has had its turn. A rule for once a session counts as given however it was given before.
pub(super) fn is_given(ctx: &Context<'_>, rule: &FollowupRule) -> bool {
    let known = ctx.state.get("memory", "activated").and_then(|given| given.get(key(ctx, rule))?.as_str());
    match rule.once {
        ReminderFrequency::Always => false,
        ReminderFrequency::Session => known.is_some(),
        ReminderFrequency::Turn => known == Some(turn(ctx).as_str()),
    }
}

/// What the state is to say once the rule was given; nothing if it may be given again at once.
pub(super) fn pointer(ctx: &Context<'_>, rule: &FollowupRule) -> Option<(String, Value)> {
    let value = match rule.once {
        ReminderFrequency::Always => return None,
        ReminderFrequency::Session => "session".to_owned(),
        ReminderFrequency::Turn => turn(ctx),
    };
    Some((key(ctx, rule), value.into()))
}

/// A subagent does not see what another agent was told.
fn key(ctx: &Context<'_>, rule: &FollowupRule) -> String {
    match ctx.ids.agent_id.as_str() {
        MAIN_AGENT => rule.id.clone(),
        agent => format!("{}@{agent}", rule.id),
    }
}

fn turn(ctx: &Context<'_>) -> String {
    format!("turn:{}", ctx.ids.turn_id)
}
