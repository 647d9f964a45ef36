//! Finds the way from an extension along its dependencies.

use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Manifest;
use std::collections::{BTreeMap, VecDeque};

/// The shortest way from an extension back to itself, both ends included.
pub(super) fn cycle_through(
    start: &ExtensionId,
    manifests: &[Manifest],
    chosen: &BTreeMap<&ExtensionId, usize>,
) -> Option<Vec<ExtensionId>> {
    let mut came_from: BTreeMap<&ExtensionId, &ExtensionId> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(here) = waiting.pop_front() {
        let Some(manifest) = chosen.get(here).and_then(|at| manifests.get(*at)) else { continue };
        for next in manifest.depends_on.iter().map(|dependency| &dependency.id) {
            if next == start {
                return Some(walk_back(start, here, &came_from));
            }
            if let std::collections::btree_map::Entry::Vacant(unseen) = came_from.entry(next) {
                unseen.insert(here);
                waiting.push_back(next);
            }
        }
    }
    None
}

fn walk_back(
    start: &ExtensionId,
    last: &ExtensionId,
    came_from: &BTreeMap<&ExtensionId, &ExtensionId>,
) -> Vec<ExtensionId> {
    let mut path = vec![start.clone()];
    let mut here = last;
    while here != start {
        path.push(here.clone());
        let Some(before) = came_from.get(here) else { break };
        here = before;
    }
    path.push(start.clone());
    path.reverse();
    path
}
