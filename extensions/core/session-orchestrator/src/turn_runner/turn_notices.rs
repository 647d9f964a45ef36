//! Who delayed or broke a turn, and what is switched off, in words for whoever watches.

use dispatch_contracts::fault::Fault;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::turn::{TurnEvent, Wait};
use dispatch_kernel::host::{ExtensionHost, ExtensionState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// A wait for an extension that is worth a word.
const SLOW_WAIT_MS: u64 = 1_000;

type FaultCounts = BTreeMap<ExtensionId, (u64, Fault)>;

/// One thing that a person is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnNotice {
    extension: ExtensionId,
    pub(super) text: String,
    pub(super) is_wait: bool,
}

impl TurnNotice {
    pub(super) fn event(self) -> TurnEvent {
        TurnEvent::Notice { extension: self.extension, text: self.text }
    }
}

/// What was told already.
#[derive(Default)]
pub(super) struct TurnNotices {
    told_off: Mutex<BTreeSet<ExtensionId>>,
}

impl TurnNotices {
    /// What is to be told at the end of a turn: its waits and faults, and whatever is newly switched off.
    pub(super) fn of_turn(&self, host: &ExtensionHost, before: &FaultCounts, waits: &[Wait]) -> Vec<TurnNotice> {
        let mut notices = turn_notices(before, &host.faults(), waits);
        let mut off = BTreeMap::new();
        host.each_state(|id, _, state| {
            if let ExtensionState::Disabled { reason } = state {
                off.insert(id.clone(), reason.clone());
            }
        });
        let mut told = self.told_off.lock().unwrap_or_else(PoisonError::into_inner);
        told.retain(|id| off.contains_key(id));
        for (extension, reason) in off {
            if told.insert(extension.clone()) {
                let text = format!(
                    "extension `{extension}` is switched off: {reason}; `dispatch ext enable {extension}` brings it back"
                );
                notices.push(TurnNotice { extension, text, is_wait: false });
            }
        }
        notices
    }
}

/// The faults and the long waits of one turn.
fn turn_notices(before: &FaultCounts, after: &FaultCounts, waits: &[Wait]) -> Vec<TurnNotice> {
    let slow = waits.iter().filter(|wait| wait.ms >= SLOW_WAIT_MS).map(|wait| {
        let extension = wait.extension.clone();
        let seconds = format!("{}.{} s", wait.ms / 1_000, wait.ms % 1_000 / 100);
        let text = format!("the turn waited {seconds} for extension `{extension}` in {}", wait.place);
        TurnNotice { extension, text, is_wait: true }
    });
    let known = |id: &ExtensionId| before.get(id).map_or(0, |(count, _)| *count);
    let faulted = after.iter().filter(|(id, (count, _))| *count > known(id)).map(|(id, (count, last))| {
        let times = count - known(id);
        let often = if times > 1 { format!("{times} faults, the last: ") } else { String::new() };
        TurnNotice { extension: id.clone(), text: format!("{often}{last}"), is_wait: false }
    });
    slow.chain(faulted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::fault::FaultKind;

    fn counts(count: u64) -> FaultCounts {
        let fault = Fault {
            extension: "guard".into(),
            place: "kernel/tool.before".to_owned(),
            kind: FaultKind::Timeout,
            message: "did not answer within 5 s".to_owned(),
            at_ms: 0,
        };
        BTreeMap::from([("guard".into(), (count, fault))])
    }

    #[test]
    fn who_delayed_or_broke_a_turn_is_named_and_others_are_not() {
        let wait = |ms| Wait { extension: "slow".into(), place: "kernel/tool.before".to_owned(), ms, times: 1 };
        let said = |before: &FaultCounts, after: &FaultCounts, waits: &[Wait]| -> Vec<String> {
            turn_notices(before, after, waits).into_iter().map(|notice| notice.text).collect()
        };
        assert_eq!(said(&counts(2), &counts(2), &[wait(999)]), Vec::<String>::new());
        assert_eq!(
            said(&BTreeMap::new(), &counts(1), &[wait(4_570)]),
            [
                "the turn waited 4.5 s for extension `slow` in kernel/tool.before",
                "extension `guard` in kernel/tool.before: did not answer within 5 s"
            ]
        );
        assert!(said(&counts(1), &counts(3), &[])[0].starts_with("2 faults, the last: "));
    }
}
