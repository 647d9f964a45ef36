//! Everything that is stored of one session's queue, and the steps that change it.
//!
//! Pure.

use crate::contract::{CancelOutcome, DispatchId, DispatchState, DispatchView, Mode, SessionsError, Submission};
use crate::queue::{self, BACKOFF_MS, MAX_ATTEMPTS, MAX_WAITING, NextInput, WaitingInput};
use crate::queue_store::{Claimant, Lease, QueueError};
use crate::scope::{DispatchScope, RunnerScope};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_durable_queue::LeaseToken;
use std::path::PathBuf;

/// The beginning of a text that lists show.
const EXCERPT_CHARS: usize = 200;

/// One dispatch as the store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredDispatch {
    pub(crate) id: DispatchId,
    pub(crate) seq: u64,
    pub(crate) state: DispatchState,
    pub(crate) reason: String,
    pub(crate) turn: Option<TurnId>,
    pub(crate) attempts: u32,
    pub(crate) not_before_ms: u64,
    pub(crate) at_ms: u64,
    pub(crate) partition: String,
    pub(crate) submission: Submission,
    /// Where it belongs; `None` if an older version stored it.
    pub(crate) scope: Option<DispatchScope>,
}

impl StoredDispatch {
    pub(crate) fn view(&self, label: &str) -> DispatchView {
        DispatchView {
            id: self.id.clone(),
            session: label.to_owned(),
            seq: self.seq,
            mode: self.submission.mode,
            state: self.state,
            reason: self.reason.clone(),
            folder: self.submission.workdir.clone(),
            turn: self.turn.clone(),
            attempts: self.attempts,
            source: self.submission.source.clone(),
            text: self.submission.text.chars().take(EXCERPT_CHARS).collect(),
            at_ms: self.at_ms,
        }
    }

    pub(crate) fn waiting(&self) -> WaitingInput {
        WaitingInput {
            id: self.id.clone(),
            mode: self.submission.mode,
            partition: self.partition.clone(),
            not_before_ms: self.not_before_ms,
            at_ms: self.at_ms,
            attempts: self.attempts,
            submission: self.submission.clone(),
            scope: self.scope.clone(),
        }
    }

    fn end(&mut self, state: DispatchState, reason: impl Into<String>) -> Self {
        self.state = state;
        self.reason = reason.into();
        self.clone()
    }
}

/// The queue of one session: its lease and what is not over yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SessionState {
    pub(crate) session: SessionId,
    pub(crate) label: String,
    pub(crate) next_seq: u64,
    pub(crate) fence: u64,
    pub(crate) owner: Option<String>,
    pub(crate) lease_until_ms: u64,
    /// The fence whose turn was asked to stop.
    pub(crate) stop_fence: Option<u64>,
    /// When there is something to do; `None` only when nothing waits.
    pub(crate) ready_at_ms: Option<u64>,
    /// The workspace of what comes next: only a process there looks at the session.
    pub(crate) next_workspace: Option<String>,
    /// The turn that runs under the present fence.
    pub(crate) turn: Option<TurnId>,
    /// What is pending or running, in order.
    pub(crate) open: Vec<StoredDispatch>,
}

/// What a turn that was left behind had come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnProgress {
    /// Nothing but its input is stored: it can be tried again.
    Nothing,
    /// The model spoke or a tool started: it is never run again by itself.
    Something,
}

/// What became of a session that its owner left behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AbandonedSession {
    /// The turn that is over.
    pub(crate) turn: Option<TurnId>,
    /// Whether its inputs wait again, so that it is no part of the history.
    pub(crate) undone: bool,
    /// The entries that changed.
    pub(crate) changed: Vec<StoredDispatch>,
}

impl SessionState {
    pub(crate) fn new(session: SessionId, label: String) -> Self {
        Self {
            session,
            label,
            next_seq: 1,
            fence: 0,
            owner: None,
            lease_until_ms: 0,
            stop_fence: None,
            ready_at_ms: None,
            next_workspace: None,
            turn: None,
            open: Vec::new(),
        }
    }

    pub(crate) fn waiting(&self) -> Vec<WaitingInput> {
        self.open.iter().filter(|entry| entry.state == DispatchState::Pending).map(StoredDispatch::waiting).collect()
    }

    /// Why an input that should steer cannot enter the turn that runs now.
    pub(crate) fn steer_obstacle(&self, submission: &Submission, scope: &DispatchScope) -> Option<String> {
        if submission.mode != Mode::Steer {
            return None;
        }
        let running = self.open.iter().find(|entry| entry.state == DispatchState::Running);
        let running = running.map(|entry| (&entry.submission, entry.scope.as_ref()));
        queue::steer_obstacle(running, submission, Some(scope))
    }

    /// Takes input in. The last entry is the new one; those before it are what an interrupt leaves no room for.
    pub(crate) fn admit(
        &mut self,
        id: DispatchId,
        submission: Submission,
        scope: DispatchScope,
        now_ms: u64,
    ) -> Result<Vec<StoredDispatch>, SessionsError> {
        let waiting = self.waiting().len() as u64;
        if waiting >= MAX_WAITING && submission.mode != Mode::Interrupt {
            return Err(SessionsError::Full { session: self.label.clone(), waiting });
        }
        let mut changed = Vec::new();
        if submission.mode == Mode::Interrupt {
            let may = |entry: &StoredDispatch| queue::may_supersede(&submission, &entry.submission);
            let waits = |entry: &StoredDispatch| entry.state == DispatchState::Pending;
            for entry in self.open.iter_mut().filter(|entry| waits(entry) && may(entry)) {
                changed.push(entry.end(DispatchState::Superseded, format!("superseded by {id}")));
            }
            if self.stops_for(&submission) {
                self.stop_fence = Some(self.fence);
            }
        }
        let entry = StoredDispatch {
            id,
            seq: self.next_seq,
            state: DispatchState::Pending,
            reason: String::new(),
            turn: None,
            attempts: 0,
            not_before_ms: queue::not_before(submission.mode, now_ms),
            at_ms: now_ms,
            partition: queue::partition(&submission, Some(&scope)),
            submission,
            scope: Some(scope),
        };
        self.next_seq += 1;
        self.open.push(entry.clone());
        changed.push(entry);
        self.settle(now_ms);
        Ok(changed)
    }

    /// Whether the turn that runs now ends for this input.
    pub(crate) fn stops_for(&self, submission: &Submission) -> bool {
        let mut running = self.open.iter().filter(|entry| entry.state == DispatchState::Running);
        submission.mode == Mode::Interrupt
            && self.turn.is_some()
            && running.all(|entry| queue::may_supersede(submission, &entry.submission))
    }

    /// Lets an input wait again that was set aside. It comes where it stood.
    pub(crate) fn retry(&mut self, entry: &StoredDispatch, now_ms: u64) -> StoredDispatch {
        let again = StoredDispatch {
            state: DispatchState::Pending,
            reason: String::new(),
            turn: None,
            attempts: 0,
            not_before_ms: now_ms,
            ..entry.clone()
        };
        self.open.push(again.clone());
        self.open.sort_by_key(|entry| entry.seq);
        self.settle(now_ms);
        again
    }

    /// Takes the lease if nobody has it and the claimant can run what comes next.
    pub(crate) fn lease(&mut self, claimant: &Claimant, now_ms: u64) -> Option<Lease> {
        let due = matches!(self.next(&claimant.runner, now_ms), NextInput::Start(_));
        if self.owner.is_some() || !due {
            return None;
        }
        self.fence += 1;
        self.owner = Some(claimant.owner.clone());
        self.lease_until_ms = claimant.until_ms;
        self.stop_fence = None;
        Some(Lease {
            session: self.session.clone(),
            label: self.label.clone(),
            token: LeaseToken { owner: claimant.owner.clone(), fence: self.fence },
        })
    }

    /// Refuses everybody but the holder of the lease.
    pub(crate) fn check(&self, lease: &Lease) -> Result<(), QueueError> {
        if lease.token.holds(self.owner.as_deref(), self.fence) { Ok(()) } else { Err(QueueError::Fenced) }
    }

    /// What a process does next; it rests before what only another one can run as it was meant.
    pub(crate) fn next(&self, runner: &RunnerScope, now_ms: u64) -> NextInput {
        let can_run = |input: &WaitingInput| runner.can_run(input.scope.as_ref(), input.submission.workdir.as_deref());
        match queue::next(&self.waiting(), now_ms) {
            // Inputs that share a turn share their scope too.
            NextInput::Start(inputs) if !inputs.first().is_some_and(can_run) => NextInput::Rest,
            next => next,
        }
    }

    /// Sends an input that waits to another folder.
    pub(crate) fn relocate(
        &mut self,
        id: &DispatchId,
        folder: PathBuf,
        workspace: PathBuf,
        now_ms: u64,
    ) -> Option<StoredDispatch> {
        let pending = |entry: &&mut StoredDispatch| entry.id == *id && entry.state == DispatchState::Pending;
        let entry = self.open.iter_mut().find(pending)?;
        let known = entry.scope.take();
        entry.scope = Some(DispatchScope { workspace, ..known.unwrap_or_default() });
        entry.submission.workdir = Some(folder);
        entry.partition = queue::partition(&entry.submission, entry.scope.as_ref());
        let entry = entry.clone();
        self.settle(now_ms);
        Some(entry)
    }

    /// Begins a turn that consumes these inputs.
    pub(crate) fn begin(&mut self, turn: &TurnId, inputs: &[WaitingInput]) -> Vec<StoredDispatch> {
        self.turn = Some(turn.clone());
        // A stop that was asked for before this turn began was meant for another.
        self.stop_fence = None;
        inputs.iter().filter_map(|input| self.consume(&input.id, turn)).collect()
    }

    /// Marks one input as part of the running turn.
    pub(crate) fn consume(&mut self, id: &DispatchId, turn: &TurnId) -> Option<StoredDispatch> {
        let entry = self.open.iter_mut().find(|entry| entry.id == *id && entry.state == DispatchState::Pending)?;
        entry.state = DispatchState::Running;
        entry.turn = Some(turn.clone());
        Some(entry.clone())
    }

    /// Finds out again when there is something to do, after an input was consumed on the way.
    pub(crate) fn refresh(&mut self, now_ms: u64) {
        self.settle(now_ms);
    }

    /// Ends the running turn and all its inputs.
    pub(crate) fn finish(&mut self, turn: &TurnId, reason: &str, now_ms: u64) -> Vec<StoredDispatch> {
        self.turn = None;
        self.stop_fence = None;
        let mut ended = Vec::new();
        for entry in self.open.iter_mut().filter(|entry| entry.turn.as_ref() == Some(turn)) {
            ended.push(entry.end(DispatchState::Done, reason));
        }
        self.settle(now_ms);
        ended
    }

    /// Gives the lease back; what waits is looked at again by anybody.
    pub(crate) fn release(&mut self, now_ms: u64) {
        self.owner = None;
        self.lease_until_ms = 0;
        self.turn = None;
        self.settle(now_ms);
    }

    /// Takes one input back.
    pub(crate) fn cancel(&mut self, id: &DispatchId, now_ms: u64) -> Option<(CancelOutcome, StoredDispatch)> {
        let entry = self.open.iter_mut().find(|entry| entry.id == *id)?;
        let outcome = match entry.state {
            DispatchState::Pending => {
                entry.end(DispatchState::Cancelled, "taken back by its sender");
                CancelOutcome::Cancelled
            }
            DispatchState::Running => {
                self.stop_fence = Some(self.fence);
                CancelOutcome::Stopping
            }
            _ => CancelOutcome::TooLate,
        };
        let entry = entry.clone();
        self.settle(now_ms);
        Some((outcome, entry))
    }

    /// Whether the lease is nobody's any more.
    pub(crate) fn is_abandoned(&self, dead: &[String], now_ms: u64) -> bool {
        self.owner.as_ref().is_some_and(|owner| self.lease_until_ms <= now_ms || dead.contains(owner))
    }

    /// Shortens a lease that would last longer than any lease does: the clock was set back since it was written. Its
    /// owner renews it if it is alive. Says whether there was one.
    pub(crate) fn shorten_lease(&mut self, longest_ms: u64, now_ms: u64) -> bool {
        let is_too_long = self.owner.is_some() && self.lease_until_ms > now_ms.saturating_add(longest_ms);
        if is_too_long {
            self.lease_until_ms = now_ms.saturating_add(longest_ms);
        }
        is_too_long
    }

    /// Settles what a lost owner left behind. The fence rises, so that its late writes are refused.
    pub(crate) fn abandon(&mut self, progress: TurnProgress, now_ms: u64) -> AbandonedSession {
        let turn = self.turn.take();
        let mut changed = Vec::new();
        for entry in self.open.iter_mut().filter(|entry| entry.state == DispatchState::Running) {
            changed.push(match progress {
                TurnProgress::Something => entry.end(
                    DispatchState::Done,
                    "interrupted: the program stopped during the turn; what it had done is in the history",
                ),
                TurnProgress::Nothing if entry.attempts + 1 >= MAX_ATTEMPTS => {
                    entry.attempts += 1;
                    entry.end(
                        DispatchState::Parked,
                        format!("the program stopped {MAX_ATTEMPTS} times before it could answer"),
                    )
                }
                TurnProgress::Nothing => {
                    entry.attempts += 1;
                    entry.state = DispatchState::Pending;
                    entry.turn = None;
                    entry.not_before_ms = now_ms + BACKOFF_MS * u64::from(entry.attempts - 1);
                    entry.clone()
                }
            });
        }
        let undone = changed.iter().any(|entry| entry.state == DispatchState::Pending);
        self.fence += 1;
        self.owner = None;
        self.lease_until_ms = 0;
        self.stop_fence = None;
        self.settle(now_ms);
        AbandonedSession { turn, undone, changed }
    }

    /// Forgets what is over and finds out when there is something to do.
    fn settle(&mut self, now_ms: u64) {
        self.open.retain(|entry| !entry.state.is_over());
        let waiting = self.waiting();
        self.ready_at_ms = queue::ready_at(&waiting, now_ms);
        let next = waiting.first().and_then(|input| input.scope.as_ref());
        self.next_workspace = next.map(|scope| scope.workspace.to_string_lossy().into_owned());
    }
}
