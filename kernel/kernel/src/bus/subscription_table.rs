//! The table of subscriptions: plain data, changed under one lock that foreign code never runs in.

use super::Subscriber;
use super::dormant::Dormant;
use super::mailbox::{Mailbox, Recipient};
use dispatch_contracts::hook::{AnyHandler, EventHandler, FilterHandler};
use dispatch_contracts::ids::ExtensionId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// All subscriptions of one bus.
#[derive(Default)]
pub(super) struct SubscriptionTable {
    last_ticket: u64,
    /// The present generation of subscribers.
    pub(super) generation: u64,
    pub(super) events: BTreeMap<String, Vec<Arc<Mailbox>>>,
    pub(super) any: Vec<Arc<Mailbox>>,
    pub(super) filters: BTreeMap<String, Vec<Arc<FilterSubscription>>>,
    pub(super) dormant: BTreeMap<ExtensionId, Dormant>,
    pub(super) dropped: BTreeMap<ExtensionId, u64>,
    /// By hook: who guarded it once, and why it stays shut.
    pub(super) shut: BTreeMap<String, BTreeMap<ExtensionId, String>>,
}

/// One handler of a filter chain.
pub(super) struct FilterSubscription {
    ticket: u64,
    pub(super) subscriber: Subscriber,
    priority: i32,
    pub(super) handler: FilterHandler,
    closed: AtomicBool,
    /// The first generation that it is no longer part of.
    until: AtomicU64,
}

impl FilterSubscription {
    /// Whether it is part of a generation.
    pub(super) fn is_part_of(&self, generation: u64) -> bool {
        self.subscriber.generation <= generation && generation < self.until.load(Ordering::Acquire)
    }

    /// Whether only older generations have it.
    pub(super) fn is_retired(&self) -> bool {
        self.until.load(Ordering::Acquire) != u64::MAX
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn order(&self) -> (Reverse<i32>, u32, u64) {
        (Reverse(self.priority), self.subscriber.rank, self.ticket)
    }
}

/// What was taken out of the table. Its destructors are foreign code: close it outside the lock.
#[derive(Default)]
#[must_use]
pub(super) struct RemovedSubscriptions {
    mailboxes: Vec<Arc<Mailbox>>,
    links: Vec<Arc<FilterSubscription>>,
    dormant: Option<Dormant>,
}

impl RemovedSubscriptions {
    pub(super) fn close(self) {
        for link in &self.links {
            link.closed.store(true, Ordering::Release);
        }
        let waiting: Vec<_> = self.mailboxes.iter().map(|mailbox| mailbox.close()).collect();
        let _ = super::isolate::isolate_call(move || drop((waiting, self)));
    }
}

impl SubscriptionTable {
    pub(super) fn add_event(&mut self, subscriber: &Subscriber, hook: &str, handler: EventHandler) -> u64 {
        let ticket = self.next_ticket();
        let mailbox = Mailbox::new(ticket, subscriber.clone(), Recipient::Event(handler));
        self.events.entry(hook.to_owned()).or_default().push(Arc::new(mailbox));
        ticket
    }

    pub(super) fn add_any(&mut self, subscriber: &Subscriber, handler: AnyHandler) -> u64 {
        let ticket = self.next_ticket();
        self.any.push(Arc::new(Mailbox::new(ticket, subscriber.clone(), Recipient::Any(handler))));
        ticket
    }

    pub(super) fn add_filter(
        &mut self,
        subscriber: &Subscriber,
        hook: &str,
        priority: i32,
        handler: FilterHandler,
    ) -> u64 {
        let ticket = self.next_ticket();
        let link = FilterSubscription {
            ticket,
            subscriber: subscriber.clone(),
            priority,
            handler,
            closed: AtomicBool::new(false),
            until: AtomicU64::new(u64::MAX),
        };
        let links = self.filters.entry(hook.to_owned()).or_default();
        let at = links.partition_point(|other| other.order() < link.order());
        links.insert(at, Arc::new(link));
        ticket
    }

    /// The handlers of a filter in a generation.
    pub(super) fn links(&self, hook: &str, generation: u64) -> Vec<Arc<FilterSubscription>> {
        let links = self.filters.get(hook).into_iter().flatten();
        links.filter(|link| link.is_part_of(generation)).cloned().collect()
    }

    /// Begins the next generation, in which these extensions' subscriptions of this one have no part. Their filters stay
    /// in the table for whoever works with this generation still; nothing more is put into their mailboxes.
    pub(super) fn advance(&mut self, retired: &[ExtensionId]) -> RemovedSubscriptions {
        let present = self.generation;
        let leaves =
            |subscriber: &Subscriber| subscriber.generation <= present && retired.contains(&subscriber.extension);
        let mut removed = RemovedSubscriptions::default();
        for mailboxes in self.events.values_mut().chain(std::iter::once(&mut self.any)) {
            removed.mailboxes.extend(mailboxes.extract_if(.., |it| leaves(&it.subscriber)));
        }
        self.events.retain(|_, mailboxes| !mailboxes.is_empty());
        for link in self.filters.values().flatten().filter(|it| leaves(&it.subscriber) && !it.is_retired()) {
            link.until.store(present + 1, Ordering::Release);
            removed.links.push(Arc::clone(link));
        }
        self.generation += 1;
        removed
    }

    /// Takes retired filters out of the table.
    pub(super) fn forget(&mut self, retired: &RemovedSubscriptions) {
        let is_retired = |link: &Arc<FilterSubscription>| retired.links.iter().any(|it| Arc::ptr_eq(it, link));
        for links in self.filters.values_mut() {
            links.retain(|link| !is_retired(link));
        }
        self.filters.retain(|_, links| !links.is_empty());
    }

    /// Takes out what an extension subscribed to for the next generation.
    pub(super) fn remove_staged(&mut self, extension: &ExtensionId) -> RemovedSubscriptions {
        let present = self.generation;
        self.remove_where(|it, _| &it.extension == extension && it.generation > present)
    }

    pub(super) fn filters_of(&self, extension: &ExtensionId) -> BTreeSet<String> {
        let joined =
            |links: &Vec<Arc<FilterSubscription>>| links.iter().any(|link| &link.subscriber.extension == extension);
        self.filters.iter().filter(|(_, links)| joined(links)).map(|(hook, _)| hook.clone()).collect()
    }

    pub(super) fn remove_ticket(&mut self, ticket: u64) -> RemovedSubscriptions {
        self.remove_where(|_, its_ticket| its_ticket == ticket)
    }

    pub(super) fn remove_extension(&mut self, extension: &ExtensionId) -> RemovedSubscriptions {
        let mut removed = self.remove_where(|owner, _| &owner.extension == extension);
        removed.dormant = self.dormant.remove(extension);
        removed
    }

    fn remove_where(&mut self, matches: impl Fn(&Subscriber, u64) -> bool) -> RemovedSubscriptions {
        let mut removed = RemovedSubscriptions::default();
        for mailboxes in self.events.values_mut().chain(std::iter::once(&mut self.any)) {
            removed.mailboxes.extend(mailboxes.extract_if(.., |it| matches(&it.subscriber, it.ticket)));
        }
        for links in self.filters.values_mut() {
            removed.links.extend(links.extract_if(.., |it| matches(&it.subscriber, it.ticket)));
        }
        self.events.retain(|_, mailboxes| !mailboxes.is_empty());
        self.filters.retain(|_, links| !links.is_empty());
        removed
    }

    fn next_ticket(&mut self) -> u64 {
        self.last_ticket += 1;
        self.last_ticket
    }
}
