//! Derives the ids of an invocation.

use dispatch_hook_module::{
    EventName, HookEvent, Ids, MAIN_AGENT, SessionState, agent_key, hook_run_id, next_agent_id, next_work_id,
};

use crate::config::Config;

/// The ids that the event and what is known of the session imply.
pub(super) fn derive(
    event: &HookEvent,
    session_id: &str,
    state: &SessionState,
    turn_in_log: u64,
    config: &Config,
    run_ms: i64,
) -> Ids {
    let last_turn = state.last_turn_id().max(turn_in_log);
    let is_prompt = event.name == EventName::UserPromptSubmit;
    let turn_id = if is_prompt { last_turn + 1 } else { last_turn };
    let prompt = event.prompt.as_deref().unwrap_or_default();
    let work_id = match state.work_id() {
        Some(current) if is_prompt && config.session().starts_new_work(state, prompt) => next_work_id(Some(current)),
        Some(current) => current.to_owned(),
        None => next_work_id(None),
    };
    Ids {
        session_id: session_id.to_owned(),
        work_id,
        agent_id: agent_id(event, state),
        turn_id,
        hook_run_id: hook_run_id(event.name.as_str(), turn_id, run_ms),
    }
}

/// Whether the event may hand out a number that no other invocation must hand out as well.
pub(super) fn allots(event: &HookEvent, state: &SessionState) -> bool {
    event.name == EventName::UserPromptSubmit || (subagent(event).is_some() && agent_id_known(event, state).is_none())
}

fn agent_id(event: &HookEvent, state: &SessionState) -> String {
    if subagent(event).is_none() {
        return MAIN_AGENT.to_owned();
    }
    agent_id_known(event, state).map_or_else(|| next_agent_id(state.agents().into_values()), str::to_owned)
}

/// Who the subagent is: events of a subagent carry its id, only its start and stop may carry the type alone.
fn subagent(event: &HookEvent) -> Option<String> {
    let about_subagent = matches!(event.name, EventName::SubagentStart | EventName::SubagentStop);
    match &event.agent_id {
        Some(_) => agent_key(event.agent_id.as_deref(), None),
        None if about_subagent => agent_key(None, event.agent_type.as_deref().or(Some("unknown"))),
        None => None,
    }
}

fn agent_id_known<'s>(event: &HookEvent, state: &'s SessionState) -> Option<&'s str> {
    let key = subagent(event)?;
    state.agents().get(key.as_str()).copied()
}
