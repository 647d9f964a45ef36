//! Files that hold decisions say so, and reach no effect: not directly, and not through what they import.

use super::os_touches::{CLOCKS, SYSTEM_MODULES};
use crate::checks::Check;
use crate::lexer::{paths, tokens};
use crate::source::{RustSource, SourceFile, SourceTree};
use crate::violation::Violation;
use modules::Modules;
use std::collections::{BTreeMap, BTreeSet};

mod modules;

/// Rule in full: a file with the line `//! Pure.` in its header names no effect in production code, and neither does any
/// file of this repository that it imports, or that those import. Effects are the modules of `std` and the crates listed
/// here. Imports are followed through `pub use`. Kernel crates are pure by rules of their own. Every bundled extension
/// has at least one such file.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "pure-files",
    rule: "A file marked `//! Pure.` names no file, socket, process, environment, thread or clock, and imports no file that does; every extension has at least one.",
    why: "A decision that depends on its arguments alone is tested with a table, without a stand-in.",
    run: check,
};

const MARK: &str = "//! Pure.";
const CRATE_EFFECTS: &[&str] = &[
    "axum",
    "hyper",
    "hyper_util",
    "libc",
    "notify",
    "reqwest",
    "rmcp",
    "rquickjs",
    "rusqlite",
    "rustix",
    "rustyline",
    "tokio",
    "tungstenite",
];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let modules = Modules::of(tree);
    let marked: Vec<_> = tree.rust().filter(|(file, _)| is_marked(&file.text)).collect();
    let mut found: Vec<_> = marked.iter().filter_map(|(file, _)| reached_effect(&modules, file)).collect();
    for folder in tree.extension_folders() {
        if !marked.iter().any(|(file, _)| file.is_below(folder)) {
            let hint = format!("move a decision into a file of its own and write `{MARK}` into its header");
            found.push(Violation::new(CHECK.name, folder, "has no file that is marked pure", hint));
        }
    }
    found
}

fn is_marked(text: &str) -> bool {
    text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.trim_end() == MARK)
}

// Goes through the imports, nearest first, so that the shortest way to an effect is shown.
fn reached_effect(modules: &Modules<'_>, start: &SourceFile) -> Option<Violation> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut seen: BTreeSet<&str> = [start.path.as_str()].into();
    let mut waiting: std::collections::VecDeque<&str> = [start.path.as_str()].into();
    while let Some(path) = waiting.pop_front() {
        let (file, rust) = modules.file(path)?;
        if let Some((offset, effect)) = own_effect(rust) {
            return Some(violation(start, &file.place(offset), &effect, &way(&from, path)));
        }
        for next in modules.imports(path) {
            if seen.insert(next) {
                from.insert(next, path);
                waiting.push_back(next);
            }
        }
    }
    None
}

fn own_effect(rust: &RustSource) -> Option<(usize, String)> {
    let found = tokens(&rust.production);
    paths(&found).into_iter().find_map(|path| {
        let effect = match path.parts.as_slice() {
            // The exit status is a value; setting it is what `main` does with it.
            ["std", "process", "ExitCode" | "ExitStatus", ..] => return None,
            ["std", "time", clock, ..] | [clock, "now"] if CLOCKS.contains(clock) => (*clock).to_owned(),
            ["std", module, ..] if SYSTEM_MODULES.iter().any(|(name, _)| name == module) => format!("std::{module}"),
            [first, ..] if CRATE_EFFECTS.contains(first) => (*first).to_owned(),
            _ => return None,
        };
        Some((path.offset, effect))
    })
}

fn way(from: &BTreeMap<&str, &str>, end: &str) -> String {
    let mut steps = vec![end];
    while let Some(before) = steps.last().and_then(|step| from.get(step)) {
        steps.push(before);
    }
    steps.reverse();
    steps.join(" -> ")
}

fn violation(start: &SourceFile, place: &str, effect: &str, way: &str) -> Violation {
    let message = if place.starts_with(&format!("{}:", start.path)) {
        format!("is marked pure and names `{effect}` ({place})")
    } else {
        format!("is marked pure and reaches `{effect}` at {place} ({way})")
    };
    Violation::new(CHECK.name, &start.path, message, "take the value as an argument, or remove the mark")
}

#[cfg(test)]
mod tests;
