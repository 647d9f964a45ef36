//! Decides what an extension's faults mean for it.

use crate::bus::wording::duration;
use dispatch_contracts::fault::{Fault, FaultBudget, FaultKind};
use dispatch_contracts::manifest::Tier;
use std::collections::BTreeMap;

/// What becomes of an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultVerdict {
    /// It goes on.
    Keep,
    /// It is switched off.
    Disable {
        /// Why, for the user.
        reason: String,
    },
    /// It is a core extension: turns must stop.
    Fatal {
        /// Why, for the user.
        reason: String,
    },
}

/// Judges by the faults within the budget's window. A core extension has no budget: its first fault is
/// fatal. A budget of no faults at all is read as a budget of one.
pub fn judge_faults(tier: Tier, faults: &[Fault], budget: FaultBudget, now_ms: u64) -> FaultVerdict {
    // A fault from the future (somebody set the clock back) counts as fresh.
    let recent: Vec<&Fault> =
        faults.iter().filter(|fault| now_ms.saturating_sub(fault.at_ms) <= budget.window_ms).collect();
    let Some(last) = recent.last() else { return FaultVerdict::Keep };
    if tier == Tier::Core {
        return FaultVerdict::Fatal { reason: format!("core {last}") };
    }
    if recent.len() < usize::try_from(budget.faults.max(1)).unwrap_or(usize::MAX) {
        return FaultVerdict::Keep;
    }
    let what = describe(&recent);
    let reason = format!("{what} within {}; last: {}", duration(budget.window_ms), last.message);
    FaultVerdict::Disable { reason }
}

/// `3 timeouts in kernel/tool.before`, most frequent first.
fn describe(faults: &[&Fault]) -> String {
    let mut counts: BTreeMap<(FaultKind, &str), u32> = BTreeMap::new();
    for fault in faults {
        *counts.entry((fault.kind, &fault.place)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts: Vec<String> =
        counts.into_iter().map(|((kind, place), count)| format!("{} in {place}", counted(kind, count))).collect();
    parts.join(", ")
}

fn counted(kind: FaultKind, count: u32) -> String {
    let (one, many) = match kind {
        FaultKind::Activation => ("failed start", "failed starts"),
        FaultKind::Error => ("error", "errors"),
        FaultKind::Panic => ("panic", "panics"),
        FaultKind::Timeout => ("timeout", "timeouts"),
        FaultKind::Overflow => ("overflow", "overflows"),
    };
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: FaultKind, place: &str, at_ms: u64) -> Fault {
        Fault { extension: "guard".into(), place: place.to_owned(), kind, message: format!("at {at_ms}"), at_ms }
    }

    const BUDGET: FaultBudget = FaultBudget { faults: 3, window_ms: 600_000 };

    #[test]
    fn reaching_the_budget_disables_and_says_what_and_where() {
        let mut faults = vec![
            fault(FaultKind::Timeout, "kernel/tool.before", 1),
            fault(FaultKind::Timeout, "kernel/tool.before", 2),
        ];
        assert_eq!(judge_faults(Tier::Standard, &faults, BUDGET, 3), FaultVerdict::Keep);
        faults.push(fault(FaultKind::Timeout, "kernel/tool.before", 3));
        let reason = "3 timeouts in kernel/tool.before within 10 minutes; last: at 3".to_owned();
        assert_eq!(judge_faults(Tier::External, &faults, BUDGET, 3), FaultVerdict::Disable { reason });
    }

    #[test]
    fn mixed_faults_are_listed_by_number() {
        let faults = [
            fault(FaultKind::Panic, "job sweep", 1),
            fault(FaultKind::Error, "kernel/turn.sealed", 2),
            fault(FaultKind::Error, "kernel/turn.sealed", 3),
        ];
        let FaultVerdict::Disable { reason } = judge_faults(Tier::Standard, &faults, BUDGET, 3) else { panic!("kept") };
        assert_eq!(reason, "2 errors in kernel/turn.sealed, 1 panic in job sweep within 10 minutes; last: at 3");
    }

    #[test]
    fn old_faults_are_forgiven_and_a_clock_set_back_forgives_none() {
        let faults: Vec<Fault> = (0..3).map(|at| fault(FaultKind::Error, "x/y", at)).collect();
        assert_eq!(judge_faults(Tier::Standard, &faults, BUDGET, 700_000), FaultVerdict::Keep);
        let ahead: Vec<Fault> = (0..3).map(|at| fault(FaultKind::Error, "x/y", 1_000_000 + at)).collect();
        assert!(matches!(judge_faults(Tier::Standard, &ahead, BUDGET, 5), FaultVerdict::Disable { .. }));
    }

    #[test]
    fn the_first_fault_of_the_core_is_fatal() {
        let faults = [fault(FaultKind::Panic, "kernel/turn.sealed", 1)];
        let reason = "core extension `guard` in kernel/turn.sealed: at 1".to_owned();
        assert_eq!(judge_faults(Tier::Core, &faults, BUDGET, 1), FaultVerdict::Fatal { reason });
        assert_eq!(judge_faults(Tier::Core, &[], BUDGET, 1), FaultVerdict::Keep);
    }

    #[test]
    fn a_budget_of_nothing_still_allows_a_clean_extension() {
        let none = FaultBudget { faults: 0, window_ms: 1 };
        assert_eq!(judge_faults(Tier::Standard, &[], none, 1), FaultVerdict::Keep);
        assert!(matches!(
            judge_faults(Tier::Standard, &[fault(FaultKind::Error, "x/y", 1)], none, 1),
            FaultVerdict::Disable { .. }
        ));
    }
}
