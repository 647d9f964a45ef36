//! From an event and what its hooks said to dispatches: defaults, order, and which of them share a turn.
//!
//! Pure.

use crate::hook_result::HookResult;
use crate::permission_set::{PermissionLevel, PermissionSet};
use crate::session_key::{DEFAULT_PERSONA, derived_session, label, named_session};
use ext_event_ledger::contract::{DeliveryContext, Event, PeerKind};
use ext_session_orchestrator::contract::Mode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// After so many replies to replies of our own an event is not routed any more.
pub(crate) const MAX_HOPS: u32 = 4;

/// What is known of a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SenderStanding {
    pub(crate) is_owner: bool,
    /// The name that the owner gave, if the sender is known.
    pub(crate) person: Option<String>,
}

impl SenderStanding {
    /// What a sender gets where a hook says nothing.
    pub(crate) fn level(&self) -> PermissionLevel {
        match (self.is_owner, &self.person) {
            (true, _) => PermissionLevel::Full,
            (false, Some(_)) => PermissionLevel::Restricted,
            (false, None) => PermissionLevel::Minimal,
        }
    }
}

/// A hook that fired.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FiredHook {
    pub(crate) id: String,
    pub(crate) priority: i64,
    pub(crate) result: HookResult,
}

/// A dispatch as it is stored: everything that the turn gets is fixed here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlannedDispatch {
    pub(crate) hook: String,
    pub(crate) persona: String,
    /// The label of the session.
    pub(crate) label: String,
    pub(crate) mode: Mode,
    pub(crate) permissions: PermissionSet,
    pub(crate) delivery: DeliveryContext,
    pub(crate) system_prompts: Vec<String>,
    pub(crate) extracted: Map<String, Value>,
    pub(crate) include_thread_history: bool,
    /// The hook whose dispatch this one shares the turn of.
    pub(crate) merged_into: Option<String>,
}

/// The dispatches of an event, in the order that their turns run: higher priority first, then by the hook's id.
pub(crate) fn plan(event: &Event, sender: &SenderStanding, mut fired: Vec<FiredHook>) -> Vec<PlannedDispatch> {
    fired.sort_by(|one, other| other.priority.cmp(&one.priority).then_with(|| one.id.cmp(&other.id)));
    let mut planned: Vec<PlannedDispatch> = Vec::new();
    for hook in fired {
        let mut dispatch = single(event, sender, hook);
        let shares = |other: &&mut PlannedDispatch| {
            other.merged_into.is_none()
                && other.label == dispatch.label
                && is_same_target(&other.delivery, &dispatch.delivery)
        };
        if let Some(first) = planned.iter_mut().find(shares) {
            first.permissions = first.permissions.intersection(&dispatch.permissions);
            first.system_prompts.append(&mut dispatch.system_prompts.clone());
            for (name, value) in &dispatch.extracted {
                first.extracted.entry(name.clone()).or_insert_with(|| value.clone());
            }
            first.include_thread_history &= dispatch.include_thread_history;
            dispatch.merged_into = Some(first.hook.clone());
        }
        planned.push(dispatch);
    }
    planned
}

/// Whether two replies go to one place, whichever message they answer.
pub(crate) fn is_same_target(one: &DeliveryContext, other: &DeliveryContext) -> bool {
    let target = |delivery: &DeliveryContext| DeliveryContext { reply_to_id: None, ..delivery.clone() };
    target(one) == target(other)
}

fn single(event: &Event, sender: &SenderStanding, hook: FiredHook) -> PlannedDispatch {
    let FiredHook { id, result, .. } = hook;
    let persona = result.persona.unwrap_or_else(|| DEFAULT_PERSONA.to_owned());
    let session = match &result.session {
        Some(session) => named_session(session),
        None => derived_session(event, sender.is_owner),
    };
    PlannedDispatch {
        hook: id,
        label: label(&persona, &session),
        persona,
        mode: result.mode.unwrap_or_default(),
        permissions: result.permissions.unwrap_or_else(|| default_permissions(event, sender)),
        delivery: result.delivery.unwrap_or_else(|| own_delivery(event)),
        system_prompts: result.system_prompt.into_iter().collect(),
        extracted: result.extracted.unwrap_or_default(),
        include_thread_history: result.include_thread_history.unwrap_or(true),
        merged_into: None,
    }
}

/// In a group others read along and write: what a known person gets alone is not given there.
fn default_permissions(event: &Event, sender: &SenderStanding) -> PermissionSet {
    let level = match (event.peer_kind, sender.level()) {
        (PeerKind::Group, PermissionLevel::Restricted) => PermissionLevel::Group,
        (_, level) => level,
    };
    PermissionSet::of_level(level)
}

/// Back to where the event came from, as its answer.
fn own_delivery(event: &Event) -> DeliveryContext {
    DeliveryContext {
        channel: event.channel.clone(),
        account_id: Some(event.account_id.clone()),
        peer_id: Some(event.peer_id.clone()),
        thread_id: event.thread_id.clone(),
        reply_to_id: Some(event.id.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook_result::read_result;
    use serde_json::json;

    fn event(peer_kind: PeerKind) -> Event {
        Event {
            id: "imessage:abc123".to_owned(),
            sequence: 7,
            channel: "imessage".to_owned(),
            account_id: "default".to_owned(),
            from: "+15559876543".to_owned(),
            peer_kind,
            peer_id: "+15559876543".to_owned(),
            thread_id: None,
            content: "Can you help me with this Apple code? 123456".to_owned(),
            content_type: "text".to_owned(),
            timestamp: 0,
            received_at: 0,
            metadata: Map::new(),
            origin: None,
        }
    }

    fn fired(id: &str, priority: i64, result: Value) -> FiredHook {
        FiredHook { id: id.to_owned(), priority, result: read_result(&result).unwrap().unwrap() }
    }

    fn known() -> SenderStanding {
        SenderStanding { is_owner: false, person: Some("Mom".to_owned()) }
    }

    #[test]
    fn nothing_said_means_the_defaults_of_the_sender() {
        let plan_of = |kind, sender: &SenderStanding| {
            plan(&event(kind), sender, vec![fired("h", 0, json!({"fire": true}))]).remove(0)
        };
        let owner = SenderStanding { is_owner: true, person: None };
        for (kind, sender, label, level) in [
            (PeerKind::Dm, &owner, "main", PermissionLevel::Full),
            (PeerKind::Dm, &known(), "imessage:dm:.-2b15559876543", PermissionLevel::Restricted),
            (PeerKind::Dm, &SenderStanding::default(), "imessage:dm:.-2b15559876543", PermissionLevel::Minimal),
            (PeerKind::Group, &known(), "imessage:group:.-2b15559876543", PermissionLevel::Group),
        ] {
            let planned = plan_of(kind, sender);
            assert_eq!((planned.label.as_str(), planned.permissions.level), (label, level));
            assert_eq!((planned.persona.as_str(), planned.mode), ("default", Mode::Followup));
            assert_eq!(planned.delivery.reply_to_id.as_deref(), Some("imessage:abc123"));
            assert!(planned.include_thread_history);
        }
    }

    #[test]
    fn two_hooks_for_one_session_share_a_turn_if_the_reply_goes_to_one_place() {
        let routing = json!({"persona": "atlas", "session": "family:mom"});
        let family = json!({"fire": true, "routing": routing, "permissions": {"level": "full"}});
        let code = json!({"fire": true, "routing": routing, "context": {"extracted": {"code": "123456"}, "systemPrompt": "p"}});
        let hooks = vec![fired("2fa-helper", 85, code.clone()), fired("family-routing", 90, family.clone())];
        let planned = plan(&event(PeerKind::Dm), &known(), hooks);
        assert_eq!(planned.len(), 2);
        assert_eq!(planned[0].hook, "family-routing", "the higher priority comes first");
        assert_eq!(planned[0].label, "@atlas/family:mom");
        assert_eq!(planned[0].permissions.level, PermissionLevel::Restricted, "intersected");
        assert_eq!(planned[0].extracted["code"], "123456");
        assert_eq!(planned[0].system_prompts, ["p"]);
        assert_eq!(planned[1].merged_into.as_deref(), Some("family-routing"));

        let mut elsewhere = code;
        elsewhere["deliveryContext"] = json!({"channel": "mail", "peerId": "x@y"});
        let apart = plan(&event(PeerKind::Dm), &known(), vec![fired("a", 1, family), fired("b", 1, elsewhere)]);
        assert!(apart.iter().all(|dispatch| dispatch.merged_into.is_none()), "{apart:?}");
        assert_eq!(apart[0].permissions.level, PermissionLevel::Full, "nothing of the other");
    }

    #[test]
    fn delivery_targets_are_compared_without_the_message_that_is_answered() {
        let to = |peer: &str, reply: &str| DeliveryContext {
            channel: "mail".to_owned(),
            peer_id: Some(peer.to_owned()),
            reply_to_id: Some(reply.to_owned()),
            ..DeliveryContext::default()
        };
        assert!(is_same_target(&to("a", "1"), &to("a", "2")));
        assert!(!is_same_target(&to("a", "1"), &to("b", "1")));
    }
}
