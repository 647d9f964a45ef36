//! What a report does to the runs of its key: a new one, more for one that waits, or nothing.

use super::guard::joined;
use crate::contract::{ContentHash, Source, Trigger};
use crate::run_store::{ChangeSuspicion, Run, StoredFile};

/// How long a run can be put off by further changes, in times of its debounce.
const BURST_DEBOUNCES: u64 = 10;
/// Two who notice the same happening report it within this time.
const ECHO_MS: u64 = 2_000;

/// When two reports of one key are about the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunSameness {
    /// When the content is the same, however long ago.
    ByContent,
    /// When another reporter said it a moment ago: a file can be made, moved and removed again and again.
    ByMoment,
    /// While a run waits, all are.
    WhileWaiting,
    /// Never: each is a fact of its own.
    Never,
}

/// What two reports of a trigger have to have in common.
pub(crate) fn sameness(trigger: &Trigger) -> RunSameness {
    match trigger {
        Trigger::DidSave | Trigger::WillSave => RunSameness::ByContent,
        Trigger::DidCreate | Trigger::DidDelete | Trigger::DidRename => RunSameness::ByMoment,
        Trigger::Schedule => RunSameness::WhileWaiting,
        Trigger::GitCommit | Trigger::Git(_) | Trigger::Manual | Trigger::Custom(_) => RunSameness::Never,
    }
}

/// What somebody says about a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChangeReport {
    pub(crate) source: Source,
    pub(crate) sameness: RunSameness,
    pub(crate) content: Option<ContentHash>,
    pub(crate) files: Vec<StoredFile>,
    pub(crate) doubt: ChangeSuspicion,
    pub(crate) debounce_ms: u64,
    pub(crate) now_ms: u64,
}

/// What becomes of a report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ArrivalVerdict {
    /// A new run.
    Queue {
        /// When it is due.
        not_before_ms: u64,
    },
    /// The waiting run, as it is now.
    Join(Box<Run>),
    /// Nothing.
    Unchanged,
}

/// Decides, given the run of the key that waits and the one that was begun last.
pub(crate) fn decide(report: &ChangeReport, waiting: Option<&Run>, last: Option<&Run>) -> ArrivalVerdict {
    if report.source == Source::Person {
        return ArrivalVerdict::Queue { not_before_ms: report.now_ms };
    }
    if let Some(waiting) = waiting.filter(|_| report.sameness != RunSameness::Never) {
        return ArrivalVerdict::Join(Box::new(join(waiting.clone(), report)));
    }
    if last.is_some_and(|last| is_known(report, last)) {
        return ArrivalVerdict::Unchanged;
    }
    ArrivalVerdict::Queue { not_before_ms: report.now_ms.saturating_add(report.debounce_ms) }
}

fn is_known(report: &ChangeReport, last: &Run) -> bool {
    match report.sameness {
        RunSameness::ByContent => last.settles(report.content.as_ref(), report.source),
        RunSameness::ByMoment => {
            // Of files that change together it is decided file by file, when they are handled.
            if last.key.is_batch() {
                return false;
            }
            let recent = report.now_ms.saturating_sub(last.facts.heard_ms) <= ECHO_MS;
            recent && last.facts.source != report.source && last.content == report.content
        }
        RunSameness::WhileWaiting | RunSameness::Never => false,
    }
}

/// The waiting run with the report in it. New content starts its wait anew, within a limit.
fn join(mut run: Run, report: &ChangeReport) -> Run {
    let same = run.content == report.content && report.content.is_some();
    run.facts.heard_ms = report.now_ms;
    run.facts.doubt = joined(run.facts.doubt, report.doubt, same);
    if report.source != Source::Watcher && !run.is_personal() {
        run.facts.source = report.source;
    }
    if same || report.sameness == RunSameness::WhileWaiting {
        return run;
    }
    if run.facts.failures > 0 || run.attempts > 0 {
        run.facts.burst_ms = report.now_ms;
    }
    run.facts.failures = 0;
    match run.key.is_batch() {
        true => merge(&mut run.facts.files, &report.files),
        false => run.facts.files.clone_from(&report.files),
    }
    run.content.clone_from(&report.content);
    if !run.is_personal() {
        run.reason.clear();
        let latest = run.facts.burst_ms.saturating_add(report.debounce_ms.saturating_mul(BURST_DEBOUNCES));
        run.not_before_ms = report.now_ms.saturating_add(report.debounce_ms).min(latest);
    }
    run
}

/// Adds files to those that wait; what is said last about a file counts.
fn merge(files: &mut Vec<StoredFile>, more: &[StoredFile]) {
    for file in more {
        match files.iter_mut().find(|known| known.path_digest() == file.path_digest()) {
            Some(known) => known.clone_from(file),
            None => files.push(file.clone()),
        }
    }
}

#[cfg(test)]
#[path = "arrival/tests.rs"]
mod tests;
