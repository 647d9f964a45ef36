//! The routing hooks as a service: listing, switching, and trying them on events without any effect.

use crate::contract::{
    BacktestReport, ChangedDecision, HookListing, HookState, HookTrial, RouteDecision, RouteMetrics, RouteSummary,
    Routes, RoutesError,
};
use crate::dispatch_plan::{FiredHook, PlannedDispatch, plan};
use crate::hook_catalogue::ReadyHook;
use crate::hook_evaluation::{Evaluation, HookFailure};
use crate::hook_files::{HookFile, HookOrigin, HookTrust};
use crate::hook_questions::EventQuestions;
use crate::hook_result::{HookResult, read_result};
use crate::journal::{HookOutcome, JournaledInvocation, mode_word};
use crate::journal_queries::MAX_INVOCATIONS;
use crate::route_metrics::{channel_metrics, hook_metrics};
use crate::router::Router;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::storage::StorageError;
use dispatch_contracts::suggest::nearest;
use ext_event_ledger::contract::{Event, EventFilter};
use ext_session_orchestrator::contract::{Outbox, OutboxError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The most events that a back-test looks at.
const MAX_EVENTS: u32 = 100_000;
/// The most earlier decisions of a hook that a back-test compares with.
const MAX_DECISIONS: usize = 100_000;
/// How many changes a report names.
const MAX_CHANGES: usize = 1_000;

/// The service.
pub(crate) struct RouteService {
    pub(crate) router: Arc<Router>,
    pub(crate) outbox: Arc<dyn Outbox>,
}

impl RouteService {
    async fn all(&self) -> Result<Vec<ReadyHook>, RoutesError> {
        Ok(self.router.hooks.all(&self.router.journal).await?)
    }

    async fn switch(&self, id: &str, enabled: bool) -> Result<HookListing, RoutesError> {
        let hooks = self.all().await?;
        let Some(hook) = hooks.iter().find(|hook| hook.id == id) else {
            let nearest = nearest(id, hooks.iter().map(|hook| hook.id.as_str())).map(str::to_owned);
            return Err(RoutesError::NoHook { id: id.to_owned(), nearest });
        };
        let reason = if enabled { "" } else { "switched off by `dispatch route disable`" };
        let now_ms = self.router.clock.now_ms();
        self.router.journal.set_enabled(&hook.file.origin.key(), id, enabled, reason, now_ms).await?;
        Ok(listing(ReadyHook { disabled: (!enabled).then(|| reason.to_owned()), ..hook.clone() }))
    }

    /// Runs a hook on an event.
    async fn trial(&self, hook: &ReadyHook, event: &Event) -> Result<HookTrial, RoutesError> {
        let router = &self.router;
        let sender = router.senders.standing(router.ledger.as_ref(), event).await?;
        let mut trial = HookTrial {
            hook: hook.id.clone(),
            event: event.id.clone(),
            outcome: HookOutcome::Failed.word().to_owned(),
            reason: hook.problem.clone(),
            result: None,
            dispatch: None,
            ms: 0,
            log: Vec::new(),
        };
        if hook.problem.is_some() {
            return Ok(trial);
        }
        let questions = EventQuestions {
            ledger: Arc::clone(&router.ledger),
            journal: Arc::clone(&router.journal),
            senders: router.senders.clone(),
            event: event.clone(),
            hook: hook.id.clone(),
        };
        let Evaluation { returned, ms, log } =
            router.hooks.runner.evaluate(&hook.file, event, sender.is_owner, Arc::new(questions)).await;
        trial.ms = ms;
        trial.log = log.iter().map(|line| router.redactor.redact(line).into_owned()).collect();
        let mut value = match returned {
            Ok(value) => value,
            Err(HookFailure::TimedOut(reason)) => {
                trial.outcome = HookOutcome::Timeout.word().to_owned();
                trial.reason = Some(reason);
                return Ok(trial);
            }
            Err(HookFailure::Failed(reason) | HookFailure::NoWorker(reason)) => {
                trial.reason = Some(router.redactor.redact(&reason).into_owned());
                return Ok(trial);
            }
        };
        router.redactor.redact_json(&mut value);
        let decision = self.decision(hook, event, &value).await?;
        trial.outcome = decision.outcome;
        trial.reason = read_result(&value).err().map(|error| error.to_string());
        trial.dispatch = decision.route;
        trial.result = (!value.is_null()).then_some(value);
        Ok(trial)
    }

    /// What a returned value means for an event.
    async fn decision(&self, hook: &ReadyHook, event: &Event, value: &Value) -> Result<RouteDecision, RoutesError> {
        let word = |outcome: HookOutcome| outcome.word().to_owned();
        let result = match read_result(value) {
            Err(_) => return Ok(RouteDecision { outcome: word(HookOutcome::Invalid), route: None }),
            Ok(result) => result.filter(|result| result.fires),
        };
        let Some(result) = result else {
            return Ok(RouteDecision { outcome: word(HookOutcome::Passed), route: None });
        };
        let sender = self.router.senders.standing(self.router.ledger.as_ref(), event).await?;
        let fired = FiredHook { id: hook.id.clone(), priority: hook.meta.priority, result: result.clone() };
        let route = plan(event, &sender, vec![fired]).pop().map(|planned| summary(&planned, &result));
        Ok(RouteDecision { outcome: word(HookOutcome::Fired), route })
    }

    async fn measured(&self, since_ms: u64) -> Result<RouteMetrics, RoutesError> {
        let hooks = hook_metrics(&self.router.journal.outcome_counts(since_ms).await?);
        let received = self.router.ledger.channel_counts(since_ms).await?;
        let replies = self.outbox.counts(since_ms).await.map_err(|error| match error {
            OutboxError::Storage(error) => RoutesError::Storage(error),
            other => RoutesError::Storage(StorageError::Statement(other.to_string())),
        })?;
        Ok(RouteMetrics { since_ms, hooks, channels: channel_metrics(&received, &replies) })
    }

    async fn named(&self, file: &Path) -> Result<ReadyHook, RoutesError> {
        let file = HookFile::named(file).map_err(RoutesError::File)?;
        Ok(self.router.hooks.hook(file).await)
    }

    async fn compare(&self, file: &Path, since_ms: u64) -> Result<BacktestReport, RoutesError> {
        let hook = self.named(file).await?;
        if let Some(problem) = &hook.problem {
            return Err(RoutesError::File(problem.clone()));
        }
        let decided = self.decisions_of(&hook.id).await?;
        let is_known = !decided.is_empty();
        let decided: BTreeMap<String, JournaledInvocation> =
            decided.into_iter().map(|invocation| (invocation.event.clone(), invocation)).collect();
        let filter = EventFilter { since_ms: Some(since_ms), ..EventFilter::default() };
        let mut events = self.router.ledger.newest(filter, MAX_EVENTS).await?;
        events.reverse();
        let mut report = BacktestReport::default();
        for event in events {
            let journaled = decided.get(&event.id);
            // What came before the hook was there says nothing about a change of it.
            if (is_known && journaled.is_none()) || !hook.sees(&event.channel) {
                continue;
            }
            let before = match journaled {
                Some(journaled) => Some(self.journaled_decision(&hook, &event, journaled).await?),
                None => None,
            };
            let trial = self.trial(&hook, &event).await?;
            let after = Some(RouteDecision { outcome: trial.outcome, route: trial.dispatch });
            let is_same = before == after || (before.is_none() && after.as_ref().is_some_and(|it| it.route.is_none()));
            report.events += 1;
            if is_same {
                report.same += 1;
            } else if report.changed.len() < MAX_CHANGES {
                report.changed.push(ChangedDecision { event: event.id, before, after });
            }
        }
        Ok(report)
    }

    /// What a hook decided, newest first, page by page.
    async fn decisions_of(&self, hook: &str) -> Result<Vec<JournaledInvocation>, RoutesError> {
        let mut decided: Vec<JournaledInvocation> = Vec::new();
        loop {
            let before = decided.last().map_or(u64::MAX, |last| last.sequence);
            let page = self.router.journal.invocations_of(hook, before, MAX_INVOCATIONS).await?;
            let is_last = page.len() < MAX_INVOCATIONS as usize;
            decided.extend(page);
            if is_last || decided.len() >= MAX_DECISIONS {
                return Ok(decided);
            }
        }
    }

    async fn journaled_decision(
        &self,
        hook: &ReadyHook,
        event: &Event,
        journaled: &JournaledInvocation,
    ) -> Result<RouteDecision, RoutesError> {
        match &journaled.value {
            // A result counts as it was returned: that another event was first is no property of the hook.
            Some(value) => self.decision(hook, event, value).await,
            None => Ok(RouteDecision { outcome: journaled.outcome.clone(), route: None }),
        }
    }
}

fn listing(hook: ReadyHook) -> HookListing {
    let (state, reason) = match (hook.obstacle(), &hook.disabled) {
        (Some((HookOutcome::Untrusted, reason)), _) => (HookState::Untrusted, Some(reason)),
        (_, Some(reason)) => (HookState::Disabled, Some(reason.clone())),
        (Some((_, reason)), None) => (HookState::Broken, Some(reason)),
        (None, None) => (HookState::Enabled, None),
    };
    let origin = match hook.file.origin {
        HookOrigin::Project(_) => "project",
        HookOrigin::User => "user",
    };
    HookListing {
        id: hook.id,
        path: hook.file.path,
        origin: origin.to_owned(),
        priority: hook.meta.priority,
        channels: hook.meta.channels,
        state,
        reason,
    }
}

fn summary(planned: &PlannedDispatch, result: &HookResult) -> RouteSummary {
    RouteSummary {
        session: planned.label.clone(),
        persona: planned.persona.clone(),
        mode: mode_word(planned.mode).to_owned(),
        permissions: json!(planned.permissions),
        delivery: json!(planned.delivery),
        system_prompt: result.system_prompt.clone(),
        extracted: json!(planned.extracted),
        include_thread_history: planned.include_thread_history,
    }
}

impl Routes for RouteService {
    fn list(&self) -> BoxFuture<'_, Result<Vec<HookListing>, RoutesError>> {
        Box::pin(async move { Ok(self.all().await?.into_iter().map(listing).collect()) })
    }

    fn enable<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<HookListing, RoutesError>> {
        Box::pin(self.switch(id, true))
    }

    fn disable<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<HookListing, RoutesError>> {
        Box::pin(self.switch(id, false))
    }

    fn test<'a>(&'a self, file: &'a Path, event: Event) -> BoxFuture<'a, Result<HookTrial, RoutesError>> {
        Box::pin(async move {
            let mut hook = self.named(file).await?;
            hook.file.trust = HookTrust::Approved;
            self.trial(&hook, &event).await
        })
    }

    fn backtest<'a>(&'a self, file: &'a Path, since_ms: u64) -> BoxFuture<'a, Result<BacktestReport, RoutesError>> {
        Box::pin(self.compare(file, since_ms))
    }

    fn metrics(&self, since_ms: u64) -> BoxFuture<'_, Result<RouteMetrics, RoutesError>> {
        Box::pin(self.measured(since_ms))
    }

    fn is_routed<'a>(&'a self, event: &'a str) -> BoxFuture<'a, Result<bool, RoutesError>> {
        Box::pin(async move { Ok(self.router.journal.is_routed(event).await?) })
    }
}
