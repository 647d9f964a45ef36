//! The bus: events and filters between extensions, with every handler's failure kept its own.
//!
//! Rules: no lock is held while foreign code runs (a handler, a spawner, a fault sink, a drop), so a
//! handler may use the bus freely. An emitter never waits. One handler sees the events of its hook in
//! the order they were emitted. Whatever a handler does wrong becomes a [`Fault`] of its extension.

mod chain;
mod delivery;
mod dormant;
mod generations;
pub(crate) mod isolate;
mod mailbox;
mod subscription_table;
mod waits;
pub(crate) mod wording;

pub(crate) use generations::RetiredSubscriptions;
pub use mailbox::MAILBOX_LIMIT;
pub use waits::WaitLog;

use dispatch_contracts::fault::{Fault, FaultKind};
use dispatch_contracts::hook::{AnyHandler, ErasedValue, Event, EventHandler, FilterHandler, Payload};
use dispatch_contracts::host::Registration;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::ports::{Clock, LogSink, Spawner};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use subscription_table::SubscriptionTable;

/// What the bus needs of the world.
#[derive(Clone)]
pub struct BusPorts {
    /// Measures and limits handlers.
    pub clock: Arc<dyn Clock>,
    /// Runs event handlers.
    pub spawner: Arc<dyn Spawner>,
    /// Is told how many events a full mailbox lost.
    pub log: Arc<dyn LogSink>,
}

/// Takes every fault the moment it happens. Must not block.
pub trait FaultSink: Send + Sync {
    /// Takes one fault.
    fn report(&self, fault: Fault);
}

/// On whose behalf a handler is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// The extension.
    pub extension: ExtensionId,
    /// Its place in the activation order; among equal priorities a lower rank runs earlier.
    pub rank: u32,
    /// The generation that it belongs to: it takes part from then on.
    pub generation: u64,
}

/// Events and filters. Clones share one bus.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<BusState>,
    /// The generation whose filters are applied; `None` is the present one.
    view: Option<u64>,
}

struct BusState {
    ports: BusPorts,
    faults: Arc<dyn FaultSink>,
    table: Mutex<SubscriptionTable>,
}

impl BusState {
    fn table(&self) -> MutexGuard<'_, SubscriptionTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bus {
    /// A bus without subscribers.
    pub fn new(ports: BusPorts, faults: Arc<dyn FaultSink>) -> Self {
        Self { shared: Arc::new(BusState { ports, faults, table: Mutex::default() }), view: None }
    }

    /// Emits an event. Returns at once; handlers run in tasks of their own.
    pub fn emit<T: Payload>(&self, event: &Event<T>, payload: T) {
        self.emit_erased(event.id(), ErasedValue::new(payload));
    }

    /// Subscribes to an event.
    pub fn on(&self, subscriber: &Subscriber, hook: &str, handler: EventHandler) -> Registration {
        let ticket = self.shared.table().add_event(subscriber, hook, handler);
        self.registration(ticket)
    }

    /// Subscribes to every event. The handler is called in order, outside the emitter's call.
    pub fn on_any(&self, subscriber: &Subscriber, handler: AnyHandler) -> Registration {
        let ticket = self.shared.table().add_any(subscriber, handler);
        self.registration(ticket)
    }

    /// Joins a filter chain: higher priority first, then lower rank, then earlier registration.
    pub fn filter(&self, subscriber: &Subscriber, hook: &str, priority: i32, handler: FilterHandler) -> Registration {
        let ticket = self.shared.table().add_filter(subscriber, hook, priority, handler);
        self.registration(ticket)
    }

    /// Removes every subscription of an extension. Queued events are not delivered any more; a
    /// handler that is running ends by itself or by its time limit.
    pub fn remove_extension(&self, extension: &ExtensionId) {
        let removed = self.shared.table().remove_extension(extension);
        removed.close();
    }

    /// The filters that an extension has joined.
    pub(crate) fn filters_of(&self, extension: &ExtensionId) -> BTreeSet<String> {
        self.shared.table().filters_of(extension)
    }

    /// Keeps filters shut that an extension had joined and has left against its will: whoever can make
    /// a guard fail must not get past it that way. Chains that fail open are not affected.
    pub(crate) fn shut(&self, extension: &ExtensionId, hooks: &[String], cause: &str) {
        let mut table = self.shared.table();
        for hook in hooks {
            table.shut.entry(hook.clone()).or_default().insert(extension.clone(), cause.to_owned());
        }
    }

    /// Opens what was kept shut because of an extension.
    pub(crate) fn open(&self, extension: &ExtensionId) {
        let mut table = self.shared.table();
        table.shut.values_mut().for_each(|guards| {
            guards.remove(extension);
        });
        table.shut.retain(|_, guards| !guards.is_empty());
    }

    /// How many events an extension has lost because its mailboxes were full.
    pub fn dropped_events(&self, extension: &ExtensionId) -> u64 {
        self.shared.table().dropped.get(extension).copied().unwrap_or_default()
    }

    /// Counts something that happened outside the bus (a tool, a job) as an extension's fault.
    pub fn report(&self, extension: &ExtensionId, place: &str, kind: FaultKind, message: &str) {
        self.shared.faults.report(Fault {
            extension: extension.clone(),
            place: place.to_owned(),
            kind,
            message: wording::one_line(message),
            at_ms: self.shared.ports.clock.now_ms(),
        });
    }

    fn registration(&self, ticket: u64) -> Registration {
        let shared = Arc::downgrade(&self.shared);
        Registration::new(move || {
            if let Some(shared) = shared.upgrade() {
                let removed = shared.table().remove_ticket(ticket);
                removed.close();
            }
        })
    }
}
