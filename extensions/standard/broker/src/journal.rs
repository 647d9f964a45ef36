//! The journal of routing in storage: which events are open, what hooks decided, and which dispatches that made. Each
//! change is one transaction that names its keys.

use crate::dispatch_plan::{FiredHook, PlannedDispatch, SenderStanding, plan};
use crate::hook_result::HookResult;
use crate::permission_set::PermissionSet;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{
    Columns, Durability, Keys, Record, SqlValue, Statement, Storage, StorageError, Transaction,
};
use dispatch_durable_queue::{transact, transact_with};
use ext_event_ledger::contract::Event;
use ext_session_orchestrator::contract::{Mode, Submission};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most dispatches that are read at once.
const MAX_READ: u32 = 1_000;
/// No lease and no wait ends later than this after the longest one.
const MAX_AHEAD_MS: u64 = 60_000;

/// An event that this process routes, until somebody takes it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenEvent {
    pub(crate) event: String,
    pub(crate) fence: u64,
    pub(crate) attempts: u32,
}

/// Who takes events, and until when.
#[derive(Clone)]
pub(crate) struct RouteClaim {
    pub(crate) workspace: String,
    pub(crate) owner: String,
    /// Owners that are known to be gone: what they hold is free.
    pub(crate) dead: Vec<String>,
    pub(crate) now_ms: u64,
    pub(crate) until_ms: u64,
    pub(crate) limit: u32,
}

/// What came of a claim.
pub(crate) struct ClaimedEvents {
    pub(crate) taken: Vec<OpenEvent>,
    /// Whether others wait that nobody holds.
    pub(crate) some_wait: bool,
}

/// What one hook decided about an event.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    pub(crate) hook: String,
    pub(crate) origin: String,
    pub(crate) version: String,
    pub(crate) priority: i64,
    pub(crate) outcome: HookOutcome,
    pub(crate) reason: String,
    /// The result as it was returned, without secrets.
    pub(crate) value: Option<Value>,
    pub(crate) result: Option<HookResult>,
    pub(crate) ms: u64,
    /// The id of its dispatch, if it fires.
    pub(crate) dispatch: String,
}

/// How a hook's look at an event ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookOutcome {
    Fired,
    Passed,
    Invalid,
    Failed,
    Timeout,
    /// It came with the project and nobody approved it.
    Untrusted,
    /// It disabled itself with another event before.
    AlreadyDisabled,
    /// The event came back too often.
    Stopped,
}

impl HookOutcome {
    /// The word in the journal and in receipts.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Fired => "fired",
            Self::Passed => "passed",
            Self::Invalid => "invalid",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Untrusted => "untrusted",
            Self::AlreadyDisabled => "hook_already_disabled",
            Self::Stopped => "stopped",
        }
    }
}

/// A dispatch that waits to be handed over.
#[derive(Clone, Debug)]
pub(crate) struct WaitingDispatch {
    pub(crate) id: String,
    pub(crate) label: String,
    /// What cannot be read here may have been written by a newer version, which runs beside this one.
    pub(crate) submission: Result<Submission, String>,
}

/// A dispatch as the journal has it.
#[derive(Clone, Debug)]
pub(crate) struct JournaledDispatch {
    pub(crate) id: String,
    pub(crate) hook: String,
    pub(crate) label: String,
    pub(crate) persona: String,
    pub(crate) mode: String,
    pub(crate) state: String,
    pub(crate) reason: String,
    pub(crate) merged_into: Option<String>,
    pub(crate) permissions: PermissionSet,
    pub(crate) at_ms: u64,
}

/// One line of what hooks decided.
#[derive(Clone, Debug)]
pub(crate) struct JournaledInvocation {
    pub(crate) event: String,
    pub(crate) hook: String,
    pub(crate) outcome: String,
    pub(crate) reason: String,
    pub(crate) value: Option<Value>,
    pub(crate) ms: u64,
    pub(crate) at_ms: u64,
    /// The number of the event.
    pub(crate) sequence: u64,
}

/// Makes the message for a session of a planned dispatch.
pub(crate) type SubmissionMaker = Box<dyn Fn(&PlannedDispatch, &str) -> Submission + Send>;

/// Everything that one event leads to.
pub(crate) struct RoutedEvent {
    pub(crate) open: OpenEvent,
    pub(crate) owner: String,
    pub(crate) workspace: String,
    pub(crate) event: Event,
    pub(crate) sender: SenderStanding,
    pub(crate) invocations: Vec<Invocation>,
    pub(crate) submission: SubmissionMaker,
    pub(crate) now_ms: u64,
}

/// The journal.
pub(crate) struct Journal {
    pub(crate) storage: Arc<dyn Storage>,
}

impl Journal {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage }
    }

    /// How far a workspace has looked at the ledger.
    pub(crate) async fn cursor(&self, workspace: &str) -> Result<u64, StorageError> {
        let query = statement!("SELECT sequence FROM route_cursors WHERE workspace = ?1", workspace);
        let found = self.storage.query(query).await?;
        Ok(found.first().map(|record| record.unsigned(0)).transpose()?.unwrap_or(0))
    }

    /// Takes open events that nobody holds, the oldest of each conversation.
    pub(crate) async fn claim(&self, claim: RouteClaim) -> Result<ClaimedEvents, StorageError> {
        let key = route_key(&claim.workspace);
        let work = move |tx: &mut dyn Transaction| {
            let mut taken = Vec::new();
            for record in &tx.query(&claimable(&claim))? {
                let event = OpenEvent {
                    event: record.text(0)?.to_owned(),
                    fence: record.unsigned(1)? + 1,
                    attempts: small(record, 2)?,
                };
                // Whoever held it may have decided meanwhile: a decision is taken under the event's own key.
                let changed = tx.execute(&statement!(
                    "UPDATE event_routes SET owner = ?2, fence = ?3, lease_until = ?4
                     WHERE event = ?1 AND state = 'open' AND fence = ?3 - 1",
                    &event.event,
                    &claim.owner,
                    event.fence,
                    claim.until_ms
                ))?;
                if changed > 0 {
                    taken.push(event);
                }
            }
            let waiting =
                "SELECT 1 FROM event_routes WHERE workspace = ?1 AND state = 'open' AND owner IS NULL LIMIT 1";
            let some_wait = !tx.query(&statement!(waiting, &claim.workspace))?.is_empty();
            Ok::<_, StorageError>(ClaimedEvents { taken, some_wait })
        };
        // What a crash undoes here is claimed again.
        transact_with(self.storage.as_ref(), Keys::of([key]), Durability::Process, work).await
    }

    /// The owners of open events.
    pub(crate) async fn owners(&self) -> Result<Vec<String>, StorageError> {
        let query = "SELECT DISTINCT owner FROM event_routes WHERE state = 'open' AND owner IS NOT NULL";
        let found = self.storage.query(statement!(query)).await?;
        found.iter().map(|record| record.text(0).map(str::to_owned)).collect()
    }

    /// Lets an event wait that could not be routed now.
    pub(crate) async fn postpone(&self, open: &OpenEvent, owner: &str, until_ms: u64) -> Result<(), StorageError> {
        let (open, owner, key) = (open.clone(), owner.to_owned(), event_key(&open.event));
        let work = move |tx: &mut dyn Transaction| {
            tx.execute(&statement!(
                "UPDATE event_routes SET owner = NULL, not_before = ?4, attempts = attempts + 1
                 WHERE event = ?1 AND owner = ?2 AND fence = ?3 AND state = 'open'",
                &open.event,
                &owner,
                open.fence,
                until_ms
            ))?;
            Ok::<(), StorageError>(())
        };
        transact(self.storage.as_ref(), Keys::of([key]), work).await
    }

    /// Stores what was decided about an event and what it leads to; nothing if somebody else has the event now. What
    /// was decided stays decided: an event is routed once.
    pub(crate) async fn decide(&self, routed: RoutedEvent) -> Result<bool, StorageError> {
        let disabling = routed.invocations.iter().filter(|invocation| disables(invocation));
        let keys = disabling.map(|invocation| hook_key(&invocation.origin, &invocation.hook));
        let keys = Keys::of(keys.chain([event_key(&routed.open.event)]));
        // Handing over reaches the disk, and with it everything before it.
        transact_with(self.storage.as_ref(), keys, Durability::Process, move |tx| decide(tx, routed)).await
    }

    /// Dispatches of a workspace that can be handed over now, in order. Those of a session that has to wait are left out
    /// whole, so that they take no place of others.
    pub(crate) async fn waiting(&self, workspace: &str, now_ms: u64) -> Result<Vec<WaitingDispatch>, StorageError> {
        let query = statement!(
            "SELECT id, label, submission FROM route_dispatches waiting
             WHERE workspace = ?1 AND state = 'waiting'
             AND NOT EXISTS (SELECT 1 FROM route_dispatches held WHERE held.label = waiting.label
                 AND held.workspace = waiting.workspace AND held.state = 'waiting'
                 AND held.not_before > ?2 AND held.not_before <= ?3)
             ORDER BY sequence, place LIMIT ?4",
            workspace,
            now_ms,
            now_ms.saturating_add(MAX_AHEAD_MS),
            MAX_READ
        );
        let found = self.storage.query(query).await?;
        let waiting = |record: &Record| {
            let text = record.optional_text(2)?.unwrap_or_default();
            Ok(WaitingDispatch {
                id: record.text(0)?.to_owned(),
                label: record.text(1)?.to_owned(),
                submission: serde_json::from_str(text).map_err(|error| error.to_string()),
            })
        };
        found.iter().map(waiting).collect()
    }

    /// Notes what became of a dispatch that waited.
    pub(crate) async fn set_dispatch(
        &self,
        id: &str,
        state: &'static str,
        reason: &str,
        not_before_ms: u64,
    ) -> Result<(), StorageError> {
        let (id, reason) = (id.to_owned(), reason.to_owned());
        let key = format!("dispatch:{id}");
        let work = move |tx: &mut dyn Transaction| {
            tx.execute(&statement!(
                "UPDATE route_dispatches SET state = ?2, reason = ?3, not_before = ?4 WHERE id = ?1 AND state = 'waiting'",
                &id,
                state,
                &reason,
                not_before_ms
            ))?;
            Ok::<(), StorageError>(())
        };
        // Handing over a second time is harmless: the id is the same.
        transact_with(self.storage.as_ref(), Keys::of([key]), Durability::Process, work).await
    }

    /// Switches a hook on or off.
    pub(crate) async fn set_enabled(
        &self,
        origin: &str,
        hook: &str,
        enabled: bool,
        reason: &str,
        now_ms: u64,
    ) -> Result<(), StorageError> {
        let (origin, hook, reason) = (origin.to_owned(), hook.to_owned(), reason.to_owned());
        let key = hook_key(&origin, &hook);
        let work = move |tx: &mut dyn Transaction| switch(tx, &origin, &hook, enabled, &reason, None, now_ms);
        transact(self.storage.as_ref(), Keys::of([key]), work).await
    }
}

/// The open events that a claim can take. What is held is left out here, so that it takes no place of what is not.
fn claimable(claim: &RouteClaim) -> Statement {
    // A moment farther ahead than any lease or wait was written by a clock that was set back since.
    let farthest_ms = claim.until_ms.saturating_add(MAX_AHEAD_MS);
    let places: Vec<String> = (0..claim.dead.len()).map(|at| format!("?{}", at + 5)).collect();
    let dead = if places.is_empty() { String::new() } else { format!(" OR owner IN ({})", places.join(", ")) };
    let sql = format!(
        "SELECT event, fence, attempts FROM event_routes
         WHERE workspace = ?1 AND state = 'open' AND (not_before <= ?2 OR not_before > ?3)
         AND (owner IS NULL OR lease_until <= ?2 OR lease_until > ?3{dead})
         AND NOT EXISTS (SELECT 1 FROM event_routes earlier WHERE earlier.conversation = event_routes.conversation
             AND earlier.sequence < event_routes.sequence AND earlier.state = 'open')
         ORDER BY sequence LIMIT ?4"
    );
    let mut parameters = vec![
        SqlValue::from(claim.workspace.as_str()),
        SqlValue::from(claim.now_ms),
        SqlValue::from(farthest_ms),
        SqlValue::from(claim.limit),
    ];
    parameters.extend(claim.dead.iter().map(|owner| SqlValue::from(owner.as_str())));
    Statement::new(sql, parameters)
}

/// What must be routed one after the other.
pub(crate) fn conversation(event: &Event) -> String {
    serde_json::json!([event.channel, event.account_id, event.peer_id]).to_string()
}

fn disables(invocation: &Invocation) -> bool {
    invocation.result.as_ref().is_some_and(|result| result.disables_hook)
}

fn event_key(event: &str) -> String {
    format!("event:{event}")
}

fn hook_key(origin: &str, hook: &str) -> String {
    format!("hook:{origin}:{hook}")
}

pub(crate) fn route_key(workspace: &str) -> String {
    format!("route:{workspace}")
}

fn small(record: &Record, at: usize) -> Result<u32, StorageError> {
    Ok(u32::try_from(record.unsigned(at)?).unwrap_or(u32::MAX))
}

fn decide(tx: &mut dyn Transaction, routed: RoutedEvent) -> Result<bool, StorageError> {
    let RoutedEvent { open, owner, workspace, event, sender, mut invocations, submission, now_ms } = routed;
    let held = tx.query(&statement!(
        "SELECT 1 FROM event_routes WHERE event = ?1 AND owner = ?2 AND fence = ?3 AND state = 'open'",
        &open.event,
        &owner,
        open.fence
    ))?;
    if held.is_empty() {
        return Ok(false);
    }
    switch_off(tx, &mut invocations, &event, now_ms)?;
    write_invocations(tx, &invocations, &event, now_ms)?;
    let planned = plan(&event, &sender, fired_hooks(&invocations));
    write_dispatches(tx, &planned, &invocations, &event, &workspace, &submission, now_ms)?;
    tx.execute(&statement!("UPDATE event_routes SET state = 'routed', owner = NULL WHERE event = ?1", &open.event))?;
    Ok(true)
}

/// Switches off the hooks that want it; of those that are off already the result does not count.
fn switch_off(
    tx: &mut dyn Transaction,
    invocations: &mut [Invocation],
    event: &Event,
    now_ms: u64,
) -> Result<(), StorageError> {
    for invocation in invocations.iter_mut().filter(|invocation| disables(invocation)) {
        let off = tx.query(&statement!(
            "SELECT 1 FROM hook_states WHERE origin = ?1 AND hook = ?2 AND enabled = 0",
            &invocation.origin,
            &invocation.hook
        ))?;
        if off.is_empty() {
            let reason = "it disabled itself";
            switch(tx, &invocation.origin, &invocation.hook, false, reason, Some(&event.id), now_ms)?;
        } else {
            invocation.outcome = HookOutcome::AlreadyDisabled;
            invocation.reason = "another event was first".to_owned();
        }
    }
    Ok(())
}

fn write_invocations(
    tx: &mut dyn Transaction,
    invocations: &[Invocation],
    event: &Event,
    now_ms: u64,
) -> Result<(), StorageError> {
    for invocation in invocations {
        tx.execute(&statement!(
            "INSERT INTO hook_invocations (event, hook, version, outcome, reason, result, ms, sequence, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            &event.id,
            &invocation.hook,
            &invocation.version,
            invocation.outcome.word(),
            &invocation.reason,
            invocation.value.as_ref().map(Value::to_string),
            invocation.ms,
            event.sequence,
            now_ms
        ))?;
    }
    Ok(())
}

fn fired_hooks(invocations: &[Invocation]) -> Vec<FiredHook> {
    let fired = invocations.iter().filter(|invocation| invocation.outcome == HookOutcome::Fired);
    let hook = |invocation: &Invocation| FiredHook {
        id: invocation.hook.clone(),
        priority: invocation.priority,
        result: invocation.result.clone().unwrap_or_default(),
    };
    fired.map(hook).collect()
}

fn write_dispatches(
    tx: &mut dyn Transaction,
    planned: &[PlannedDispatch],
    invocations: &[Invocation],
    event: &Event,
    workspace: &str,
    submission: &SubmissionMaker,
    now_ms: u64,
) -> Result<(), StorageError> {
    let ids: BTreeMap<&str, &str> =
        invocations.iter().map(|invocation| (invocation.hook.as_str(), invocation.dispatch.as_str())).collect();
    let id_of = |hook: &str| ids.get(hook).copied().unwrap_or_default();
    for (place, planned) in (0_u32..).zip(planned) {
        let id = id_of(&planned.hook);
        let merged_into = planned.merged_into.as_deref().map(id_of);
        let submission = merged_into.is_none().then(|| submission(planned, id));
        tx.execute(&statement!(
            "INSERT INTO route_dispatches (id, event, hook, workspace, sequence, place, label, persona, mode, state, reason,
                                           merged_into, permissions, submission, not_before, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, '', ?11, ?12, ?13, 0, ?14)",
            id,
            &event.id,
            &planned.hook,
            workspace,
            event.sequence,
            place,
            &planned.label,
            &planned.persona,
            mode_word(planned.mode),
            if merged_into.is_some() { "merged" } else { "waiting" },
            merged_into,
            json(&planned.permissions)?,
            submission.as_ref().map(json).transpose()?,
            now_ms
        ))?;
    }
    Ok(())
}

fn switch(
    tx: &mut dyn Transaction,
    origin: &str,
    hook: &str,
    enabled: bool,
    reason: &str,
    event: Option<&str>,
    now_ms: u64,
) -> Result<(), StorageError> {
    tx.execute(&statement!(
        "INSERT INTO hook_states (origin, hook, enabled, reason, event, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (origin, hook) DO UPDATE SET enabled = excluded.enabled, reason = excluded.reason,
             event = excluded.event, at = excluded.at",
        origin,
        hook,
        enabled,
        reason,
        event,
        now_ms
    ))?;
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value)
        .map_err(|error| StorageError::GivenUp(format!("a dispatch cannot be written: {error}")))
}

/// The word that hooks and receipts know a mode by.
pub(crate) const fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Steer => "steer",
        Mode::Followup => "followup",
        Mode::Collect => "collect",
        Mode::Interrupt => "interrupt",
    }
}
