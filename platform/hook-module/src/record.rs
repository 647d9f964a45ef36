//! The lines of `events.jsonl`: what they are called and how they look.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::action::Decision;
use crate::context::Ids;

/// The version of the record format.
pub(crate) const RECORD_VERSION: u8 = 1;

macro_rules! record_types {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// What a record says happened.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum RecordType {
            $($(#[$doc])* $name,)+
            /// A type of a script module's own.
            Other(String),
        }

        impl RecordType {
            /// The types that the program itself writes.
            pub const KNOWN: &'static [Self] = &[$(Self::$name,)+];

            /// The type as it is written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)+
                    Self::Other(name) => name,
                }
            }
        }

        impl From<String> for RecordType {
            fn from(name: String) -> Self {
                match name.as_str() {
                    $($text => Self::$name,)+
                    _ => Self::Other(name),
                }
            }
        }
    };
}

record_types! {
    /// One hook event was handled; exactly one per invocation.
    HookRun = "HOOK_RUN",
    /// A session began or went on.
    SessionStarted = "SESSION_STARTED",
    /// The user sent a prompt.
    Prompt = "PROMPT",
    /// A tool is about to run.
    ToolCall = "TOOL_CALL",
    /// A tool ran.
    ToolResult = "TOOL_RESULT",
    /// The conversation is about to be compacted.
    Compaction = "COMPACTION",
    /// The agent is about to end its turn.
    Stop = "STOP",
    /// A subagent began.
    SubagentStarted = "SUBAGENT_STARTED",
    /// A subagent ended.
    SubagentStopped = "SUBAGENT_STOPPED",
    /// The lifecycle phase changed.
    PhaseChanged = "PHASE_CHANGED",
    /// A plan was accepted.
    PlanAccepted = "PLAN_ACCEPTED",
    /// A plan was refused.
    PlanRejected = "PLAN_REJECTED",
    /// Work on a node of the plan began.
    PlanNodeStarted = "PLAN_NODE_STARTED",
    /// A node of the plan is done and its checks passed.
    PlanNodeCompleted = "PLAN_NODE_COMPLETED",
    /// A check of a node failed.
    PlanNodeFailed = "PLAN_NODE_FAILED",
    /// Work must be delegated first.
    RlmRequired = "RLM_REQUIRED",
    /// The delegated work was delivered.
    RlmSatisfied = "RLM_SATISFIED",
    /// A reminder was given.
    MemoryActivated = "MEMORY_ACTIVATED",
    /// An intent became active.
    IntentSelected = "INTENT_SELECTED",
    /// No intent is active any more.
    IntentCleared = "INTENT_CLEARED",
    /// An exception of the user's let a call pass.
    ExceptionUsed = "EXCEPTION_USED",
    /// Something people should know.
    Warning = "WARNING",
    /// A module failed and was skipped.
    ErrorModule = "ERROR_MODULE",
    /// A critical module failed.
    ErrorModuleCritical = "ERROR_MODULE_CRITICAL",
    /// Time ran out before every module was asked.
    BudgetExceeded = "BUDGET_EXCEEDED",
}

impl fmt::Display for RecordType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for RecordType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RecordType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer).map(|name| Self::from(name.into_owned()))
    }
}

#[cfg(any(test, feature = "schema"))]
impl schemars::JsonSchema for RecordType {
    fn schema_name() -> Cow<'static, str> {
        "RecordType".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let known: Vec<&str> = Self::KNOWN.iter().map(Self::as_str).collect();
        schemars::json_schema!({
            "type": "string",
            "description": "What happened. Script modules may use names of their own.",
            "minLength": 1,
            "examples": known,
        })
    }
}

/// One line of `events.jsonl`. The order of the fields is the order on disk, and readers of the
/// tail rely on the ids standing before everything of variable length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The version of the format.
    pub v: u8,
    /// A sortable id.
    pub id: String,
    /// When, in UTC with milliseconds.
    pub ts: String,
    /// The invocation it belongs to.
    pub hook_run_id: String,
    /// The host session.
    pub session_id: String,
    /// The piece of work.
    pub work_id: String,
    /// The agent.
    pub agent_id: String,
    /// The turn.
    pub turn_id: u64,
    /// The hook event.
    pub event: String,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: RecordType,
    /// The module that says so.
    pub module: String,
    /// What was decided; on `HOOK_RUN` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// How long the invocation took; on `HOOK_RUN` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// What tells a second delivery of the same event; on `HOOK_RUN` of a tool call only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
    /// The facts.
    #[serde(default)]
    pub data: Value,
}

impl Record {
    /// A record of this invocation.
    #[must_use]
    pub fn new(id: String, ts: String, ids: &Ids, event: &str, kind: RecordType, module: &str, data: Value) -> Self {
        Self {
            v: RECORD_VERSION,
            id,
            ts,
            hook_run_id: ids.hook_run_id.clone(),
            session_id: ids.session_id.clone(),
            work_id: ids.work_id.clone(),
            agent_id: ids.agent_id.clone(),
            turn_id: ids.turn_id,
            event: event.to_owned(),
            kind,
            module: module.to_owned(),
            decision: None,
            ms: None,
            delivery: None,
            data,
        }
    }

    /// The record in one line of the log; nothing for a line that is none.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_keep_their_names_both_ways() {
        for kind in RecordType::KNOWN {
            assert_eq!(&RecordType::from(kind.as_str().to_owned()), kind);
        }
        assert_eq!(RecordType::from("MINE".to_owned()), RecordType::Other("MINE".to_owned()));
        assert_eq!(RecordType::KNOWN.len(), 25);
    }
}
