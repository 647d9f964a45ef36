//! How a plan moves on: each step is a function from what is known to records and a state patch.
//!
//! Pure.

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::state::{BlockTrigger, BlockedWork};
use dispatch_hook_module::{EmittedRecord, HookAction, RecordType, SessionState};
use serde_json::{Map, Value, json};

use super::graph::is_open;
use super::locate::PlanSource;
use super::model::{Plan, PlanNode};
use super::progress::{NodeStatus, PlanProgress};

/// Where the work stands when a step is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkStatus {
    /// The phase.
    pub phase: Phase,
    /// The time in Unix milliseconds.
    pub now_ms: i64,
    /// Whether the work is blocked until a person takes it up again.
    pub needs_person: bool,
}

impl WorkStatus {
    /// Where the work of a session stands.
    #[must_use]
    pub fn of(state: &SessionState, now_ms: i64) -> Self {
        let needs_person = BlockedWork::of(state).is_some_and(|work| work.needs_person());
        Self { phase: state.phase(), now_ms, needs_person }
    }
}

/// What a step comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlanTransition {
    /// Records for the log.
    pub records: Vec<EmittedRecord>,
    /// A merge patch of the state, if anything changes.
    pub state_patch: Option<Value>,
    /// The phase that follows, if it is another one.
    pub phase: Option<Phase>,
}

impl PlanTransition {
    /// The step as the action of a module.
    #[must_use]
    pub fn into_action(self) -> HookAction {
        HookAction { emit_events: self.records, state_patch: self.state_patch, ..HookAction::none() }
    }
}

/// How one check of a node ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationResult {
    /// The command, as the plan has it.
    pub command: String,
    /// Its exit code; nothing if it did not end by itself.
    pub exit_code: Option<i32>,
}

impl ValidationResult {
    /// Whether it passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }
}

/// Why a step cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The work is done.
    #[error("the work is complete; a new prompt starts new work that can have a new plan")]
    WorkComplete,
    /// A person has to take the work up again.
    #[error("the work is blocked, and a new plan does not take it up again")]
    WorkBlocked,
    /// The phase is another one.
    #[error("the phase is {}, not EXECUTING", .0.as_str())]
    NotExecuting(Phase),
    /// The plan has no node with this id.
    #[error("the plan has no node `{0}`")]
    UnknownNode(String),
    /// The node is done.
    #[error("node `{0}` is completed already")]
    AlreadyCompleted(String),
    /// The node waits for others.
    #[error("node `{node}` waits for {}", .waiting_for.join(", "))]
    NotOpen {
        /// The node.
        node: String,
        /// The nodes that are not completed.
        waiting_for: Vec<String>,
    },
    /// A check of the node was not run.
    #[error("node `{node}` was not validated: `{command}` has no result")]
    NotValidated {
        /// The node.
        node: String,
        /// The check.
        command: String,
    },
}

/// Puts a checked plan in force. Progress of an earlier plan is forgotten.
///
/// # Errors
/// When the work is complete: its phase does not go back; when it is blocked for more than a failed validation.
pub fn accept(plan: &Plan, source: &PlanSource, standing: WorkStatus) -> Result<PlanTransition, PlanError> {
    if standing.phase == Phase::Complete {
        return Err(PlanError::WorkComplete);
    }
    if standing.needs_person {
        return Err(PlanError::WorkBlocked);
    }
    let ids: Vec<&str> = plan.nodes.iter().map(|node| node.id.as_str()).collect();
    let data = json!({"path": source.path, "hash": source.hash, "nodes": ids});
    let mut step = TransitionBuilder::new(standing);
    step.record(RecordType::PlanAccepted, data);
    step.plan = Some(json!({
        "currentPath": source.path,
        "mtime": source.mtime_ms,
        "hash": source.hash,
        "nodes": null,
    }));
    step.move_to(Phase::Executing, "plan accepted");
    Ok(step.finish())
}

/// Begins work on a node. Beginning twice changes nothing.
///
/// # Errors
/// When the node is unknown, completed or waits for others, or when no plan is being executed.
pub fn start(
    plan: &Plan,
    progress: &PlanProgress,
    node: &str,
    standing: WorkStatus,
) -> Result<PlanTransition, PlanError> {
    let found = open_node(plan, progress, node, standing)?;
    if progress.status(node) == NodeStatus::Started {
        return Ok(PlanTransition::default());
    }
    let mut step = TransitionBuilder::new(standing);
    step.record(RecordType::PlanNodeStarted, json!({"node": found.id, "title": found.title}));
    step.mark(&found.id, NodeStatus::Started);
    Ok(step.finish())
}

/// Ends work on a node with the results of its checks: completed if all passed, else failed and the
/// work is blocked. When the last node is completed, so is the work.
///
/// # Errors
/// When the node is unknown, completed or waits for others, when one of its checks has no result,
/// or when no plan is being executed.
pub fn complete(
    plan: &Plan,
    progress: &PlanProgress,
    node: &str,
    results: &[ValidationResult],
    standing: WorkStatus,
) -> Result<PlanTransition, PlanError> {
    let found = open_node(plan, progress, node, standing)?;
    let has_result = |command: &String| results.iter().any(|result| result.command == *command);
    if let Some(command) = found.validations.iter().find(|command| !has_result(command)) {
        return Err(PlanError::NotValidated { node: found.id.clone(), command: command.clone() });
    }
    let shown: Vec<Value> = results
        .iter()
        .map(|result| json!({"command": result.command, "ok": result.passed(), "exitCode": result.exit_code}))
        .collect();
    let data = json!({"node": found.id, "title": found.title, "validations": shown});
    let mut step = TransitionBuilder::new(standing);
    if results.iter().all(ValidationResult::passed) {
        step.record(RecordType::PlanNodeCompleted, data);
        step.mark(&found.id, NodeStatus::Completed);
        let done = |other: &PlanNode| other.id == found.id || progress.status(&other.id) == NodeStatus::Completed;
        if plan.nodes.iter().all(done) {
            step.move_to(Phase::Complete, "every plan node is completed");
        }
    } else {
        step.record(RecordType::PlanNodeFailed, data);
        step.mark(&found.id, NodeStatus::Failed);
        step.block(&format!("a validation of node `{}` failed", found.id));
    }
    Ok(step.finish())
}

fn open_node<'p>(
    plan: &'p Plan,
    progress: &PlanProgress,
    id: &str,
    standing: WorkStatus,
) -> Result<&'p PlanNode, PlanError> {
    if standing.phase != Phase::Executing {
        return Err(PlanError::NotExecuting(standing.phase));
    }
    let node = plan.node(id).ok_or_else(|| PlanError::UnknownNode(id.to_owned()))?;
    if progress.status(id) == NodeStatus::Completed {
        return Err(PlanError::AlreadyCompleted(id.to_owned()));
    }
    if is_open(node, progress) {
        return Ok(node);
    }
    let waits = |id: &&String| progress.status(id) != NodeStatus::Completed;
    let waiting_for = node.depends_on.iter().filter(waits).cloned().collect();
    Err(PlanError::NotOpen { node: id.to_owned(), waiting_for })
}

/// A step while it is put together.
struct TransitionBuilder {
    standing: WorkStatus,
    records: Vec<EmittedRecord>,
    plan: Option<Value>,
    core: Option<Value>,
    phase: Option<Phase>,
}

impl TransitionBuilder {
    fn new(standing: WorkStatus) -> Self {
        Self { standing, records: Vec::new(), plan: None, core: None, phase: None }
    }

    fn record(&mut self, kind: RecordType, data: Value) {
        self.records.push(EmittedRecord { kind, data });
    }

    fn mark(&mut self, id: &str, status: NodeStatus) {
        let nodes = Map::from_iter([(id.to_owned(), Value::from(status.as_str()))]);
        self.plan = Some(json!({"nodes": nodes}));
    }

    fn move_to(&mut self, phase: Phase, trigger: &str) {
        let from = self.standing.phase;
        if from == phase {
            return;
        }
        let data = json!({"from": from.as_str(), "to": phase.as_str(), "trigger": trigger});
        self.record(RecordType::PhaseChanged, data);
        self.core = Some(match from {
            Phase::Blocked => BlockedWork::lifted_patch(phase, self.standing.now_ms),
            _ => json!({"phase": phase.as_str(), "phaseTs": self.standing.now_ms}),
        });
        self.phase = Some(phase);
    }

    fn block(&mut self, why: &str) {
        let work =
            BlockedWork { from: self.standing.phase, trigger: BlockTrigger::ValidationFailure, why: why.to_owned() };
        self.record(RecordType::PhaseChanged, work.record());
        self.core = Some(work.core_patch(self.standing.now_ms));
        self.phase = Some(Phase::Blocked);
    }

    fn finish(self) -> PlanTransition {
        let sections = [("core", self.core), ("plan", self.plan)];
        let patch = sections.into_iter().filter_map(|(name, section)| Some((name.to_owned(), section?)));
        PlanTransition { records: self.records, state_patch: Some(Value::Object(patch.collect())), phase: self.phase }
    }
}
