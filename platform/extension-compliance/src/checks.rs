//! The checks: what an extension promises, and what must become of a turn when it breaks its word.

mod containment;
mod promises;

use crate::fault::InjectedFault;
use crate::suite::{Outcome, Subject};
use dispatch_contracts::manifest::Capability;

/// One check.
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) rule: &'static str,
    kind: CheckKind,
}

#[derive(Clone, Copy)]
enum CheckKind {
    Manifest,
    Activates,
    Deactivates,
    RegistersTheSame,
    ToolsAnswer,
    /// It does not start, is named, and everybody else works.
    NotStarted(InjectedFault),
    /// The call is refused, and who refused it is named.
    CallRefused(InjectedFault),
    /// The turn ends well, and the fault is counted and named.
    FaultCounted(InjectedFault),
    /// The turn ends well.
    TurnEnds(InjectedFault),
    /// The call fails with a result that names the extension, and the extension works again.
    CallFails(InjectedFault),
    /// The call fails with these words.
    Refused(InjectedFault, &'static str),
    Storm,
    ThreeFaults,
}

const CAPABILITIES: [Capability; 4] = [Capability::Fs, Capability::Network, Capability::Secrets, Capability::Db];

/// Every check, in the order in which they are told.
pub(crate) fn all() -> Vec<Check> {
    let check = |name: &str, rule, kind| Check { name: name.to_owned(), rule, kind };
    let mut all = vec![
        check("manifest", "the manifest is valid and fits this version", CheckKind::Manifest),
        check("activates", "it starts and adds everything that its manifest names", CheckKind::Activates),
        check("deactivates", "it stops in time and leaves nothing behind", CheckKind::Deactivates),
        check("registers-the-same", "a second start adds the same as the first", CheckKind::RegistersTheSame),
        check("tools-answer", "its tools answer arguments that make no sense, without a fault", CheckKind::ToolsAnswer),
    ];
    all.extend(fault_checks().map(|(name, rule, kind)| check(name, rule, kind)));
    for capability in CAPABILITIES {
        let cases = [
            ("undeclared", InjectedFault::Undeclared(capability), "does not list the capability"),
            ("ungranted", InjectedFault::Ungranted(capability), "do not grant it the capability"),
        ];
        for (name, fault, words) in cases {
            let rule = "what it did not ask for or was not granted is refused in words";
            all.push(check(&format!("{name}-{}", capability.name()), rule, CheckKind::Refused(fault, words)));
        }
    }
    all
}

/// The eight faults that hosts of extensions are known to fail at, and what else has brought them down.
fn fault_checks() -> impl Iterator<Item = (&'static str, &'static str, CheckKind)> {
    use InjectedFault as Fault;
    let not_started = "it is named as not started, and everybody else works";
    let call_refused = "the call is refused, the extension is named, the turn ends";
    let counted = "the turn ends well, and the fault is counted and named";
    let fails = "the call ends with a result that names the extension, and the next one works";
    [
        ("fault-module-throws", not_started, CheckKind::NotStarted(Fault::LoadThrows)),
        ("fault-activate-throws", not_started, CheckKind::NotStarted(Fault::ActivateThrows)),
        ("fault-event-rejects", counted, CheckKind::FaultCounted(Fault::EventRejects)),
        ("fault-before-tool-throws", call_refused, CheckKind::CallRefused(Fault::BeforeToolThrows)),
        ("fault-before-tool-hangs", call_refused, CheckKind::CallRefused(Fault::BeforeToolHangs)),
        ("fault-request-throws", counted, CheckKind::FaultCounted(Fault::RequestThrows)),
        ("fault-request-hangs", counted, CheckKind::FaultCounted(Fault::RequestHangs)),
        ("fault-later-throws", "work that nobody waits for harms no turn", CheckKind::TurnEnds(Fault::LaterThrows)),
        ("wrong-call", call_refused, CheckKind::CallRefused(Fault::BeforeToolMutates)),
        ("wrong-request", counted, CheckKind::FaultCounted(Fault::RequestGarbage)),
        ("tool-throws", fails, CheckKind::CallFails(Fault::ToolThrows)),
        ("endless-loop", fails, CheckKind::CallFails(Fault::ToolLoops)),
        ("memory", fails, CheckKind::CallFails(Fault::ToolEatsMemory)),
        ("crash", fails, CheckKind::CallFails(Fault::ToolCrashes)),
        ("output-flood", "a flood of output is cut and the turn ends", CheckKind::TurnEnds(Fault::ToolFloods)),
        ("event-storm", "events that it cannot keep up with hold up nobody", CheckKind::Storm),
        ("three-faults", "it is off after three faults, stays off, and can be enabled", CheckKind::ThreeFaults),
        ("undeclared-tool", not_started, CheckKind::NotStarted(Fault::UndeclaredTool)),
    ]
    .into_iter()
}

/// Runs one check.
pub(crate) async fn run(subject: &Subject<'_>, check: &Check) -> Outcome {
    let ended = match check.kind {
        CheckKind::Manifest => promises::manifest(subject),
        CheckKind::Activates => promises::activates(subject).await,
        CheckKind::Deactivates => promises::deactivates(subject).await,
        CheckKind::RegistersTheSame => promises::registers_the_same(subject).await,
        CheckKind::ToolsAnswer => promises::tools_answer(subject).await,
        CheckKind::NotStarted(fault) => containment::not_started(subject, fault).await,
        CheckKind::CallRefused(fault) => containment::call_refused(subject, fault).await,
        CheckKind::FaultCounted(fault) => containment::fault_counted(subject, fault).await,
        CheckKind::TurnEnds(fault) => containment::turn_ends(subject, fault).await,
        CheckKind::CallFails(fault) => containment::call_fails(subject, fault).await,
        CheckKind::Refused(fault, words) => containment::refused(subject, fault, words).await,
        CheckKind::Storm => containment::storm(subject).await,
        CheckKind::ThreeFaults => containment::three_faults(subject).await,
    };
    ended.unwrap_or_else(|outcome| outcome)
}

/// A check that does not hold.
fn failed(reason: impl Into<String>) -> Outcome {
    Outcome::Failed { reason: reason.into() }
}

/// A check that cannot be asked.
fn skipped(reason: &str) -> Outcome {
    Outcome::Skipped { reason: reason.to_owned() }
}

/// Goes on if something holds.
fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Outcome> {
    if holds { Ok(()) } else { Err(failed(otherwise())) }
}
