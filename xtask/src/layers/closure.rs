//! What the kernel is built from: an allow-list with a reason per crate, and no native code.

use super::KERNEL_CLOSURE_FILE;
use crate::cargo::CrateVersion;
use crate::checks::Check;
use crate::violation::Violation;
use crate::workspace::{KernelClosure, Workspace};
use std::collections::BTreeSet;

/// The list is a text file: `name  reason` per line, `#` starts a comment. Crates after the line
/// `[features]` are allowed only in a build with optional features on.
pub(crate) const CHECK: Check<Workspace> = Check {
    name: "kernel-closure",
    rule: "Every crate that dispatch-contracts and dispatch-kernel are built from is in xtask/kernel-closure.txt with a reason, every crate in that list is used, and none of them links native code.",
    why: "The kernel touches no I/O, so nothing it is built from may bring some in unseen.",
    run: |workspace| check(&workspace.kernel),
};

#[derive(Default)]
struct AllowList {
    default: BTreeSet<String>,
    features: BTreeSet<String>,
    faults: Vec<Violation>,
}

fn check(kernel: &KernelClosure) -> Vec<Violation> {
    let mut list = parse(&kernel.allow_list);
    let mut found = std::mem::take(&mut list.faults);
    let default = names(&kernel.default);
    let all = names(&kernel.all_features);
    let unlisted = default.iter().filter(|name| !list.default.contains(**name));
    found.extend(unlisted.map(|name| not_listed(name, "")));
    let optional = all.difference(&default);
    let unlisted = optional.filter(|name| !list.default.contains(**name) && !list.features.contains(**name));
    found.extend(unlisted.map(|name| not_listed(name, " with all features on")));
    found.extend(list.default.iter().filter(|name| !default.contains(name.as_str())).map(|name| unused(name)));
    found.extend(list.features.iter().filter(|name| !all.contains(name.as_str())).map(|name| unused(name)));
    found.extend(kernel.native.iter().map(|(found, library)| links_native(found, library)));
    found
}

fn names(crates: &[CrateVersion]) -> BTreeSet<&str> {
    crates.iter().map(|found| found.name.as_str()).collect()
}

fn parse(text: &str) -> AllowList {
    let mut list = AllowList::default();
    let mut in_features = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "[features]" {
            in_features = true;
            continue;
        }
        let (name, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if reason.trim().is_empty() {
            list.faults.push(Violation::new(
                CHECK.name,
                format!("{KERNEL_CLOSURE_FILE}:{}", index + 1),
                format!("`{name}` has no reason"),
                "say after the name why the kernel may be built from it",
            ));
        }
        let section = if in_features { &mut list.features } else { &mut list.default };
        section.insert(name.to_owned());
    }
    list
}

fn not_listed(name: &str, when: &str) -> Violation {
    Violation::new(
        CHECK.name,
        "kernel",
        format!("is built from `{name}`{when}, which is not in {KERNEL_CLOSURE_FILE}"),
        format!(
            "do without it (`cargo tree -p dispatch-kernel -i {name}` shows who brings it in), or list it with a reason"
        ),
    )
}

fn unused(name: &str) -> Violation {
    Violation::new(
        CHECK.name,
        KERNEL_CLOSURE_FILE,
        format!("lists `{name}`, which the kernel is no longer built from"),
        "remove the line",
    )
}

fn links_native(found: &CrateVersion, library: &str) -> Violation {
    Violation::new(
        CHECK.name,
        "kernel",
        format!("is built from `{} {}`, which links the native library `{library}`", found.name, found.version),
        "use a crate that is Rust alone, or put the call behind a port",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates(names: &[&str]) -> Vec<CrateVersion> {
        let version = "1.0.0".to_owned();
        let new = |name: &&str| CrateVersion { name: (*name).to_owned(), version: version.clone() };
        names.iter().map(new).collect()
    }

    fn messages(default: &[&str], all: &[&str], allow_list: &str) -> Vec<String> {
        let kernel = KernelClosure {
            default: crates(default),
            all_features: crates(all),
            native: Vec::new(),
            allow_list: allow_list.to_owned(),
        };
        check(&kernel).into_iter().map(|it| it.message).collect()
    }

    const LIST: &str = "# comment\nserde  data\n\nslab  queues\n[features]\nschemars  schemas\n";

    #[test]
    fn a_listed_closure_passes() {
        assert!(messages(&["serde", "slab"], &["serde", "slab", "schemars"], LIST).is_empty());
    }

    #[test]
    fn planted_faults_are_reported() {
        let table: &[(&[&str], &[&str], &str)] = &[
            (&["serde", "slab", "tokio"], &["serde", "slab", "tokio", "schemars"], "built from `tokio`, which"),
            (&["serde", "slab"], &["serde", "slab", "schemars", "regex"], "built from `regex` with all features"),
            (&["serde", "slab", "schemars"], &["serde", "slab", "schemars"], "built from `schemars`, which"),
            (&["serde"], &["serde", "slab", "schemars"], "lists `slab`"),
            (&["serde", "slab"], &["serde", "slab"], "lists `schemars`"),
        ];
        for (default, all, expected) in table {
            let found = messages(default, all, LIST);
            assert_eq!(found.len(), 1, "{expected}: {found:?}");
            assert!(found[0].contains(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_crate_without_a_reason_is_reported() {
        assert_eq!(messages(&["serde"], &["serde"], "serde  \n"), ["`serde` has no reason"]);
    }

    #[test]
    fn native_code_is_reported() {
        let kernel = KernelClosure {
            native: vec![(crates(&["zlib-sys"]).remove(0), "z".to_owned())],
            ..KernelClosure::default()
        };
        let found = check(&kernel);
        assert!(found[0].message.contains("links the native library `z`"), "{found:?}");
    }
}
