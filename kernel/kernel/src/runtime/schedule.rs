//! Which calls of a step may run now: a pure state machine over claims.

use dispatch_contracts::limits::DispatchPolicy;
use dispatch_contracts::tool::Resources;
use std::collections::BTreeSet;

/// What a call needs for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Everything: it overlaps no other call.
    Exclusive,
    /// Nothing: it may overlap any call that is not exclusive.
    Free,
    /// These resources: it overlaps no call that needs one of them.
    Keys(BTreeSet<String>),
}

impl Claim {
    /// The claim of a call, from what its tool declares.
    pub fn new(resources: Resources, concurrency_safe: bool) -> Self {
        match resources {
            Resources::Keys(keys) => Self::Keys(keys.into_iter().collect()),
            Resources::Undeclared if concurrency_safe => Self::Free,
            Resources::Undeclared => Self::Exclusive,
        }
    }

    fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exclusive, _) | (_, Self::Exclusive) => true,
            (Self::Keys(mine), Self::Keys(theirs)) => !mine.is_disjoint(theirs),
            _ => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    Queued,
    Running,
    Ended,
}

/// The calls of one step, in the order in which the model made them.
#[derive(Clone, Debug)]
pub struct CallSchedule {
    policy: DispatchPolicy,
    model_speaks: bool,
    calls: Vec<(Claim, CallState)>,
}

impl CallSchedule {
    /// A step without calls, in which the model is still speaking.
    pub fn new(policy: DispatchPolicy) -> Self {
        Self { policy, model_speaks: true, calls: Vec::new() }
    }

    /// The model made a call; returns its number.
    pub fn arrive(&mut self, claim: Claim) -> usize {
        self.calls.push((claim, CallState::Queued));
        self.calls.len() - 1
    }

    /// The model has finished speaking.
    pub fn model_ended(&mut self) {
        self.model_speaks = false;
    }

    /// Starts the next call that may run now, if there is one. A call never overtakes an earlier one
    /// that it conflicts with, so nothing starves.
    pub fn start_next(&mut self) -> Option<usize> {
        if self.model_speaks && !self.policy.eager {
            return None;
        }
        let running = self.calls.iter().filter(|(_, state)| *state == CallState::Running).count();
        let cap = usize::try_from(self.policy.max_concurrent).unwrap_or(usize::MAX);
        if cap != 0 && running >= cap {
            return None;
        }
        let next = (0..self.calls.len()).find(|at| self.may_start(*at))?;
        self.set(next, CallState::Running);
        Some(next)
    }

    /// A call has its outcome.
    pub fn end(&mut self, call: usize) {
        self.set(call, CallState::Ended);
    }

    /// A call turned out to need something else; it waits again, with its place kept.
    pub fn requeue(&mut self, call: usize, claim: Claim) {
        if let Some(slot) = self.calls.get_mut(call) {
            *slot = (claim, CallState::Queued);
        }
    }

    /// Whether every call has its outcome.
    pub fn is_idle(&self) -> bool {
        self.calls.iter().all(|(_, state)| *state == CallState::Ended)
    }

    /// The calls that still wait.
    pub fn queued(&self) -> Vec<usize> {
        let waiting = |at: &usize| matches!(self.calls.get(*at), Some((_, CallState::Queued)));
        (0..self.calls.len()).filter(waiting).collect()
    }

    fn may_start(&self, at: usize) -> bool {
        let Some((claim, CallState::Queued)) = self.calls.get(at) else { return false };
        let earlier = self.calls.iter().take(at);
        let later_running = self.calls.iter().skip(at + 1).filter(|(_, state)| *state == CallState::Running);
        earlier
            .filter(|(_, state)| *state != CallState::Ended)
            .chain(later_running)
            .all(|(other, _)| !claim.conflicts(other))
    }

    fn set(&mut self, at: usize, state: CallState) {
        if let Some(slot) = self.calls.get_mut(at) {
            slot.1 = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Claim {
        Claim::Keys(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn ready(policy: DispatchPolicy, claims: &[Claim]) -> (CallSchedule, Vec<usize>) {
        let mut schedule = CallSchedule::new(policy);
        for claim in claims {
            schedule.arrive(claim.clone());
        }
        schedule.model_ended();
        let started = std::iter::from_fn(|| schedule.start_next()).collect();
        (schedule, started)
    }

    const UNLIMITED: DispatchPolicy = DispatchPolicy { max_concurrent: 0, eager: true };

    #[test]
    fn claims_decide_what_overlaps() {
        let cases = [
            (vec![Claim::Free, Claim::Free, Claim::Free], vec![0, 1, 2]),
            (vec![Claim::Exclusive, Claim::Free], vec![0]),
            (vec![Claim::Free, Claim::Exclusive, Claim::Free], vec![0]),
            (vec![keys(&["a"]), keys(&["b"]), keys(&["a", "b"]), Claim::Free], vec![0, 1, 3]),
        ];
        for (claims, expected) in cases {
            assert_eq!(ready(UNLIMITED, &claims).1, expected, "{claims:?}");
        }
    }

    #[test]
    fn a_call_never_overtakes_one_it_conflicts_with() {
        let (mut schedule, started) = ready(UNLIMITED, &[keys(&["a"]), keys(&["a", "b"]), keys(&["b"])]);
        assert_eq!(started, [0]);
        schedule.end(0);
        assert_eq!(schedule.start_next(), Some(1));
        assert_eq!(schedule.start_next(), None);
        schedule.end(1);
        assert_eq!(schedule.start_next(), Some(2));
    }

    #[test]
    fn a_requeued_call_waits_for_what_it_now_needs() {
        let (mut schedule, started) = ready(UNLIMITED, &[keys(&["a"]), keys(&["b"])]);
        assert_eq!(started, [0, 1]);
        schedule.requeue(0, keys(&["b"]));
        assert_eq!(schedule.start_next(), None, "a later call that runs holds the resource");
        schedule.end(1);
        assert_eq!(schedule.start_next(), Some(0));
    }

    #[test]
    fn a_lazy_policy_waits_for_the_model() {
        let mut schedule = CallSchedule::new(DispatchPolicy { max_concurrent: 2, eager: false });
        schedule.arrive(Claim::Free);
        assert_eq!(schedule.start_next(), None);
        schedule.model_ended();
        assert_eq!(schedule.start_next(), Some(0));
        assert!(!schedule.is_idle());
        schedule.end(0);
        assert!(schedule.is_idle());
    }
}
