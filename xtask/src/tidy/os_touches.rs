//! Only `platform/os` touches the operating system: clippy bans it per layer, and this counts who lifts the ban.

use crate::checks::Check;
use crate::lexer::{attributes, paths, tokens};
use crate::source::{RustSource, SourceFile, SourceTree};
use crate::violation::Violation;
use std::collections::BTreeMap;

/// Rule in full: production code of platform (but `platform/os`), extensions and apps names none of the modules and
/// types below and lifts neither `clippy::disallowed_methods` nor `clippy::disallowed_types`, unless
/// `xtask/os-touches.txt` names the file with a reason. Lifting them for tests (`cfg_attr(test, ..)`) is free. The
/// clippy.toml of these layers ban the same, and methods such as `Path::exists` too; they are one text.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "os-touches",
    rule: "Production code of platform (but platform/os), extensions and apps reaches files, processes, sockets, threads, the environment and clocks through dispatch-os, unless xtask/os-touches.txt names the file with a reason.",
    why: "What differs between systems, and what a sandbox or a limit has to cover, stands in one place.",
    run: check,
};

const ALLOWED_FILE: &str = "xtask/os-touches.txt";
const LAYERS: &[&str] = &["platform/", "extensions/", "apps/"];
const HOME: &str = "platform/os/";
/// The modules of `std` that touch the operating system, with what to use instead.
pub(super) const SYSTEM_MODULES: &[(&str, &str)] = &[
    ("env", "dispatch_os::environment"),
    ("fs", "dispatch_os::files"),
    ("net", "dispatch_os"),
    ("os", "dispatch_os"),
    ("process", "dispatch_os"),
    ("thread", "dispatch_os::threads"),
];
/// The types of `std::time` that read a clock.
pub(super) const CLOCKS: &[&str] = &["Instant", "SystemTime"];
const LINTS: &[&str] = &["disallowed_methods", "disallowed_types"];
const BANS: &[&str] = &["apps/clippy.toml", "extensions/clippy.toml", "platform/clippy.toml"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let mut allowed = allowed(tree);
    let mut found = Vec::new();
    for (file, rust) in tree.rust().filter(|(file, _)| is_checked(&file.path)) {
        let touches = touches(file, rust);
        match allowed.get_mut(file.path.as_str()) {
            Some(used) => *used = *used || !touches.is_empty(),
            None => found.extend(touches),
        }
    }
    found.extend(allowed.into_iter().filter(|(_, used)| !used).map(|(path, _)| {
        Violation::new(CHECK.name, ALLOWED_FILE, format!("allows {path}, which needs no leave"), "delete the line")
    }));
    found.extend(bans_differ(tree));
    found
}

fn is_checked(path: &str) -> bool {
    LAYERS.iter().any(|layer| path.starts_with(layer)) && !path.starts_with(HOME) && path.contains("/src/")
}

// `path  reason`; a line without a reason allows nothing.
fn allowed(tree: &SourceTree) -> BTreeMap<&str, bool> {
    let lines = tree.get(ALLOWED_FILE).map_or("", |file| file.text.as_str()).lines();
    let lines = lines.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once("  "));
    lines.filter(|(_, reason)| !reason.trim().is_empty()).map(|(path, _)| (path, false)).collect()
}

fn touches(file: &SourceFile, rust: &RustSource) -> Vec<Violation> {
    let found = tokens(&rust.production);
    let named = paths(&found).into_iter().filter_map(|path| match path.parts.as_slice() {
        // Values, not effects.
        ["std", "process", "ExitCode" | "ExitStatus", ..] => None,
        ["std", "net", "IpAddr" | "Ipv4Addr" | "Ipv6Addr" | "SocketAddr", ..] => None,
        ["std", "env", "VarError" | "consts", ..] => None,
        ["std", "time", clock, ..] if CLOCKS.contains(clock) => {
            Some((path.offset, format!("std::time::{clock}"), "dispatch_os::time"))
        }
        ["std", module, ..] => {
            let (module, instead) = SYSTEM_MODULES.iter().find(|(name, _)| name == module)?;
            Some((path.offset, format!("std::{module}"), *instead))
        }
        _ => None,
    });
    let mut violations: Vec<_> = named
        .map(|(offset, what, instead)| {
            let hint = format!("use `{instead}`, or name the file in {ALLOWED_FILE} with a reason");
            Violation::new(CHECK.name, file.place(offset), format!("names `{what}` outside of platform/os"), hint)
        })
        .collect();
    for attribute in attributes(&found) {
        let body = &found[attribute.body.clone()];
        let lint = body.iter().find(|token| LINTS.contains(&token.text));
        let lifts = body.first().is_some_and(|token| matches!(token.text, "allow" | "expect"));
        violations.extend(lint.filter(|_| lifts).map(|token| {
            let message = format!("lifts `clippy::{}` outside of platform/os", token.text);
            Violation::new(CHECK.name, file.place(token.offset), message, "go through dispatch-os instead")
        }));
    }
    violations
}

fn bans_differ(tree: &SourceTree) -> Vec<Violation> {
    let texts: Vec<_> = BANS.iter().filter_map(|path| tree.get(path)).collect();
    let Some((first, others)) = texts.split_first() else { return Vec::new() };
    let differ = others.iter().filter(|other| other.text != first.text);
    differ
        .map(|other| {
            let message = format!("differs from {}", first.path);
            Violation::new(CHECK.name, &other.path, message, "copy it: the layers share one list of bans")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "extensions/standard/x/src/a.rs";

    fn messages(path: &str, text: &str, allowed: &str) -> Vec<String> {
        check(&SourceTree::of(&[(path, text), (ALLOWED_FILE, allowed)])).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn touching_the_system_outside_of_its_crate_is_reported() {
        let table = [
            ("use std::fs;", "names `std::fs` outside of platform/os"),
            ("use std::{fmt, process::Command};", "names `std::process` outside of platform/os"),
            ("fn f() { std::env::var(x) }", "names `std::env` outside of platform/os"),
            ("use std::time::Instant;", "names `std::time::Instant` outside of platform/os"),
            (
                "#![allow(clippy::disallowed_methods, reason = \"\")]",
                "lifts `clippy::disallowed_methods` outside of platform/os",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(messages(FILE, text, ""), [expected], "{text}");
        }
    }

    #[test]
    fn tests_values_and_the_crate_for_it_are_free() {
        for text in [
            "use std::process::ExitCode;",
            "use std::net::IpAddr;",
            "use std::time::Duration;",
            "#[cfg(test)]\nmod tests { use std::fs; }",
            "#![cfg_attr(test, allow(clippy::disallowed_methods, reason = \"tests\"))]",
        ] {
            assert_eq!(messages(FILE, text, ""), [""; 0], "{text}");
        }
        for path in
            ["platform/os/src/a.rs", "kernel/kernel/src/a.rs", "testing/it/tests/a.rs", "apps/dispatch/tests/a.rs"]
        {
            assert_eq!(messages(path, "use std::fs;", ""), [""; 0], "{path}");
        }
    }

    #[test]
    fn an_exception_needs_a_reason_and_a_use() {
        let line = format!("{FILE}  opens the database file\n");
        assert_eq!(messages(FILE, "use std::fs;", &line), [""; 0]);
        assert_eq!(messages(FILE, "use std::fs;", &format!("{FILE}\n")).len(), 1);
        assert_eq!(messages(FILE, "", &line), [format!("allows {FILE}, which needs no leave")]);
    }

    #[test]
    fn the_layers_share_one_list_of_bans() {
        let tree = SourceTree::of(&[("apps/clippy.toml", "a = 1\n"), ("extensions/clippy.toml", "a = 2\n")]);
        assert_eq!(check(&tree)[0].message, "differs from apps/clippy.toml");
    }
}
