//! What the active extensions have added, by kind and name, each with its owner.

use super::gate::ContributionKind;
use dispatch_contracts::auth::Auth;
use dispatch_contracts::contribution::{Command, Job, RawRoute, Route};
use dispatch_contracts::host::HostError;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::provider::Provider;
use dispatch_contracts::service::ProvidedService;
use dispatch_contracts::tool::Tool;
use std::any::Any;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
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

/// Everything that was taken out; dropped outside the lock, because destructors are foreign code.
pub(crate) type RemovedItems = Vec<Box<dyn Any + Send>>;

/// What could not be added, handed back so that it is dropped outside the lock.
pub(crate) struct RefusedItem<T> {
    pub(crate) error: HostError,
    _item: T,
}

/// The registrations of one kind.
pub(crate) struct ContributionTable<T> {
    kind: &'static str,
    entries: BTreeMap<String, RegisteredItem<T>>,
    /// What extensions register that are about to start or to replace others.
    staged: BTreeMap<String, RegisteredItem<T>>,
}

/// The number of a registration, and where it goes.
#[derive(Clone)]
pub(crate) struct Ticket {
    pub(crate) number: u64,
    /// For an extension that is about to start: those whose names it may take, because they are about to leave.
    pub(crate) leaving: Option<Arc<BTreeSet<ExtensionId>>>,
}

struct RegisteredItem<T> {
    owner: ExtensionId,
    ticket: u64,
    item: T,
}

/// All registrations.
pub(crate) struct Contributions {
    last_ticket: u64,
    pub(crate) tools: ContributionTable<Arc<dyn Tool>>,
    pub(crate) providers: ContributionTable<Arc<dyn Provider>>,
    pub(crate) auth: ContributionTable<Arc<dyn Auth>>,
    pub(crate) routes: ContributionTable<Route>,
    pub(crate) raw_routes: ContributionTable<RawRoute>,
    pub(crate) served_routes: ContributionTable<()>,
    pub(crate) commands: ContributionTable<Command>,
    pub(crate) jobs: ContributionTable<Job>,
    pub(crate) services: ContributionTable<ProvidedService>,
    pub(crate) migrations: ContributionTable<Vec<Migration>>,
}

/// The registrations behind one lock, under which no foreign code runs.
pub(crate) struct Registry {
    contributions: Mutex<Contributions>,
}

impl<T: Clone + Send + 'static> ContributionTable<T> {
    const fn new(kind: &'static str) -> Self {
        Self { kind, entries: BTreeMap::new(), staged: BTreeMap::new() }
    }

    pub(crate) fn add(
        &mut self,
        ticket: Ticket,
        owner: &ExtensionId,
        name: &str,
        item: T,
    ) -> Result<(), Box<RefusedItem<T>>> {
        let Ticket { number, leaving } = ticket;
        let stays = |entry: &&RegisteredItem<T>| !leaving.as_ref().is_some_and(|ids| ids.contains(&entry.owner));
        let staged = self.staged.get(name).filter(|_| leaving.is_some());
        if let Some(taken) = staged.or_else(|| self.entries.get(name).filter(stays)) {
            let error = HostError::Taken { kind: self.kind, name: name.to_owned(), by: taken.owner.clone() };
            return Err(Box::new(RefusedItem { error, _item: item }));
        }
        let entry = RegisteredItem { owner: owner.clone(), ticket: number, item };
        let table = if leaving.is_some() { &mut self.staged } else { &mut self.entries };
        table.insert(name.to_owned(), entry);
        Ok(())
    }

    pub(crate) fn find(&self, name: &str) -> Option<T> {
        self.entries.get(name).map(|entry| entry.item.clone())
    }

    /// The same for an extension that is about to start: others that are about to start come first.
    pub(crate) fn find_staged(&self, name: &str) -> Option<T> {
        self.staged.get(name).map(|entry| entry.item.clone()).or_else(|| self.find(name))
    }

    /// Takes the items of those who leave out, and puts the staged ones in.
    fn commit(&mut self, leaving: &BTreeSet<ExtensionId>, removed: &mut RemovedItems, lost: &mut Vec<LostItem>) {
        let left = self.entries.extract_if(.., |_, entry| leaving.contains(&entry.owner));
        removed.extend(left.map(|(_, entry)| Box::new(entry.item) as Box<dyn Any + Send>));
        for (name, entry) in std::mem::take(&mut self.staged) {
            match self.entries.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(entry);
                }
                Entry::Occupied(taken) => {
                    lost.push(LostItem { owner: entry.owner, kind: self.kind, name: taken.key().clone() });
                    removed.push(Box::new(entry.item));
                }
            }
        }
    }

    fn take_staged(&mut self, owner: &ExtensionId, removed: &mut RemovedItems) {
        let taken = self.staged.extract_if(.., |_, entry| &entry.owner == owner);
        removed.extend(taken.map(|(_, entry)| Box::new(entry.item) as Box<dyn Any + Send>));
    }

    pub(crate) fn list(&self) -> Vec<Owned<T>> {
        let entries = self.entries.iter();
        entries.map(|(name, it)| Owned { owner: it.owner.clone(), name: name.clone(), item: it.item.clone() }).collect()
    }

    /// The first whose name matches.
    pub(crate) fn first(&self, matches: impl Fn(&str) -> bool) -> Option<Owned<T>> {
        let (name, it) = self.entries.iter().find(|(name, _)| matches(name))?;
        Some(Owned { owner: it.owner.clone(), name: name.clone(), item: it.item.clone() })
    }

    /// Who has a name that matches. For an extension that is about to start, those who leave have none.
    fn owner_of(
        &self,
        matches: impl Fn(&str) -> bool,
        leaving: Option<&BTreeSet<ExtensionId>>,
    ) -> Option<&ExtensionId> {
        let stays = |entry: &RegisteredItem<T>| !leaving.is_some_and(|ids| ids.contains(&entry.owner));
        let staged = self.staged.iter().filter(|_| leaving.is_some());
        let kept = self.entries.iter().filter(|(_, entry)| stays(entry));
        staged.chain(kept).find(|(name, _)| matches(name)).map(|(_, entry)| &entry.owner)
    }

    fn take(&mut self, matches: impl Fn(&ExtensionId, u64) -> bool, removed: &mut RemovedItems) {
        for table in [&mut self.entries, &mut self.staged] {
            let taken = table.extract_if(.., |_, entry| matches(&entry.owner, entry.ticket));
            removed.extend(taken.map(|(_, entry)| Box::new(entry.item) as Box<dyn Any + Send>));
        }
    }
}

/// A staged item whose name somebody took meanwhile.
pub(crate) struct LostItem {
    pub(crate) owner: ExtensionId,
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

impl Contributions {
    pub(crate) fn next_ticket(&mut self) -> u64 {
        self.last_ticket += 1;
        self.last_ticket
    }

    /// Refuses a route whose requests another one answers already, whichever kind that is and however its placeholders
    /// are called. An extension that is about to start may have the routes of those who leave.
    fn free_route(&self, name: &str, leaving: Option<&BTreeSet<ExtensionId>>) -> Result<(), HostError> {
        let wanted = route_shape(name);
        let same = |known: &str| route_shape(known) == wanted;
        let taken = self.served_routes.owner_of(same, leaving);
        let taken = taken.or_else(|| self.routes.owner_of(same, leaving));
        let taken = taken.or_else(|| self.raw_routes.owner_of(same, leaving));
        let (kind, name) = (ContributionKind::Route.word(), name.to_owned());
        taken.map_or(Ok(()), |by| Err(HostError::Taken { kind, name, by: by.clone() }))
    }

    /// Adds a route, unless its requests are answered already.
    pub(crate) fn add_route(
        &mut self,
        ticket: Ticket,
        owner: &ExtensionId,
        name: &str,
        route: Route,
    ) -> Result<(), Box<RefusedItem<Route>>> {
        match self.free_route(name, ticket.leaving.as_deref()) {
            Ok(()) => self.routes.add(ticket, owner, name, route),
            Err(error) => Err(Box::new(RefusedItem { error, _item: route })),
        }
    }

    /// The same for one that reads headers and bytes itself.
    pub(crate) fn add_raw_route(
        &mut self,
        ticket: Ticket,
        owner: &ExtensionId,
        name: &str,
        route: RawRoute,
    ) -> Result<(), Box<RefusedItem<RawRoute>>> {
        match self.free_route(name, ticket.leaving.as_deref()) {
            Ok(()) => self.raw_routes.add(ticket, owner, name, route),
            Err(error) => Err(Box::new(RefusedItem { error, _item: route })),
        }
    }

    pub(crate) fn take(&mut self, matches: impl Fn(&ExtensionId, u64) -> bool) -> RemovedItems {
        let mut removed = RemovedItems::new();
        self.tools.take(&matches, &mut removed);
        self.providers.take(&matches, &mut removed);
        self.auth.take(&matches, &mut removed);
        self.routes.take(&matches, &mut removed);
        self.raw_routes.take(&matches, &mut removed);
        self.served_routes.take(&matches, &mut removed);
        self.commands.take(&matches, &mut removed);
        self.jobs.take(&matches, &mut removed);
        self.services.take(&matches, &mut removed);
        self.migrations.take(&matches, &mut removed);
        removed
    }
}

impl Contributions {
    fn commit(&mut self, leaving: &BTreeSet<ExtensionId>, removed: &mut RemovedItems) -> Vec<LostItem> {
        let mut lost = Vec::new();
        self.tools.commit(leaving, removed, &mut lost);
        self.providers.commit(leaving, removed, &mut lost);
        self.auth.commit(leaving, removed, &mut lost);
        self.routes.commit(leaving, removed, &mut lost);
        self.raw_routes.commit(leaving, removed, &mut lost);
        self.served_routes.commit(leaving, removed, &mut lost);
        self.commands.commit(leaving, removed, &mut lost);
        self.jobs.commit(leaving, removed, &mut lost);
        self.services.commit(leaving, removed, &mut lost);
        self.migrations.commit(leaving, removed, &mut lost);
        lost
    }

    fn take_staged(&mut self, owner: &ExtensionId) -> RemovedItems {
        let mut removed = RemovedItems::new();
        self.tools.take_staged(owner, &mut removed);
        self.providers.take_staged(owner, &mut removed);
        self.auth.take_staged(owner, &mut removed);
        self.routes.take_staged(owner, &mut removed);
        self.raw_routes.take_staged(owner, &mut removed);
        self.served_routes.take_staged(owner, &mut removed);
        self.commands.take_staged(owner, &mut removed);
        self.jobs.take_staged(owner, &mut removed);
        self.services.take_staged(owner, &mut removed);
        self.migrations.take_staged(owner, &mut removed);
        removed
    }
}

impl Registry {
    pub(crate) fn new() -> Self {
        let contributions = Contributions {
            last_ticket: 0,
            tools: ContributionTable::new(ContributionKind::Tool.word()),
            providers: ContributionTable::new(ContributionKind::Provider.word()),
            auth: ContributionTable::new(ContributionKind::Auth.word()),
            routes: ContributionTable::new(ContributionKind::Route.word()),
            raw_routes: ContributionTable::new(ContributionKind::Route.word()),
            served_routes: ContributionTable::new(ContributionKind::Route.word()),
            commands: ContributionTable::new(ContributionKind::Command.word()),
            jobs: ContributionTable::new(ContributionKind::Job.word()),
            services: ContributionTable::new(ContributionKind::Service.word()),
            migrations: ContributionTable::new("migrations"),
        };
        Self { contributions: Mutex::new(contributions) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Contributions> {
        self.contributions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back one registration.
    pub(crate) fn remove_ticket(&self, ticket: u64) {
        let removed = self.lock().take(|_, its_ticket| its_ticket == ticket);
        drop_contained(removed);
    }

    /// Takes back what an extension registered that did not start after all.
    pub(crate) fn remove_staged(&self, extension: &ExtensionId) {
        let removed = self.lock().take_staged(extension);
        drop_contained(removed);
    }

    /// Puts what was staged in the place of what those who leave had, in one step. Answers what lost its name.
    /// The removed items are foreign code to drop.
    pub(crate) fn commit(&self, leaving: &BTreeSet<ExtensionId>) -> (Vec<LostItem>, RemovedItems) {
        let mut removed = RemovedItems::new();
        let lost = self.lock().commit(leaving, &mut removed);
        (lost, removed)
    }

    /// Takes back everything of one extension.
    pub(crate) fn remove_extension(&self, extension: &ExtensionId) {
        let removed = self.lock().take(|owner, _| owner == extension);
        drop_contained(removed);
    }
}

/// A route's name without the names of its placeholders.
fn route_shape(name: &str) -> String {
    let unnamed =
        |part: &str| if part.starts_with('{') && part.ends_with('}') { "{}".to_owned() } else { part.to_owned() };
    name.split('/').map(unnamed).collect::<Vec<_>>().join("/")
}

/// Whether the route of a name answers `method` at `path`. A placeholder stands for one part that is not empty.
pub(crate) fn route_answers(name: &str, method: &str, path: &str) -> bool {
    let Some((its_method, pattern)) = name.split_once(' ') else { return false };
    let is_placeholder = |part: &str| part.starts_with('{') && part.ends_with('}');
    let fits = |(wanted, given): (&str, &str)| wanted == given || is_placeholder(wanted) && !given.is_empty();
    its_method.eq_ignore_ascii_case(method)
        && pattern.split('/').count() == path.split('/').count()
        && pattern.split('/').zip(path.split('/')).all(fits)
}

pub(crate) fn drop_contained(removed: RemovedItems) {
    let _ = crate::bus::isolate::isolate_call(move || drop(removed));
}
