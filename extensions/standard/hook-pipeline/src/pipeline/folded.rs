//! The result of a fold: one decision, and everything that is to be kept.

use dispatch_hook_dialects::Answer;
use dispatch_hook_module::{Artifact, ContextNote, Decision, EmittedRecord, FileWrite, LogLine, RuleException};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Something a module said.
#[derive(Debug, Clone, PartialEq)]
pub struct Said<T> {
    /// Which module.
    pub module: String,
    /// What.
    pub what: T,
}

/// How one module ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ModuleRun {
    /// Which module.
    pub name: String,
    /// What it decided; nothing if it failed.
    pub decision: Option<Decision>,
    /// How long it took.
    pub ms: f64,
}

/// What one guard objected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardFinding {
    /// The rule.
    pub code: Option<String>,
    /// What the guard wants.
    pub decision: Decision,
    /// Why.
    pub why: Option<String>,
}

/// One decision from many modules.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folded {
    /// The decision.
    pub decision: Decision,
    /// Whether the host's own permission prompt is answered too.
    pub grant: bool,
    /// Why.
    pub reason: Option<String>,
    /// The rule.
    pub code: Option<String>,
    /// The module that decided, if one objected.
    pub decided_by: Option<String>,
    /// Every objection, in the order in which the guards spoke.
    pub findings: Vec<Said<GuardFinding>>,
    /// Text for the model.
    pub context: Vec<ContextNote>,
    /// Text for the user.
    pub system_messages: Vec<String>,
    /// What the model sees in place of the tool's result.
    pub updated_output: Option<Value>,
    /// Why the agent should stop altogether.
    pub halt: Option<String>,
    /// The module that keeps the session, if it ran.
    pub session_keeper: Option<String>,
    /// The stamps of the module that keeps the session.
    pub metadata: Map<String, Value>,
    /// The whole tool input as it should be, if it changed.
    pub updated_input: Option<Value>,
    /// The module that changed it.
    pub rewritten_by: Option<String>,
    /// Patches of the state, in order.
    pub patches: Vec<Said<Value>>,
    /// Records, in order.
    pub records: Vec<Said<EmittedRecord>>,
    /// What modules made.
    pub artifacts: Vec<Said<Artifact>>,
    /// Files to write.
    pub files: Vec<Said<FileWrite>>,
    /// Sentences for people.
    pub warnings: Vec<Said<String>>,
    /// Lines for the logs of modules.
    pub log: Vec<Said<LogLine>>,
    /// Exceptions that let something pass.
    pub excused: Vec<Said<RuleException>>,
    /// Numbers that modules gave.
    pub metrics: Map<String, Value>,
    /// Every module that ran, in order.
    pub runs: Vec<ModuleRun>,
    /// The first module that was not asked because time had run out.
    pub out_of_time_at: Option<String>,
}

impl Folded {
    /// The answer for the host.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let mut context: Vec<String> = Vec::new();
        for note in &self.context {
            if !note.value.is_empty() && !context.contains(&note.value) {
                context.push(note.value.clone());
            }
        }
        Answer {
            decision: self.decision,
            grant: self.grant,
            reason: self.reason.clone(),
            code: self.code.clone(),
            context,
            system_message: (!self.system_messages.is_empty()).then(|| self.system_messages.join("\n")),
            updated_input: self.updated_input.clone().filter(|_| self.decision != Decision::Deny),
            updated_output: self.updated_output.clone(),
            halt: self.halt.clone(),
        }
    }

    /// Keeps an objection; the strictest one decides, and of equals the first.
    pub(crate) fn object(&mut self, module: &str, finding: GuardFinding) {
        if finding.decision > self.decision {
            self.decision = finding.decision;
            self.reason.clone_from(&finding.why);
            self.code.clone_from(&finding.code);
            self.decided_by = Some(module.to_owned());
        }
        // A second look at a rewritten call repeats what the first one found.
        if !self.findings.iter().any(|said| said.module == module && said.what.code == finding.code) {
            self.findings.push(Said { module: module.to_owned(), what: finding });
        }
    }

    pub(super) fn say<T>(list: &mut Vec<Said<T>>, module: &str, what: impl IntoIterator<Item = T>) {
        list.extend(what.into_iter().map(|what| Said { module: module.to_owned(), what }));
    }
}
