//! Decides what stops and what starts when the set of extensions changes.
//!
//! Pure.
//!
//! Whoever needs a changed extension, directly or by way of others, starts again with it. The core never changes while
//! the program runs, so it is never part of a plan.

#[cfg(test)]
mod tests;

use super::graph::{ActivationPlan, GraphProblem, resolve};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Manifest, Tier};
use std::collections::{BTreeMap, BTreeSet};

/// What a change does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RosterPlan {
    /// What stops, dependents first.
    pub stop: Vec<ExtensionId>,
    /// What starts, dependencies first.
    pub start: Vec<ExtensionId>,
    /// All extensions as they are afterwards.
    pub after: ActivationPlan,
}

/// Plans the way from the extensions of `before`, which are in the order they were started in, to those of `after`, of
/// which `changed` are others than before under the same id.
pub fn plan_roster_change(
    before: &[Manifest],
    after: &[Manifest],
    changed: &BTreeSet<ExtensionId>,
) -> Result<RosterPlan, Vec<GraphProblem>> {
    let plan = resolve(after)?;
    let next: Vec<&Manifest> = plan.order.iter().filter_map(|at| after.get(*at)).collect();
    let (was, is) = (ids(before.iter()), ids(next.iter().copied()));
    let mut touched: BTreeSet<ExtensionId> = was.symmetric_difference(&is).cloned().collect();
    touched.extend(changed.iter().cloned());
    let core = before.iter().chain(after).filter(|manifest| manifest.tier == Tier::Core);
    let core: BTreeSet<ExtensionId> = core.map(|manifest| manifest.id.clone()).collect();
    touched.retain(|id| !core.contains(id));
    spread(before.iter().chain(next.iter().copied()), &core, &mut touched);
    let listed = |manifests: Vec<&Manifest>| -> Vec<ExtensionId> {
        let touched = manifests.into_iter().filter(|manifest| touched.contains(&manifest.id));
        touched.map(|manifest| manifest.id.clone()).collect()
    };
    Ok(RosterPlan { stop: listed(before.iter().rev().collect()), start: listed(next), after: plan })
}

fn ids<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> BTreeSet<ExtensionId> {
    manifests.map(|manifest| manifest.id.clone()).collect()
}

/// Adds whoever needs something touched; one who can do without it has used it all the same.
fn spread<'a>(
    manifests: impl Iterator<Item = &'a Manifest>,
    core: &BTreeSet<ExtensionId>,
    touched: &mut BTreeSet<ExtensionId>,
) {
    let mut needed_by: BTreeMap<&ExtensionId, Vec<&ExtensionId>> = BTreeMap::new();
    for manifest in manifests.filter(|manifest| !core.contains(&manifest.id)) {
        for dependency in &manifest.depends_on {
            needed_by.entry(&dependency.id).or_default().push(&manifest.id);
        }
    }
    let mut open: Vec<ExtensionId> = touched.iter().cloned().collect();
    while let Some(id) = open.pop() {
        for dependent in needed_by.get(&id).into_iter().flatten() {
            if touched.insert((*dependent).clone()) {
                open.push((*dependent).clone());
            }
        }
    }
}
