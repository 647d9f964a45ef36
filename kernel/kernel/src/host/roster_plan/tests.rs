//! What stops and what starts, for chosen changes and for any change.

use super::*;
use crate::host::manifest::parse_from;
use dispatch_contracts::manifest::Trust;
use proptest::prelude::*;
use serde_json::json;

fn manifest(id: &str, tier: &str, depends_on: &[String]) -> Manifest {
    let json = json!({
        "id": id, "name": id, "version": "1.0.0", "apiVersion": "*", "tier": tier, "dependsOn": depends_on,
    });
    parse_from(&json.to_string(), Trust::Bundled).unwrap()
}

fn standard(id: &str, depends_on: &[&str]) -> Manifest {
    manifest(id, "standard", &depends_on.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Manifests in the order they start in.
fn started(manifests: &[Manifest]) -> Vec<Manifest> {
    let plan = resolve(manifests).unwrap();
    plan.order.iter().map(|at| manifests[*at].clone()).collect()
}

fn planned(before: &[Manifest], after: &[Manifest], changed: &[&str]) -> (Vec<String>, Vec<String>) {
    let changed = changed.iter().map(|id| ExtensionId::new(*id)).collect();
    let plan = plan_roster_change(&started(before), after, &changed).unwrap();
    let words = |ids: Vec<ExtensionId>| ids.iter().map(ToString::to_string).collect();
    (words(plan.stop), words(plan.start))
}

fn lists(stop: &[&str], start: &[&str]) -> (Vec<String>, Vec<String>) {
    let words = |ids: &[&str]| ids.iter().map(ToString::to_string).collect();
    (words(stop), words(start))
}

#[test]
fn dependents_stop_first_and_start_last_and_others_are_left_alone() {
    let all = [standard("a", &[]), standard("b", &["a"]), standard("c", &["b"]), standard("z", &[])];
    assert_eq!(planned(&all, &all, &["a"]), lists(&["c", "b", "a"], &["a", "b", "c"]));
    assert_eq!(planned(&all, &all, &["c"]), lists(&["c"], &["c"]));
    assert_eq!(planned(&all, &all, &[]), lists(&[], &[]));
}

#[test]
fn what_comes_lets_others_start_and_what_goes_stops_them() {
    let (a, b) = (standard("a", &[]), standard("b", &["a"]));
    assert_eq!(planned(&[], &[b.clone(), a.clone()], &[]), lists(&[], &["a", "b"]));
    assert_eq!(planned(std::slice::from_ref(&a), &[a.clone(), b.clone()], &[]), lists(&[], &["b"]));
    assert_eq!(planned(&[a, b.clone()], &[b], &[]), lists(&["b", "a"], &[]));
}

#[test]
fn the_core_is_never_part_of_a_change() {
    let core = manifest("base", "core", &[]);
    let all = [core.clone(), standard("a", &["base"])];
    assert_eq!(planned(&all, &all, &["base"]), lists(&[], &[]));
    assert_eq!(planned(&all, &all, &["a", "base"]), lists(&["a"], &["a"]));
    assert_eq!(planned(&all, &[core], &[]), lists(&["a"], &[]));
}

const IDS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// A set of extensions; each needs some of those before it, so there is no circle.
fn any_set() -> impl Strategy<Value = Vec<Manifest>> {
    let one = (any::<bool>(), proptest::collection::vec(any::<bool>(), IDS.len()), 0..8_u8);
    proptest::collection::vec(one, IDS.len()).prop_map(|all| {
        let present = all.iter().zip(IDS).enumerate().filter(|(_, ((is_there, ..), _))| *is_there);
        present
            .map(|(at, ((_, needs, tier), id))| {
                let wanted = IDS.iter().take(at).zip(needs).filter(|(_, needed)| **needed).map(|(id, _)| id);
                // A core extension that needed something absent would end the start, which is not planned here.
                if *tier == 0 {
                    manifest(id, "core", &[])
                } else {
                    manifest(id, "standard", &wanted.map(ToString::to_string).collect::<Vec<_>>())
                }
            })
            .collect()
    })
}

fn position(ids: &[ExtensionId], id: &ExtensionId) -> Option<usize> {
    ids.iter().position(|known| known == id)
}

proptest! {
    #[test]
    fn any_plan_leads_from_before_to_after_in_order(
        before in any_set(),
        after in any_set(),
        picked in proptest::sample::subsequence(IDS.to_vec(), 0..IDS.len()),
    ) {
        let before = started(&before);
        let changed: BTreeSet<ExtensionId> = picked.into_iter().map(ExtensionId::new).collect();
        let plan = plan_roster_change(&before, &after, &changed).unwrap();
        let next: Vec<Manifest> = plan.after.order.iter().map(|at| after[*at].clone()).collect();
        let is_core = |id: &ExtensionId| before.iter().chain(&after).any(|it| it.id == *id && it.tier == Tier::Core);

        // Going by the plan leads to what is wanted; the core stays as it is.
        let mut running = ids(before.iter());
        running.retain(|id| !plan.stop.contains(id));
        running.extend(plan.start.iter().cloned());
        let (running, wanted): (BTreeSet<_>, BTreeSet<_>) =
            (running.into_iter().filter(|id| !is_core(id)).collect(),
             ids(next.iter()).into_iter().filter(|id| !is_core(id)).collect());
        prop_assert_eq!(running, wanted);
        prop_assert!(plan.stop.iter().chain(&plan.start).all(|id| !is_core(id)));

        // Nobody stops before those who need it, and nobody starts before what it needs.
        for manifest in &before {
            for dependency in &manifest.depends_on {
                if let (Some(of), Some(on)) = (position(&plan.stop, &manifest.id), position(&plan.stop, &dependency.id)) {
                    prop_assert!(of < on, "{} stops after {}", manifest.id, dependency.id);
                }
                // What runs on does not lose what it stands on.
                prop_assert!(
                    is_core(&manifest.id)
                        || position(&plan.stop, &dependency.id).is_none()
                        || position(&plan.stop, &manifest.id).is_some()
                );
            }
        }
        for manifest in &next {
            for dependency in &manifest.depends_on {
                if let (Some(of), Some(on)) = (position(&plan.start, &manifest.id), position(&plan.start, &dependency.id)) {
                    prop_assert!(of > on, "{} starts before {}", manifest.id, dependency.id);
                }
            }
        }
    }

    #[test]
    fn nothing_stops_without_a_reason(all in any_set()) {
        let before = started(&all);
        let plan = plan_roster_change(&before, &all, &BTreeSet::new()).unwrap();
        prop_assert!(plan.stop.is_empty() && plan.start.is_empty(), "{plan:?}");
    }
}
