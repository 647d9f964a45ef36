//! Notes what is new in the ledger: what no hook looks at is over at once, and what can be routed now is taken in the
//! transaction that notes it.

use crate::journal::{Journal, OpenEvent, RouteClaim, conversation, route_key};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Durability, Keys, StorageError, Transaction};
use dispatch_durable_queue::transact_with;
use ext_event_ledger::contract::Event;

/// New events, in order.
pub(crate) struct EventIntake {
    /// Who takes events, and how many.
    pub(crate) claim: RouteClaim,
    pub(crate) events: Vec<UnroutedEvent>,
    /// Everything up to this number was looked at.
    pub(crate) through: u64,
}

/// An event that nobody has noted yet.
pub(crate) struct UnroutedEvent {
    pub(crate) event: Event,
    /// Whether a hook may look at it.
    pub(crate) needs_hooks: bool,
}

/// What became of new events.
pub(crate) struct NotedEvents {
    /// Those that this process has taken.
    pub(crate) taken: Vec<(OpenEvent, Event)>,
    /// Whether others are left that wait.
    pub(crate) some_wait: bool,
}

impl Journal {
    /// Notes new events of a workspace, and that everything up to a number was looked at.
    pub(crate) async fn note_events(&self, intake: EventIntake) -> Result<NotedEvents, StorageError> {
        let key = route_key(&intake.claim.workspace);
        // What a crash undoes here is looked at again.
        transact_with(self.storage.as_ref(), Keys::of([key]), Durability::Process, move |tx| note(tx, intake)).await
    }
}

fn note(tx: &mut dyn Transaction, intake: EventIntake) -> Result<NotedEvents, StorageError> {
    let EventIntake { claim, events, through } = intake;
    let mut noted = NotedEvents { taken: Vec::new(), some_wait: false };
    for UnroutedEvent { event, needs_hooks } in events {
        let has_room = (noted.taken.len() as u64) < u64::from(claim.limit);
        let step = if !needs_hooks {
            FirstStep::Routed
        } else if has_room && !has_open_before(tx, &event)? {
            FirstStep::Taken
        } else {
            FirstStep::Waits
        };
        // Another process of the workspace may have noted it.
        let is_noted_here = insert(tx, &event, step, &claim)?;
        match step {
            FirstStep::Taken if is_noted_here => {
                noted.taken.push((OpenEvent { event: event.id.clone(), fence: 1, attempts: 0 }, event));
            }
            FirstStep::Routed if is_noted_here => {}
            _ => noted.some_wait = true,
        }
    }
    tx.execute(&statement!(
        "INSERT INTO route_cursors (workspace, sequence) VALUES (?1, ?2)
         ON CONFLICT (workspace) DO UPDATE SET sequence = excluded.sequence
         WHERE route_cursors.sequence < excluded.sequence",
        &claim.workspace,
        through
    ))?;
    Ok(noted)
}

/// What is done with an event when it is noted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstStep {
    /// No hook looks at it.
    Routed,
    /// This process asks the hooks.
    Taken,
    /// It waits for its turn.
    Waits,
}

/// Whether an event has to wait for an earlier one of its conversation.
fn has_open_before(tx: &mut dyn Transaction, event: &Event) -> Result<bool, StorageError> {
    let open = tx.query(&statement!(
        "SELECT 1 FROM event_routes WHERE conversation = ?1 AND sequence < ?2 AND state = 'open' LIMIT 1",
        conversation(event),
        event.sequence
    ))?;
    Ok(!open.is_empty())
}

fn insert(tx: &mut dyn Transaction, event: &Event, step: FirstStep, claim: &RouteClaim) -> Result<bool, StorageError> {
    let is_taken = step == FirstStep::Taken;
    let inserted = tx.execute(&statement!(
        "INSERT INTO event_routes (event, sequence, workspace, conversation, state, owner, fence, lease_until,
                                   not_before, attempts, hops, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0, ?9, ?10) ON CONFLICT (event) DO NOTHING",
        &event.id,
        event.sequence,
        &claim.workspace,
        conversation(event),
        if step == FirstStep::Routed { "routed" } else { "open" },
        is_taken.then_some(claim.owner.as_str()),
        u32::from(is_taken),
        if is_taken { claim.until_ms } else { 0 },
        event.origin.as_ref().map_or(0, |origin| origin.hops),
        claim.now_ms
    ))?;
    Ok(inserted > 0)
}
