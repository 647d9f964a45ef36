//! The session's state: a cache of what the log implies, made of pointers that never go back.

mod blocked;
mod merge;
mod rebuild;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::Capabilities;
use crate::phase::Phase;

pub use blocked::{BlockTrigger, BlockedWork};
pub use merge::{PatchProblem, merge};
pub use rebuild::rebuild;

/// The state of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionState(Map<String, Value>);

impl SessionState {
    /// The state in the bytes of `state.json`; nothing if they are none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    /// A state from any JSON value; what is not an object is empty.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// The bytes of `state.json`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // A map of JSON values always serialises.
        let mut bytes = serde_json::to_vec_pretty(&self.0).unwrap_or_else(|_| b"{}".to_vec());
        bytes.push(b'\n');
        bytes
    }

    /// The state as a JSON object.
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Whether nothing is known yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One value by section and key, such as `("core", "phase")`.
    #[must_use]
    pub fn get(&self, section: &str, key: &str) -> Option<&Value> {
        self.0.get(section)?.get(key)
    }

    /// One text by section and key.
    #[must_use]
    pub fn text(&self, section: &str, key: &str) -> Option<&str> {
        self.get(section, key)?.as_str()
    }

    /// `core.phase`
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.text("core", "phase").and_then(Phase::named).unwrap_or_default()
    }

    /// `core.workId`
    #[must_use]
    pub fn work_id(&self) -> Option<&str> {
        self.text("core", "workId")
    }

    /// `core.lastTurnId`
    #[must_use]
    pub fn last_turn_id(&self) -> u64 {
        self.get("core", "lastTurnId").and_then(Value::as_u64).unwrap_or(0)
    }

    /// `core.agents`: which subagent of the host has which id.
    #[must_use]
    pub fn agents(&self) -> BTreeMap<&str, &str> {
        let agents = self.get("core", "agents").and_then(Value::as_object);
        agents.into_iter().flatten().filter_map(|(key, id)| Some((key.as_str(), id.as_str()?))).collect()
    }

    /// `plan.currentPath`
    #[must_use]
    pub fn plan_path(&self) -> Option<&str> {
        self.text("plan", "currentPath")
    }

    /// `plan.nodes`: `started`, `completed` or `failed` by node id.
    #[must_use]
    pub fn plan_nodes(&self) -> BTreeMap<&str, &str> {
        let nodes = self.get("plan", "nodes").and_then(Value::as_object);
        nodes.into_iter().flatten().filter_map(|(id, status)| Some((id.as_str(), status.as_str()?))).collect()
    }

    /// `intents.active`: the intent selected in this session.
    #[must_use]
    pub fn active_intent(&self) -> Option<&str> {
        self.text("intents", "active").filter(|id| !id.is_empty())
    }

    /// `cap`
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        let cap = self.0.get("cap").cloned();
        cap.and_then(|cap| serde_json::from_value(cap).ok()).unwrap_or_default()
    }
}
