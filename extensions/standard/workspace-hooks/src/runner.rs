//! Does the work of runs: a program, our own agent, another agent's program, a server; in the workspace or beside it.

mod agent;
mod brief;
mod child;
mod command;
mod external;
mod http;
mod note;
mod output;
mod patch;
mod prompt;
mod race;
mod reply;
mod shelf;
mod template;
mod trail;
mod veil;

#[cfg(test)]
mod tests;

use crate::contract::{Action, Place, RunId, Runner, Usage};
use crate::performer::{Again, Assignment, End, Performance, Performer, Settled, Sight};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_os::Deadline;
use dispatch_redact::{Allowed, UserPattern};
use ext_session_orchestrator::contract::Sessions;
use shelf::Shelf;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use trail::{Trail, Trails};
use veil::Veil;

pub(crate) use template::{TEMPLATES, Template, template};

/// What the performer needs of the world.
pub(crate) struct Means {
    /// Where worktrees, patches and marks of attempts are kept; for this crate alone.
    pub(crate) state: PathBuf,
    /// The user's own forms of secrets, for every hook.
    pub(crate) patterns: Vec<UserPattern>,
    /// What is never taken for a secret.
    pub(crate) allowed: Vec<Allowed>,
    /// Our own agent, where it is there.
    pub(crate) sessions: Option<Arc<dyn Sessions>>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The performer of real work. What a crashed process left in the state folder is taken away in the background.
pub(crate) fn performer(means: Means) -> Arc<dyn Performer> {
    let shelf = Shelf::new(means.state.clone());
    let crashed = shelf.clone();
    // A system without threads has bigger worries; the next start tries again.
    let _ = dispatch_os::threads::offload("workspace hook sweep", move || {
        crashed.sweep();
        patch::sweep(&crashed);
    });
    let is_blind = AtomicBool::new(!dispatch_os::process::may_observe());
    Arc::new(Runners { means, shelf, trails: Trails::default(), is_blind })
}

struct Runners {
    means: Means,
    shelf: Shelf,
    trails: Trails,
    /// Whether children are not observed here, which may turn out only when one has ended.
    is_blind: AtomicBool,
}

/// One attempt on its way.
struct Attempt<'a> {
    assignment: &'a Assignment,
    /// Where it works: the workspace or its place in a worktree.
    folder: PathBuf,
    place: Place,
    /// What may leave.
    veil: Arc<Veil>,
    deadline: Deadline,
    clock: &'a Arc<dyn Clock>,
    shelf: &'a Shelf,
    /// What it was seen to write so far.
    trail: Trail,
    is_blind: &'a AtomicBool,
}

impl Runners {
    async fn attempt(&self, assignment: &Assignment) -> Performance {
        let veil = match Veil::of(&self.means, &assignment.hook) {
            Ok(veil) => Arc::new(veil),
            Err(error) => return failed(format!("the secret patterns cannot be used: {error}"), Again::Useless),
        };
        if assignment.cancel.is_cancelled() {
            return ended(End::Canceled);
        }
        let attempt = Attempt {
            assignment,
            folder: assignment.workspace.clone(),
            place: assignment.hook.place,
            veil: Arc::clone(&veil),
            deadline: Deadline::after_ms(assignment.hook.timeout_ms),
            clock: &self.means.clock,
            shelf: &self.shelf,
            trail: self.trails.begin(&assignment.run, assignment.attempt),
            is_blind: &self.is_blind,
        };
        let performance = match attempt.place {
            Place::Tree => self.work(&attempt).await,
            Place::Patch => self.work_aside(attempt).await,
        };
        if note::is_due(assignment, &performance.end) {
            note::leave(assignment, &performance, &veil, self.means.clock.now_ms());
        }
        performance
    }

    async fn work(&self, attempt: &Attempt<'_>) -> Performance {
        match (&attempt.assignment.hook.action, &attempt.assignment.hook.runner) {
            (Action::Command(words), _) => command::run(attempt, words).await,
            (Action::Prompt(text), Runner::Agent { session }) => {
                agent::run(attempt, self.means.sessions.as_ref(), *session, text).await
            }
            (Action::Prompt(text), Runner::External(called)) => external::run(attempt, called, text).await,
            (Action::Prompt(text), Runner::Http { url, headers }) => http::run(attempt, url, headers, text).await,
        }
    }

    /// The same in a worktree of its own. Only a run that ended well has a change to offer.
    async fn work_aside(&self, attempt: Attempt<'_>) -> Performance {
        let bench = match patch::Bench::set_up(&attempt).await {
            Ok(bench) => bench,
            Err(end) => return ended(end),
        };
        let attempt = Attempt { folder: bench.folder(), ..attempt };
        let mut performance = self.work(&attempt).await;
        performance.wrote.clear();
        let end = performance.end.clone();
        match bench.put_away(&attempt, &end).await {
            Ok(patch) => performance.patch = patch,
            Err(end) => performance.end = end,
        }
        performance
    }
}

impl Performer for Runners {
    fn perform(&self, assignment: Assignment) -> BoxFuture<'_, Performance> {
        Box::pin(async move { self.attempt(&assignment).await })
    }

    fn settle<'a>(&'a self, run: &'a RunId, attempt: u32) -> BoxFuture<'a, Settled> {
        Box::pin(async move {
            let marker = self.shelf.exit_marker(run, attempt);
            // The guardian of a child outlives us by a moment, in which the child may still end well.
            if trail::is_pending(&marker) {
                return Settled::Pending;
            }
            let performance = match trail::ended(&marker) {
                Some(end) => Some(child::settled(end)),
                None => agent::settle(&self.means, &self.shelf, run, attempt).await,
            };
            performance.map_or(Settled::Unfinished, |performance| Settled::Ended(Box::new(performance)))
        })
    }

    fn stored(&self, run: &RunId, attempt: u32) {
        self.trails.end(run, attempt);
        self.shelf.clear(run, attempt);
    }

    fn observed(&self, run: &RunId) -> Vec<String> {
        self.trails.of(run)
    }

    fn sight(&self) -> Sight {
        if self.is_blind.load(Ordering::Relaxed) { Sight::Blind } else { Sight::Observes }
    }
}

/// A performance of which nothing but its end is known.
fn ended(end: End) -> Performance {
    Performance {
        end,
        exit_code: None,
        output: String::new(),
        wrote: Vec::new(),
        usage: Usage::default(),
        session: None,
        patch: None,
    }
}

fn failed(reason: impl Into<String>, again: Again) -> Performance {
    ended(End::Failed { reason: reason.into(), again })
}
