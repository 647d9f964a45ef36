//! What the active extensions have added, by kind and name, each with its owner.

use super::gate::Kind;
use dispatch_contracts::auth::Auth;
use dispatch_contracts::contribution::{Command, Job, Route};
use dispatch_contracts::host::HostError;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::provider::Provider;
use dispatch_contracts::tool::Tool;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A contribution and who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned<T> {
    /// The extension.
    pub owner: ExtensionId,
    /// The name it is known by.
    pub name: String,
    /// The thing itself.
    pub item: T,
}

/// A service without its type: an `Arc<Arc<Interface>>`.
pub(crate) type ErasedService = Arc<dyn Any + Send + Sync>;

/// Everything that was taken out; dropped outside the lock, because destructors are foreign code.
pub(crate) type Leftovers = Vec<Box<dyn Any + Send>>;

/// What could not be added, handed back so that it is dropped outside the lock.
pub(crate) struct Refused<T> {
    pub(crate) error: HostError,
    _item: T,
}

/// The registrations of one kind.
pub(crate) struct Shelf<T> {
    kind: &'static str,
    entries: BTreeMap<String, Entry<T>>,
}

struct Entry<T> {
    owner: ExtensionId,
    ticket: u64,
    item: T,
}

/// All registrations.
pub(crate) struct Shelves {
    last_ticket: u64,
    pub(crate) tools: Shelf<Arc<dyn Tool>>,
    pub(crate) providers: Shelf<Arc<dyn Provider>>,
    pub(crate) auth: Shelf<Arc<dyn Auth>>,
    pub(crate) routes: Shelf<Route>,
    pub(crate) commands: Shelf<Command>,
    pub(crate) jobs: Shelf<Job>,
    pub(crate) services: Shelf<ErasedService>,
    pub(crate) migrations: Shelf<Vec<Migration>>,
}

/// The registrations behind one lock, under which no foreign code runs.
pub(crate) struct Registry {
    shelves: Mutex<Shelves>,
}

impl<T: Clone + Send + 'static> Shelf<T> {
    const fn new(kind: &'static str) -> Self {
        Self { kind, entries: BTreeMap::new() }
    }

    pub(crate) fn add(&mut self, ticket: u64, owner: &ExtensionId, name: &str, item: T) -> Result<(), Box<Refused<T>>> {
        if let Some(taken) = self.entries.get(name) {
            let error = HostError::Taken { kind: self.kind, name: name.to_owned(), by: taken.owner.clone() };
            return Err(Box::new(Refused { error, _item: item }));
        }
        self.entries.insert(name.to_owned(), Entry { owner: owner.clone(), ticket, item });
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Option<T> {
        self.entries.get(name).map(|entry| entry.item.clone())
    }

    pub(crate) fn list(&self) -> Vec<Owned<T>> {
        let entries = self.entries.iter();
        entries.map(|(name, it)| Owned { owner: it.owner.clone(), name: name.clone(), item: it.item.clone() }).collect()
    }

    fn take(&mut self, matches: impl Fn(&ExtensionId, u64) -> bool, leftovers: &mut Leftovers) {
        let taken = self.entries.extract_if(.., |_, entry| matches(&entry.owner, entry.ticket));
        leftovers.extend(taken.map(|(_, entry)| Box::new(entry.item) as Box<dyn Any + Send>));
    }
}

impl Shelves {
    pub(crate) fn next_ticket(&mut self) -> u64 {
        self.last_ticket += 1;
        self.last_ticket
    }

    pub(crate) fn take(&mut self, matches: impl Fn(&ExtensionId, u64) -> bool) -> Leftovers {
        let mut leftovers = Leftovers::new();
        self.tools.take(&matches, &mut leftovers);
        self.providers.take(&matches, &mut leftovers);
        self.auth.take(&matches, &mut leftovers);
        self.routes.take(&matches, &mut leftovers);
        self.commands.take(&matches, &mut leftovers);
        self.jobs.take(&matches, &mut leftovers);
        self.services.take(&matches, &mut leftovers);
        self.migrations.take(&matches, &mut leftovers);
        leftovers
    }
}

impl Registry {
    pub(crate) fn new() -> Self {
        let shelves = Shelves {
            last_ticket: 0,
            tools: Shelf::new(Kind::Tool.word()),
            providers: Shelf::new(Kind::Provider.word()),
            auth: Shelf::new(Kind::Auth.word()),
            routes: Shelf::new(Kind::Route.word()),
            commands: Shelf::new(Kind::Command.word()),
            jobs: Shelf::new(Kind::Job.word()),
            services: Shelf::new(Kind::Service.word()),
            migrations: Shelf::new("migrations"),
        };
        Self { shelves: Mutex::new(shelves) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back one registration.
    pub(crate) fn remove_ticket(&self, ticket: u64) {
        let leftovers = self.lock().take(|_, its_ticket| its_ticket == ticket);
        drop_contained(leftovers);
    }

    /// Takes back everything of one extension.
    pub(crate) fn remove_extension(&self, extension: &ExtensionId) {
        let leftovers = self.lock().take(|owner, _| owner == extension);
        drop_contained(leftovers);
    }
}

fn drop_contained(leftovers: Leftovers) {
    let _ = crate::bus::isolate::isolate_call(move || drop(leftovers));
}
