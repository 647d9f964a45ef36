//! Which extensions start, in what order, and what is said of the others.

use super::*;
use crate::host::manifest::parse_from;
use dispatch_contracts::manifest::Trust;
use proptest::prelude::*;
use serde_json::{Value, json};

fn manifest(id: &str, tier: &str, depends_on: &[&str], more: Value) -> Manifest {
    let mut json = json!({
        "id": id, "name": id, "version": "1.0.0", "apiVersion": "^0.2", "tier": tier, "dependsOn": depends_on,
    });
    for (key, value) in more.as_object().unwrap() {
        json[key] = value.clone();
    }
    parse_from(&json.to_string(), Trust::Bundled).unwrap()
}

fn standard(id: &str, depends_on: &[&str]) -> Manifest {
    manifest(id, "standard", depends_on, json!({}))
}

fn names(manifests: &[Manifest], plan: &ActivationPlan) -> Vec<String> {
    plan.order.iter().map(|at| manifests[*at].id.to_string()).collect()
}

fn said(plan: &ActivationPlan, at: usize) -> String {
    plan.left_out[&at].iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn dependencies_come_first_and_ties_go_by_id() {
    let all = [standard("c", &["a"]), standard("b", &[]), standard("a", &["z"]), standard("z", &[])];
    assert_eq!(names(&all, &resolve(&all).unwrap()), ["b", "z", "a", "c"]);
}

#[test]
fn a_problem_leaves_out_its_extension_and_those_that_need_it() {
    let all = [standard("guard", &["intent"]), standard("intents", &[]), standard("panel", &["guard"])];
    let plan = resolve(&all).unwrap();
    assert_eq!(names(&all, &plan), ["intents"]);
    assert_eq!(said(&plan, 0), "needs `intent`, which is not installed; did you mean `intents`?");
    assert_eq!(said(&plan, 2), "needs `guard`, which was left out");
}

#[test]
fn an_optional_dependency_comes_first_if_it_is_there_and_is_not_missed() {
    let wants = |id: &str| manifest(id, "core", &[], json!({"dependsOn": [{"id": "store", "optional": true}]}));
    let alone = [wants("a")];
    assert_eq!(names(&alone, &resolve(&alone).unwrap()), ["a"]);
    let both = [wants("a"), manifest("store", "core", &[], json!({}))];
    assert_eq!(names(&both, &resolve(&both).unwrap()), ["store", "a"]);
    let broken = manifest("store", "standard", &["gone"], json!({}));
    let with_broken =
        [manifest("a", "standard", &[], json!({"dependsOn": [{"id": "store", "optional": true}]})), broken];
    assert_eq!(names(&with_broken, &resolve(&with_broken).unwrap()), ["a"]);
}

#[test]
fn versions_must_fit() {
    let old = manifest("old", "standard", &[], json!({"apiVersion": "^7"}));
    let picky = manifest("picky", "standard", &[], json!({"dependsOn": [{"id": "base", "version": ">=2"}]}));
    let plan = resolve(&[old, picky, standard("base", &[])]).unwrap();
    assert_eq!(said(&plan, 0), "was written for API ^7; this program speaks API 0.2.0");
    assert_eq!(said(&plan, 1), "needs `base` >=2, but 1.0.0 is installed");
}

#[test]
fn a_cycle_is_shown_as_a_path_and_the_rest_start() {
    let all = [
        standard("a", &["b"]),
        standard("b", &["c"]),
        standard("c", &["a"]),
        standard("d", &["a"]),
        standard("e", &[]),
    ];
    let plan = resolve(&all).unwrap();
    assert_eq!(names(&all, &plan), ["e"]);
    assert_eq!(said(&plan, 0), "depends on itself: a -> b -> c -> a");
    assert_eq!(said(&plan, 1), "depends on itself: b -> c -> a -> b");
    assert_eq!(said(&plan, 3), "needs `a`, which was left out");
}

#[test]
fn nobody_depends_on_a_higher_tier() {
    let core = manifest("store", "core", &["panel"], json!({}));
    let problems = resolve(&[core, standard("panel", &[])]).unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, ["extension `store` is of the core tier and may not depend on `panel` of the standard tier"]);
    let foreign = manifest("foreign", "external", &[], json!({}));
    let plan = resolve(&[standard("panel", &["foreign"]), foreign]).unwrap();
    assert_eq!(said_of(&plan), ["is of the standard tier and may not depend on `foreign` of the external tier"]);
}

fn said_of(plan: &ActivationPlan) -> Vec<String> {
    plan.left_out.keys().map(|at| said(plan, *at)).collect()
}

#[test]
fn a_problem_of_the_core_is_fatal_and_all_are_named() {
    let problems = resolve(&[
        manifest("store", "core", &["log"], json!({"apiVersion": "^9"})),
        manifest("turns", "core", &["store"], json!({})),
        standard("panel", &["nobody"]),
    ])
    .unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "extension `store` was written for API ^9; this program speaks API 0.2.0",
            "extension `store` needs `log`, which is not installed",
            "extension `turns` needs `store`, which was left out",
        ]
    );
}

#[test]
fn of_two_with_one_id_the_first_or_the_core_one_is_used() {
    let all = [standard("a", &[]), standard("a", &[])];
    let plan = resolve(&all).unwrap();
    assert_eq!(plan.order, [0]);
    assert_eq!(said(&plan, 1), "is installed twice; this copy is ignored");
    let all = [standard("a", &[]), manifest("a", "core", &[], json!({}))];
    assert_eq!(resolve(&all).unwrap().order, [1], "nothing displaces the core");
    let twice = manifest("a", "core", &[], json!({}));
    assert!(resolve(&[twice.clone(), twice]).is_err());
}

#[test]
fn whoever_uses_the_database_starts_after_the_one_who_provides_it() {
    let store = |more: Value| {
        let mut more = more;
        more["contributes"] = json!({"services": ["kernel/storage"]});
        manifest("storage-sqlite", "core", &[], more)
    };
    let user = manifest("event-ledger", "standard", &[], json!({"capabilities": ["db"]}));
    let all = [user.clone(), store(json!({}))];
    assert_eq!(names(&all, &resolve(&all).unwrap()), ["storage-sqlite", "event-ledger"]);
    let vault = manifest(
        "auth-vault",
        "core",
        &[],
        json!({"capabilities": ["db"], "contributes": {"services": ["kernel/secrets"]}}),
    );
    let all = [vault, store(json!({"capabilities": ["secrets"]})), user];
    let plan = resolve(&all).unwrap();
    assert_eq!(names(&all, &plan), ["storage-sqlite", "auth-vault", "event-ledger"], "a circle of wishes is cut");
}

/// Extensions that depend only on later ones, so that there is no cycle, in a shuffled order.
fn any_acyclic() -> impl Strategy<Value = (Vec<Manifest>, Vec<Manifest>)> {
    let edges = proptest::collection::vec(proptest::collection::vec(any::<bool>(), 12), 1..12);
    edges
        .prop_map(|rows| {
            let ids: Vec<String> = (0..rows.len()).map(|at| format!("e{}", (at * 7) % 12)).collect();
            let needed = |at: usize, row: &Vec<bool>| -> Vec<String> {
                ids.iter().zip(row).skip(at + 1).filter(|(_, edge)| **edge).map(|(id, _)| id.clone()).collect()
            };
            rows.iter()
                .enumerate()
                .map(|(at, row)| {
                    let needed = needed(at, row);
                    standard(&ids[at], &needed.iter().map(String::as_str).collect::<Vec<_>>())
                })
                .collect::<Vec<_>>()
        })
        .prop_flat_map(|manifests| (Just(manifests.clone()), Just(manifests).prop_shuffle()))
}

proptest! {
    #[test]
    fn the_order_is_topological_and_does_not_depend_on_the_input_order((given, shuffled) in any_acyclic()) {
        let order = names(&given, &resolve(&given).unwrap());
        prop_assert_eq!(order.len(), given.len());
        for manifest in &given {
            let place = |id: &str| order.iter().position(|it| it == id);
            for dependency in &manifest.depends_on {
                prop_assert!(place(dependency.id.as_str()) < place(manifest.id.as_str()));
            }
        }
        prop_assert_eq!(order, names(&shuffled, &resolve(&shuffled).unwrap()));
    }

    #[test]
    fn any_graph_is_planned_without_a_dangling_dependency(
        edges in proptest::collection::vec(proptest::collection::vec(0_usize..10, 0..4), 1..9)
    ) {
        let id = |at: usize| format!("e{at}");
        let all: Vec<Manifest> = edges.iter().enumerate().map(|(at, needed)| {
            let needed: std::collections::BTreeSet<String> = needed.iter().filter(|it| **it != at).map(|it| id(*it)).collect();
            standard(&id(at), &needed.iter().map(String::as_str).collect::<Vec<_>>())
        }).collect();
        let plan = resolve(&all).unwrap();
        prop_assert_eq!(plan.order.len() + plan.left_out.len(), all.len(), "each starts or is explained");
        let started = names(&all, &plan);
        for at in &plan.order {
            for dependency in &all[*at].depends_on {
                prop_assert!(started.contains(&dependency.id.to_string()));
            }
        }
    }
}
