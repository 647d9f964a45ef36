//! The far edge of the engine: attempts that take time, write files, end well or badly, and leave a mark when they end.

use super::disk::{Author, Disk};
use super::faulty::Dice;
use crate::contract::{RunId, Usage};
use crate::performer::{Again, Assignment, End, Performance, Performer, Settled};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_sim::SimClock;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What one attempt does.
#[derive(Clone)]
pub(super) struct Act {
    pub(super) takes_ms: u64,
    pub(super) writes: Vec<(String, String)>,
    pub(super) end: End,
    pub(super) usage: Usage,
}

impl Act {
    pub(super) fn success(takes_ms: u64) -> Self {
        Self { takes_ms, writes: Vec::new(), end: End::Success, usage: Usage::default() }
    }

    pub(super) fn failure(takes_ms: u64) -> Self {
        Self { end: End::Failed { reason: "exit 1".into(), again: Again::Worthwhile }, ..Self::success(takes_ms) }
    }
}

/// Decides what an attempt does.
pub(super) type Script = Arc<dyn Fn(&Assignment, &Dice) -> Act + Send + Sync>;

/// An attempt that came to its end, whether or not anybody stored it.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) run: RunId,
    pub(super) hook: String,
    pub(super) path: String,
    pub(super) content: Option<String>,
    pub(super) end: End,
    pub(super) began_ms: u64,
    pub(super) ended_ms: u64,
}

struct Present {
    process: String,
    hook: String,
    path: String,
}

/// What all processes of a history do to the world.
pub(super) struct Stage {
    pub(super) disk: Arc<Disk>,
    pub(super) dead: Arc<Mutex<Vec<String>>>,
    pub(super) played: Mutex<Vec<Played>>,
    pub(super) most_at_once: Mutex<usize>,
    /// Limits that were not kept.
    pub(super) broken: Mutex<Vec<String>>,
    cap: usize,
    present: Mutex<BTreeMap<u64, Present>>,
    observed: Mutex<BTreeMap<RunId, Vec<String>>>,
    marks: Mutex<BTreeMap<(RunId, u32), Performance>>,
    last: Mutex<u64>,
}

impl Stage {
    pub(super) fn new(disk: Arc<Disk>, dead: Arc<Mutex<Vec<String>>>, cap: usize) -> Self {
        Self {
            disk,
            dead,
            played: Mutex::default(),
            most_at_once: Mutex::default(),
            broken: Mutex::default(),
            cap,
            present: Mutex::default(),
            observed: Mutex::default(),
            marks: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Whoever comes in finds every limit kept, among those whose process lives.
    fn enter(self: &Arc<Self>, process: &str, assignment: &Assignment) -> Entered {
        let hook = assignment.hook.id.clone();
        let path = assignment.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let mut present = self.present.lock().unwrap();
        {
            let dead = self.dead.lock().unwrap();
            present.retain(|_, other| !dead.contains(&other.process));
        }
        let same_hook = present.values().filter(|other| other.hook == hook).count();
        let same_key = present.values().any(|other| other.hook == hook && other.path == path && !path.is_empty());
        let broken = [
            (same_hook >= assignment.hook.concurrency as usize, format!("{hook} runs {same_hook} times already")),
            (present.len() >= self.cap, format!("{} runs go already", present.len())),
            (same_key, format!("{hook} runs on {path} already")),
        ];
        // A panic here would only be the end of the attempt.
        self.broken.lock().unwrap().extend(broken.into_iter().filter(|(broken, _)| *broken).map(|(_, what)| what));
        let mut last = self.last.lock().unwrap();
        *last += 1;
        present.insert(*last, Present { process: process.to_owned(), hook, path });
        let mut most = self.most_at_once.lock().unwrap();
        *most = present.len().max(*most);
        Entered { stage: Arc::clone(self), number: *last }
    }
}

struct Entered {
    stage: Arc<Stage>,
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.stage.present.lock().unwrap().remove(&self.number);
    }
}

/// The performer of one process.
pub(super) struct Player {
    pub(super) stage: Arc<Stage>,
    pub(super) clock: SimClock,
    pub(super) dice: Arc<Dice>,
    pub(super) process: String,
    pub(super) script: Script,
}

impl Player {
    async fn play(&self, assignment: Assignment) -> Performance {
        let entered = self.stage.enter(&self.process, &assignment);
        let act = (self.script)(&assignment, &self.dice);
        let began_ms = self.clock.now_ms();
        let mut wrote = None;
        let mut left_ms = act.takes_ms;
        while left_ms > 0 && !assignment.cancel.is_cancelled() {
            if wrote.is_none() && left_ms <= act.takes_ms / 2 {
                wrote = Some(self.write(&assignment.run, &act));
            }
            self.clock.sleep_ms(left_ms.min(10)).await;
            left_ms = left_ms.saturating_sub(10);
        }
        let end = match assignment.cancel.is_cancelled() {
            true => End::Canceled,
            false => {
                wrote.get_or_insert_with(|| self.write(&assignment.run, &act));
                act.end
            }
        };
        let performance = Performance {
            end: end.clone(),
            exit_code: Some(i32::from(end != End::Success)),
            output: format!("{} on attempt {}", assignment.hook.id, assignment.attempt),
            wrote: wrote.unwrap_or_default(),
            usage: act.usage,
            session: None,
            patch: None,
        };
        let file = assignment.files.first();
        self.stage.played.lock().unwrap().push(Played {
            run: assignment.run.clone(),
            hook: assignment.hook.id.clone(),
            path: file.map(|file| file.path.clone()).unwrap_or_default(),
            content: file.and_then(|file| file.content_hash.clone()),
            end,
            began_ms,
            ended_ms: self.clock.now_ms(),
        });
        self.stage.marks.lock().unwrap().insert((assignment.run, assignment.attempt), performance.clone());
        drop(entered);
        performance
    }

    /// Whoever watches sees a write before it happens.
    fn write(&self, run: &RunId, act: &Act) -> Vec<String> {
        let paths: Vec<String> = act.writes.iter().map(|(path, _)| path.clone()).collect();
        self.stage.observed.lock().unwrap().insert(run.clone(), paths.clone());
        for (path, content) in &act.writes {
            if self.stage.disk.content(path).as_ref() != Some(content) {
                self.stage.disk.write(path, content, Author::Run);
            }
        }
        paths
    }
}

impl Performer for Player {
    fn perform(&self, assignment: Assignment) -> BoxFuture<'_, Performance> {
        Box::pin(self.play(assignment))
    }

    fn settle<'a>(&'a self, run: &'a RunId, attempt: u32) -> BoxFuture<'a, Settled> {
        let mark = self.stage.marks.lock().unwrap().get(&(run.clone(), attempt)).cloned();
        let settled = mark.map_or(Settled::Unfinished, |mark| Settled::Ended(Box::new(mark)));
        Box::pin(std::future::ready(settled))
    }

    fn observed(&self, run: &RunId) -> Vec<String> {
        self.stage.observed.lock().unwrap().get(run).cloned().unwrap_or_default()
    }

    fn sight(&self) -> crate::performer::Sight {
        crate::performer::Sight::Observes
    }
}
