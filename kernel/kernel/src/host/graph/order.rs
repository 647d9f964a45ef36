//! The activation order: dependencies first, then lower tiers, otherwise by id. So what the core has, no extension from outside
//! takes before it.
//!
//! Whoever may use the database or the vault also starts after the core extension that provides it,
//! as far as that closes no circle; no manifest has to name the provider.

use dispatch_contracts::host::{SECRETS, STORAGE};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Manifest};
use std::collections::{BTreeMap, BTreeSet};

type DependencyEdges<'a> = BTreeMap<&'a ExtensionId, BTreeSet<&'a ExtensionId>>;

/// Orders manifests that have no cycle among their dependencies.
pub(super) fn topological<'a>(manifests: &'a [Manifest], starting: &BTreeMap<&'a ExtensionId, usize>) -> Vec<usize> {
    let mut needs: DependencyEdges<'a> = BTreeMap::new();
    for (id, at) in starting {
        let dependencies = manifests.get(*at).into_iter().flat_map(|manifest| &manifest.depends_on);
        needs.insert(id, dependencies.map(|it| &it.id).filter(|it| starting.contains_key(it)).collect());
    }
    add_providers(manifests, starting, &mut needs);
    let mut order = Vec::with_capacity(starting.len());
    let tier = |id: &ExtensionId| starting.get(id).and_then(|at| manifests.get(*at)).map(|manifest| manifest.tier);
    // Of those that are free, the first by tier and id.
    let first = |needs: &DependencyEdges<'a>| {
        let free = needs.iter().filter(|(_, open)| open.is_empty()).map(|(id, _)| *id);
        free.min_by_key(|id| (tier(id), *id))
    };
    while let Some(free) = first(&needs) {
        needs.remove(free);
        needs.values_mut().for_each(|open| {
            open.remove(free);
        });
        order.extend(starting.get(free));
    }
    order
}

fn add_providers<'a>(
    manifests: &'a [Manifest],
    starting: &BTreeMap<&'a ExtensionId, usize>,
    needs: &mut DependencyEdges<'a>,
) {
    for (capability, service) in [(Capability::Db, STORAGE.id()), (Capability::Secrets, SECRETS.id())] {
        let all = || starting.values().filter_map(|at| manifests.get(*at));
        for provider in all().filter(|it| it.contributes.services.iter().any(|id| id == service)) {
            for user in all().filter(|it| it.id != provider.id && it.capabilities.contains(&capability)) {
                if !reaches(needs, &provider.id, &user.id) {
                    needs.entry(&user.id).or_default().insert(&provider.id);
                }
            }
        }
    }
}

fn reaches(needs: &DependencyEdges<'_>, from: &ExtensionId, to: &ExtensionId) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(here) = waiting.pop() {
        if here == to {
            return true;
        }
        if seen.insert(here) {
            waiting.extend(needs.get(here).into_iter().flatten().copied());
        }
    }
    false
}
