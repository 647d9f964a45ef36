//! Routes events: takes them from the ledger in order, asks every hook, stores what was decided, and hands dispatches to
//! their sessions.

use crate::dispatch_plan::{MAX_HOPS, PlannedDispatch, SenderStanding};
use crate::event_intake::{EventIntake, UnroutedEvent};
use crate::hook_catalogue::{HookCatalogue, ReadyHook};
use crate::hook_evaluation::{Evaluation, HookFailure};
use crate::hook_files::HookTrust;
use crate::hook_questions::EventQuestions;
use crate::hook_result::read_result;
use crate::journal::{HookOutcome, Invocation, Journal, OpenEvent, RouteClaim, RoutedEvent, SubmissionMaker};
use crate::message_text::{Author, extracted_section, message, readable, thread_section};
use crate::sender_standing::SenderKnowledge;
use crate::session_key::DEFAULT_PERSONA;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::{Clock, Ids, Level};
use dispatch_contracts::storage::StorageError;
use dispatch_durable_queue::{OwnerLiveness, Standing, WakeSignal};
use dispatch_redact::Redactor;
use ext_event_ledger::contract::{Event, EventLedger, LedgerError};
use ext_session_orchestrator::contract::{DispatchId, HistoryUse, MessageSender, Sessions, Submission};
use futures_util::StreamExt;
use futures_util::future::{Either, join_all, select};
use serde_json::{Map, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// How many events are routed at once.
const MAX_ROUTING: usize = 32;
/// How many events are read from the ledger at once.
const PAGE: u32 = 200;
/// How often the ledger is looked at for what other processes stored.
const POLL_MS: u64 = 500;
/// How much longer than its hooks may take an event belongs to the process that routes it.
const LEASE_SPARE_MS: u64 = 20_000;
/// The most dead processes that a claim names.
const MAX_DEAD: usize = 100;
/// How long an event waits that could not be routed.
const RETRY_MS: u64 = 2_000;
/// After so many tries without a worker a hook counts as failed.
const MAX_ROUTE_ATTEMPTS: u32 = 5;
/// The most earlier events of a thread that a turn reads.
const THREAD_EVENTS: u32 = 20;
/// The field of an event's metadata that names the workspace it belongs to.
const WORKSPACE_FIELD: &str = "workspace";

/// What routing works with.
pub(crate) struct Router {
    pub(crate) ledger: Arc<dyn EventLedger>,
    pub(crate) sessions: Arc<dyn Sessions>,
    pub(crate) journal: Arc<Journal>,
    pub(crate) hooks: Arc<HookCatalogue>,
    pub(crate) senders: SenderKnowledge,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) liveness: Arc<dyn OwnerLiveness>,
    pub(crate) owner: String,
    pub(crate) workspace: String,
    pub(crate) log: Arc<dyn Fn(Level, String) + Send + Sync>,
    pub(crate) spawn: Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>,
    /// Woken when there may be something to route.
    pub(crate) signal: WakeSignal,
    /// Woken when there may be something to hand over.
    pub(crate) decided: WakeSignal,
    /// How many events are being routed.
    pub(crate) routing: AtomicUsize,
    /// How far this process has looked at the ledger.
    pub(crate) looked_through: AtomicU64,
    pub(crate) stopping: AtomicBool,
}

/// What is looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// What this process stored.
    Ledger,
    /// What waits for its turn.
    Waiting,
    /// What other processes stored and left behind too.
    Everywhere,
}

/// Why an event could not be routed now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RouteError {
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{0}")]
    NoWorker(String),
}

impl Router {
    /// Routes until the program ends.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut appended = self.ledger.listen();
        let mut woken = self.signal.listen();
        let (mut dead, mut asked_at) = (Vec::new(), None::<u64>);
        let (mut look, mut some_wait) = (Look::Everywhere, true);
        while !self.stopping.load(Ordering::Relaxed) {
            let now = self.clock.monotonic_ms();
            if asked_at.is_none_or(|at| now.saturating_sub(at) >= POLL_MS) {
                asked_at = Some(now);
                dead = self.dead_owners().await;
                look = Look::Everywhere;
            }
            let taken_up = self.take_up(look, &dead, &mut some_wait).await;
            match &taken_up {
                // The ledger has more.
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => (self.log)(Level::Warn, format!("events cannot be routed: {error}")),
            }
            let waited = select(select(appended.next(), woken.next()), self.clock.sleep_ms(POLL_MS)).await;
            look = match waited {
                Either::Left((Either::Left(_), _)) if taken_up.is_ok() => Look::Ledger,
                Either::Left((Either::Right(_), _)) if taken_up.is_ok() => Look::Waiting,
                _ => Look::Everywhere,
            };
        }
    }

    /// Routes one event in the background. It is read if it is not known.
    fn start(self: &Arc<Self>, open: OpenEvent, known: Option<Event>) {
        self.routing.fetch_add(1, Ordering::Relaxed);
        let this = Arc::clone(self);
        (self.spawn)(Box::pin(async move {
            let has_fired = this.route_or_postpone(open, known).await;
            this.routing.fetch_sub(1, Ordering::Relaxed);
            if has_fired {
                this.decided.wake();
            }
            this.signal.wake();
        }));
    }

    /// Hands over until the program ends.
    pub(crate) async fn run_hand_over(self: Arc<Self>) {
        let mut decided = self.decided.listen();
        while !self.stopping.load(Ordering::Relaxed) {
            self.hand_over().await;
            select(decided.next(), self.clock.sleep_ms(POLL_MS)).await;
        }
    }

    /// The processes that hold open events and are gone. The traces of those that hold nothing are removed.
    async fn dead_owners(&self) -> Vec<String> {
        let Ok(owners) = self.journal.owners().await else { return Vec::new() };
        self.liveness.forget_dead(&owners);
        let is_dead = |owner: &String| *owner != self.owner && self.liveness.standing(owner) == Standing::Dead;
        owners.into_iter().filter(is_dead).take(MAX_DEAD).collect()
    }

    /// Stops taking events.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.signal.wake();
        self.decided.wake();
    }

    /// Notes what is new in the ledger and starts what is due. Says whether the ledger has more. `some_wait` is whether
    /// events may wait that a claim could take.
    async fn take_up(self: &Arc<Self>, look: Look, dead: &[String], some_wait: &mut bool) -> Result<bool, RouteError> {
        let mut has_more = false;
        if look != Look::Waiting {
            let cursor = self.cursor(look).await?;
            let new = self.ledger.after(cursor, PAGE).await?;
            has_more = new.len() as u64 >= u64::from(PAGE);
            if let Some(through) = new.last().map(|event| event.sequence) {
                let own = new.into_iter().filter(|event| self.is_own(event));
                let events = own.map(|event| UnroutedEvent { needs_hooks: self.needs_hooks(&event), event }).collect();
                let noted = self.journal.note_events(EventIntake { claim: self.claim(dead), events, through }).await?;
                self.looked_through.store(through, Ordering::Relaxed);
                noted.taken.into_iter().for_each(|(open, event)| self.start(open, Some(event)));
                *some_wait |= noted.some_wait;
            }
        }
        let claim = self.claim(dead);
        if claim.limit > 0 && (*some_wait || look == Look::Everywhere) {
            let claimed = self.journal.claim(claim).await?;
            claimed.taken.into_iter().for_each(|open| self.start(open, None));
            *some_wait = claimed.some_wait;
        }
        Ok(has_more)
    }

    /// What this process would take now.
    fn claim(&self, dead: &[String]) -> RouteClaim {
        let free = MAX_ROUTING.saturating_sub(self.routing.load(Ordering::Relaxed));
        let now_ms = self.clock.now_ms();
        RouteClaim {
            workspace: self.workspace.clone(),
            owner: self.owner.clone(),
            dead: dead.to_vec(),
            now_ms,
            until_ms: now_ms + LEASE_SPARE_MS + self.hooks.runner.longest_ms(),
            limit: u32::try_from(free).unwrap_or(u32::MAX),
        }
    }

    /// How far the ledger was looked at: by this process, or at times by any of the workspace.
    async fn cursor(&self, look: Look) -> Result<u64, RouteError> {
        let own = self.looked_through.load(Ordering::Relaxed);
        if look == Look::Ledger && own > 0 {
            return Ok(own);
        }
        Ok(self.journal.cursor(&self.workspace).await?)
    }

    /// Whether anything has to be asked or journaled about an event.
    fn needs_hooks(&self, event: &Event) -> bool {
        let hops = event.origin.as_ref().map_or(0, |origin| origin.hops);
        hops > MAX_HOPS || !self.hooks.ignores(&event.channel)
    }

    /// Whether an event came in for this workspace, or for none in particular.
    fn is_own(&self, event: &Event) -> bool {
        let workspace = event.metadata.get(WORKSPACE_FIELD).and_then(|value| value.as_str());
        workspace.is_none_or(|workspace| workspace == self.workspace)
    }

    /// Says whether a hook fired.
    async fn route_or_postpone(&self, open: OpenEvent, known: Option<Event>) -> bool {
        match self.route(&open, known).await {
            Ok(has_fired) => has_fired,
            Err(error) => {
                (self.log)(Level::Warn, format!("event `{}` is routed later: {error}", open.event));
                // What cannot be stored now is claimed again when its lease ends.
                let _ = self.journal.postpone(&open, &self.owner, self.clock.now_ms() + RETRY_MS).await;
                false
            }
        }
    }

    async fn route(&self, open: &OpenEvent, known: Option<Event>) -> Result<bool, RouteError> {
        let event = match known {
            Some(event) => event,
            None => match self.ledger.get(&open.event).await? {
                Some(event) => event,
                None => return Ok(false),
            },
        };
        let sender = self.senders.standing(self.ledger.as_ref(), &event).await?;
        let hops = event.origin.as_ref().map_or(0, |origin| origin.hops);
        let invocations =
            if hops > MAX_HOPS { vec![stopped(hops)] } else { self.ask_hooks(&event, &sender, open.attempts).await? };
        let has_fired = invocations.iter().any(|it| it.outcome == HookOutcome::Fired);
        let earlier = match (&event.thread_id, has_fired) {
            (Some(_), true) => readable(&event, self.ledger.thread_history(&event, THREAD_EVENTS).await?),
            _ => Vec::new(),
        };
        let submission = submission_maker(&event, &sender, &earlier);
        let routed = RoutedEvent {
            open: open.clone(),
            owner: self.owner.clone(),
            workspace: self.workspace.clone(),
            event,
            sender,
            invocations,
            submission,
            now_ms: self.clock.now_ms(),
        };
        self.journal.decide(routed).await?;
        Ok(has_fired)
    }

    /// Asks all hooks at once. Those that must not run are named too.
    async fn ask_hooks(
        &self,
        event: &Event,
        sender: &SenderStanding,
        attempts: u32,
    ) -> Result<Vec<Invocation>, RouteError> {
        let ready = self.hooks.ready(&self.journal).await?;
        if let Some(why) = ready.iter().find_map(|hook| hook.unknown.clone()).filter(|_| attempts < MAX_ROUTE_ATTEMPTS)
        {
            return Err(RouteError::NoWorker(why));
        }
        let wanted = ready.into_iter().filter(|hook| hook.sees(&event.channel));
        let asked = wanted.map(|hook| self.ask(hook, event, sender, attempts));
        join_all(asked).await.into_iter().collect()
    }

    async fn ask(
        &self,
        hook: ReadyHook,
        event: &Event,
        sender: &SenderStanding,
        attempts: u32,
    ) -> Result<Invocation, RouteError> {
        let mut invocation = Invocation {
            hook: hook.id.clone(),
            origin: hook.file.origin.key(),
            version: hook.file.version.clone(),
            priority: hook.meta.priority,
            outcome: HookOutcome::Failed,
            reason: String::new(),
            value: None,
            result: None,
            ms: 0,
            dispatch: self.ids.next_id(),
        };
        if let Some((outcome, reason)) = hook.obstacle() {
            return Ok(Invocation { outcome, reason, ..invocation });
        }
        let questions = EventQuestions {
            ledger: Arc::clone(&self.ledger),
            journal: Arc::clone(&self.journal),
            senders: self.senders.clone(),
            event: event.clone(),
            hook: hook.id.clone(),
        };
        let Evaluation { returned, ms, .. } =
            self.hooks.runner.evaluate(&hook.file, event, sender.is_owner, Arc::new(questions)).await;
        invocation.ms = ms;
        match returned {
            Ok(mut value) => {
                self.redactor.redact_json(&mut value);
                conclude(&mut invocation, value);
            }
            Err(HookFailure::TimedOut(reason)) => {
                invocation.outcome = HookOutcome::Timeout;
                invocation.reason = reason;
            }
            Err(HookFailure::NoWorker(reason)) if attempts < MAX_ROUTE_ATTEMPTS => {
                return Err(RouteError::NoWorker(reason));
            }
            Err(HookFailure::Failed(reason) | HookFailure::NoWorker(reason)) => {
                invocation.reason = self.redactor.redact(&reason).into_owned();
            }
        }
        Ok(invocation)
    }
}

/// What a returned value says.
pub(crate) fn conclude(invocation: &mut Invocation, value: serde_json::Value) {
    match read_result(&value) {
        Err(error) => {
            invocation.outcome = HookOutcome::Invalid;
            invocation.reason = error.to_string();
        }
        Ok(result) => {
            let fires = result.as_ref().is_some_and(|result| result.fires);
            invocation.outcome = if fires { HookOutcome::Fired } else { HookOutcome::Passed };
            invocation.result = result;
        }
    }
    invocation.value = (!value.is_null()).then_some(value);
}

impl ReadyHook {
    /// Why the hook does not look at any event.
    pub(crate) fn obstacle(&self) -> Option<(HookOutcome, String)> {
        match (&self.file.trust, self.problem.as_ref().or(self.unknown.as_ref())) {
            (HookTrust::Unapproved, _) => {
                let reason =
                    format!("not approved; look at it, then run `dispatch trust {}`", self.file.path.display());
                Some((HookOutcome::Untrusted, reason))
            }
            (HookTrust::Unreadable(why), _) => Some((HookOutcome::Failed, why.clone())),
            (HookTrust::Approved, Some(problem)) => Some((HookOutcome::Failed, problem.clone())),
            (HookTrust::Approved, None) => None,
        }
    }
}

/// What is journaled of an event that came back too often.
fn stopped(hops: u32) -> Invocation {
    Invocation {
        hook: "*".to_owned(),
        origin: String::new(),
        version: String::new(),
        priority: 0,
        outcome: HookOutcome::Stopped,
        reason: format!("{hops} replies of our own led to this event; after {MAX_HOPS} it is not routed any more"),
        value: None,
        result: None,
        ms: 0,
        dispatch: String::new(),
    }
}

/// Makes the messages of an event's dispatches.
pub(crate) fn submission_maker(event: &Event, sender: &SenderStanding, earlier: &[Event]) -> SubmissionMaker {
    let author = match (&sender.person, sender.is_owner) {
        (_, true) => Author::Owner,
        (Some(name), false) => Author::Known(name),
        (None, false) => Author::Stranger,
    };
    let text = message(event, author);
    let thread = thread_section(earlier);
    let from = MessageSender { id: format!("{}:{}", event.channel, event.from), is_owner: sender.is_owner };
    let source = format!("event:{}", event.id);
    Box::new(move |planned: &PlannedDispatch, id: &str| {
        let mut system = planned.system_prompts.clone();
        if !planned.extracted.is_empty() {
            system.push(extracted_section(&planned.extracted));
        }
        if planned.include_thread_history {
            system.extend(thread.clone());
        }
        Submission {
            session: planned.label.clone(),
            text: text.clone(),
            mode: planned.mode,
            id: Some(id.to_owned()),
            dispatch: Some(DispatchId::new(id)),
            source: source.clone(),
            persona: (planned.persona != DEFAULT_PERSONA).then(|| planned.persona.clone()),
            ask: planned.permissions.ask(),
            tools: Some(planned.permissions.bounds()),
            delivery: json!(planned.delivery),
            sender: Some(from.clone()),
            system,
            history: if planned.include_thread_history { HistoryUse::Whole } else { HistoryUse::None },
            options: Map::new(),
            ..Submission::default()
        }
    })
}
