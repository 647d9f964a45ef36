//! The table of edges: every pair of layers that matters, allowed and refused.

use super::*;
use crate::workspace::{ExtensionManifest, ManifestFacts};

fn workspace(from: &str, to: &str, kind: DependencyKind, depends_on: &[&str]) -> Workspace {
    let facts = ManifestFacts {
        id: id_of(from).to_owned(),
        tier: "core".to_owned(),
        depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
    };
    Workspace {
        members: vec![Member {
            name: "x".to_owned(),
            folder: from.to_owned(),
            imports: vec![Import { folder: to.to_owned(), kind, rename: None }],
        }],
        manifests: vec![ExtensionManifest { folder: from.to_owned(), facts: Ok(facts) }],
        ..Workspace::default()
    }
}

const KERNEL: &str = "kernel/kernel";
const CONTRACTS: &str = "kernel/contracts";
const OS: &str = "platform/os";
const REDACT: &str = "platform/redact";
const CORE: &str = "extensions/core/store";
const CORE_TWO: &str = "extensions/core/auth";
const STANDARD: &str = "extensions/standard/intents";
const STANDARD_TWO: &str = "extensions/standard/broker";
const APP: &str = "apps/dispatch";
const HOOK: &str = "apps/dispatch-hook";
const SUPPORT: &str = "testing/support";
const SIM: &str = "testing/sim";

#[test]
fn allowed_edges_pass() {
    use DependencyKind::{Build, Dev, Normal};
    let table: &[(&str, &str, DependencyKind, &[&str])] = &[
        (KERNEL, CONTRACTS, Normal, &[]),
        (KERNEL, SIM, Dev, &[]),
        (KERNEL, CONTRACTS, Dev, &[]),
        (OS, CONTRACTS, Normal, &[]),
        (OS, REDACT, Normal, &[]),
        (OS, SUPPORT, Dev, &[]),
        (OS, CORE, Dev, &[]),
        (CORE, KERNEL, Normal, &[]),
        (CORE, OS, Build, &[]),
        (CORE, CORE_TWO, Normal, &["auth"]),
        (CORE, STANDARD, Dev, &[]),
        (STANDARD, CORE, Normal, &["store"]),
        (STANDARD, STANDARD_TWO, Normal, &["x", "broker"]),
        (APP, STANDARD, Normal, &[]),
        (APP, KERNEL, Normal, &[]),
        (SUPPORT, APP, Normal, &[]),
        (SUPPORT, SIM, Normal, &[]),
        ("benches", APP, Dev, &[]),
        ("benches", SUPPORT, Normal, &[]),
        ("xtask", SUPPORT, Normal, &[]),
        ("xtask", STANDARD, Normal, &[]),
    ];
    for (from, to, kind, depends_on) in table {
        let found = check(&workspace(from, to, *kind, depends_on));
        assert_eq!(found, [], "{from} -> {to} ({kind})");
    }
}

#[test]
fn refused_edges_are_reported_with_the_rule() {
    use DependencyKind::{Build, Dev, Normal};
    let table: &[(&str, &str, DependencyKind, &[&str], &str)] = &[
        (KERNEL, OS, Normal, &[], "the kernel layer may import only kernel"),
        (KERNEL, OS, Build, &[], "the kernel layer may import only kernel"),
        (KERNEL, OS, Dev, &[], "only kernel and testing"),
        (KERNEL, SIM, Normal, &[], "only as a dev-dependency"),
        (OS, CORE, Normal, &[], "only kernel and platform"),
        (OS, SUPPORT, Build, &[], "only as a dev-dependency"),
        (CORE, CORE_TWO, Normal, &[], "names it in dependsOn"),
        (CORE, STANDARD, Normal, &["intents"], "never imports a standard one"),
        (STANDARD, CORE, Normal, &["auth"], "names it in dependsOn"),
        (STANDARD, APP, Normal, &[], "only testing, benches and examples import an app"),
        (STANDARD, APP, Dev, &[], "only testing, benches and examples import an app"),
        (APP, HOOK, Normal, &[], "only testing, benches and examples import an app"),
        (APP, SUPPORT, Normal, &[], "only as a dev-dependency"),
        (SUPPORT, "xtask", Dev, &[], "nobody imports xtask"),
        ("xtask", "benches", Normal, &[], "nobody imports benches"),
        (OS, "elsewhere/x", Normal, &[], "in no layer"),
        ("extensions/extra/x", CONTRACTS, Normal, &[], "in no layer"),
        ("tools/x", CONTRACTS, Normal, &[], "in no layer"),
    ];
    for (from, to, kind, depends_on, rule) in table {
        let found = check(&workspace(from, to, *kind, depends_on));
        assert_eq!(found.len(), 1, "{from} -> {to} ({kind})");
        assert!(found[0].message.contains(rule), "{from} -> {to} ({kind}): {}", found[0]);
        assert_eq!(found[0].place, *from);
    }
}

#[test]
fn the_message_says_who_imports_what_how_and_what_to_do() {
    let found = check(&workspace(KERNEL, OS, DependencyKind::Normal, &[]));
    assert_eq!(
        found[0].to_string(),
        "error[edges]: kernel/kernel: imports platform/os (normal dependency): the kernel layer may import only kernel\n  \
         hint: take what you need as a port in contracts/ports.rs"
    );
}

#[test]
fn a_renamed_import_is_refused() {
    let mut planted = workspace(APP, CORE, DependencyKind::Normal, &[]);
    planted.members[0].imports[0].rename = Some("hidden".to_owned());
    assert!(check(&planted)[0].message.contains("not as `hidden`"));
}

#[test]
fn an_unreadable_manifest_allows_nothing() {
    let mut planted = workspace(CORE, CORE_TWO, DependencyKind::Normal, &["auth"]);
    planted.manifests[0].facts = Err("broken".to_owned());
    assert_eq!(check(&planted).len(), 1);
}
