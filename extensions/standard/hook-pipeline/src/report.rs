//! What was decided and by whom, in the shape that `explain` prints and `why` and `replay` compare.

use dispatch_hook_module::{Decision, HookEvent, Record, RecordType, classify};
use dispatch_toolcall::{Access, ToolCall, ToolKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::pipeline::{Folded, GuardFinding};
use crate::run::event_of;

/// One decision in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// The dialect.
    pub host: String,
    /// The event: one of the eight, or the host's own name.
    pub event: String,
    /// The host session.
    pub session: String,
    /// What the tool call does; `null` without one.
    pub tool: Option<ToolReport>,
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reason: Option<String>,
    /// The rule.
    pub code: Option<String>,
    /// Every module that ran, in order.
    pub modules: Vec<ModuleReport>,
    /// What every guard objected to, in the order in which they spoke.
    #[serde(default)]
    pub findings: Vec<GuardFinding>,
}

/// What a tool call does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReport {
    /// As the host calls it.
    pub name: String,
    /// What it is for.
    pub kind: ToolKind,
    /// What it touches.
    pub paths: Vec<PathReport>,
    /// The command line it runs.
    pub command: Option<String>,
}

/// One path and how it is touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathReport {
    /// Absolute.
    pub path: String,
    /// How.
    pub access: Access,
}

/// How one module ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// Which.
    pub name: String,
    /// `allow`, `ask`, `deny`, or `error`.
    pub decision: String,
    /// How long it took.
    pub ms: f64,
}

impl DecisionReport {
    /// The report of a fold.
    #[must_use]
    pub fn new(event: &HookEvent, session: &str, call: Option<&ToolCall>, folded: &Folded) -> Self {
        Self {
            host: event.host.to_owned(),
            event: event.name.as_str().to_owned(),
            session: session.to_owned(),
            tool: call.map(ToolReport::of),
            decision: folded.decision,
            reason: folded.reason.clone(),
            code: folded.code.clone(),
            modules: module_reports(folded),
            findings: folded.findings.iter().map(|said| said.what.clone()).collect(),
        }
    }

    /// The report in a `HOOK_RUN` record.
    #[must_use]
    pub fn from_record(record: &Record) -> Option<Self> {
        if record.kind != RecordType::HookRun {
            return None;
        }
        let data = &record.data;
        let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        let part = |name: &str| data.get(name).cloned().unwrap_or_default();
        Some(Self {
            host: text("host").unwrap_or_default(),
            event: record.event.clone(),
            session: record.session_id.clone(),
            tool: event_of(record).and_then(|(event, _)| classify(&event, None)).as_ref().map(ToolReport::of),
            decision: record.decision?,
            reason: text("reason"),
            code: text("code"),
            modules: serde_json::from_value(part("modules")).unwrap_or_default(),
            findings: serde_json::from_value(part("findings")).unwrap_or_default(),
        })
    }
}

impl ToolReport {
    /// The report of a call.
    #[must_use]
    pub fn of(call: &ToolCall) -> Self {
        let paths = call.paths.iter().map(|path| PathReport { path: path.path.clone(), access: path.access });
        Self { name: call.name.clone(), kind: call.kind, paths: paths.collect(), command: call.command.clone() }
    }
}

/// How each module ran.
#[must_use]
pub(crate) fn module_reports(folded: &Folded) -> Vec<ModuleReport> {
    let report = |run: &crate::pipeline::ModuleRun| ModuleReport {
        name: run.name.clone(),
        decision: run.decision.map_or("error", Decision::as_str).to_owned(),
        ms: run.ms,
    };
    folded.runs.iter().map(report).collect()
}
