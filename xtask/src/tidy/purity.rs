//! A textual second line of defence for the pure kernel, beside the lints in kernel/clippy.toml.

use crate::checks::Check;
use crate::lexer::{Token, closing, tokens};
use crate::source::{SourceFile, SourceTree};
use crate::violation::Violation;
use std::ops::Range;

/// Rule in full: no file in `kernel/*/src`, tests included, may name one of these outside comments
/// and literals, also not inside a group (`use std::{fs, io}`); `std` may be neither renamed nor
/// imported whole; a kernel crate has no build script. An exported macro may embed files, because it
/// does so in the crate that calls it; then no kernel source may call it.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "kernel-purity",
    rule: "No kernel source names files, sockets, processes, the environment, threads, clocks, randomly ordered maps or embedded files, and no kernel crate has a build script.",
    why: "What the kernel decides depends on its arguments alone, so it can be simulated and replayed.",
    run: check,
};

const MODULES: &[(&str, &str)] = &[
    ("env", "take the value as an argument or a setting"),
    ("fs", "take a Storage port from contracts"),
    ("net", "take a Provider or a service from contracts"),
    ("os", "put the call in platform/os behind a port"),
    ("process", "put the call in platform/os behind a port"),
    ("thread", "take the Spawner port from contracts"),
];

const WORDS: &[(&str, &str)] = &[
    ("HashMap", "use BTreeMap or IndexMap: the iteration order of HashMap is random"),
    ("HashSet", "use BTreeSet or IndexSet: the iteration order of HashSet is random"),
    ("Instant", "take the Clock port and use monotonic_ms"),
    ("RandomState", "take the Ids port, or use an ordered map"),
    ("SystemTime", "take the Clock port and use now_ms"),
    ("include_bytes", "take the bytes as an argument"),
    ("include_str", "take the text as an argument"),
];

// Of the words: what an exported macro may do in the crate that calls it.
const EMBEDDING: &[&str] = &["include_bytes", "include_str"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let scripts = tree.files.iter().filter(|file| {
        file.path.starts_with("kernel/") && file.name() == "build.rs" && file.path.matches('/').count() == 2
    });
    let scripts = scripts.map(|file| {
        Violation::new(
            CHECK.name,
            &file.path,
            "is a build script",
            "generate the file with `cargo xtask schemas --write`",
        )
    });
    let sources = || tree.files.iter().filter(|file| is_kernel_source(&file.path));
    let embedding: Vec<&str> = sources().flat_map(embedding_macros).collect();
    scripts.chain(sources().flat_map(|file| check_file(file, &embedding))).collect()
}

fn is_kernel_source(path: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    matches!(parts.as_slice(), ["kernel", _, "src", ..])
}

fn check_file(file: &SourceFile, embedding: &[&str]) -> Vec<Violation> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let found = tokens(&rust.code);
    let exported = exported_macros(&found);
    let mut violations = Vec::new();
    for (index, token) in found.iter().enumerate() {
        let in_exported = || exported.iter().any(|body| body.contains(&index));
        if let Some((word, hint)) = WORDS.iter().find(|(word, _)| *word == token.text)
            && !(EMBEDDING.contains(word) && in_exported())
        {
            violations.push(named(file, token, word, hint));
        }
        if embedding.contains(&token.text) && found.get(index + 1).is_some_and(|next| next.text == "!") {
            let hint = "it embeds files of the crate that calls it: call it in an extension";
            violations.push(named(file, token, &format!("{}!", token.text), hint));
        }
        if token.text == "std" {
            violations.extend(check_std(file, &found, index));
        }
    }
    violations
}

// The names of the exported macros of a file that embed files.
fn embedding_macros(file: &SourceFile) -> Vec<&str> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let found = tokens(&rust.code);
    let bodies = exported_macros(&found).into_iter();
    let embedding = bodies.filter(|body| found[body.clone()].iter().any(|token| EMBEDDING.contains(&token.text)));
    embedding.map(|body| found[body.start].text).collect()
}

// The token ranges of `#[macro_export] macro_rules!`, from the name to the end of the body.
fn exported_macros(found: &[Token<'_>]) -> Vec<Range<usize>> {
    let opening = ["macro_export", "]", "macro_rules", "!"];
    let starts = found.windows(opening.len()).enumerate();
    let starts = starts.filter(|(_, window)| window.iter().map(|token| token.text).eq(opening));
    let names = starts.map(|(start, _)| start + opening.len()).filter(|name| name + 1 < found.len());
    names.map(|name| name..closing(found, name + 1)).collect()
}

fn named(file: &SourceFile, token: &Token<'_>, what: &str, hint: &str) -> Violation {
    Violation::new(CHECK.name, file.place(token.offset), format!("names `{what}`: the kernel is pure"), hint)
}

fn check_std(file: &SourceFile, found: &[Token<'_>], at: usize) -> Vec<Violation> {
    let text = |index: usize| found.get(index).map_or("", |token| token.text);
    let token = &found[at];
    match (text(at + 1), text(at + 2)) {
        ("as", _) => vec![named(file, token, "std as", "import `std` paths under their own names")],
        ("::", "*") => vec![named(file, token, "std::*", "import what you need by name")],
        ("::", "{") => {
            let end = closing(found, at + 2);
            let firsts = group_firsts(&found[at + 3..end.max(at + 3)]);
            firsts.into_iter().flat_map(|name| check_module(file, token, name)).collect()
        }
        ("::", name) => check_module(file, token, name).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn check_module(file: &SourceFile, token: &Token<'_>, name: &str) -> Option<Violation> {
    if matches!(name, "self" | "*") {
        return Some(named(file, token, "std::{self}", "import what you need by name"));
    }
    let (module, hint) = MODULES.iter().find(|(module, _)| *module == name)?;
    Some(named(file, token, &format!("std::{module}"), hint))
}

// The first word of every entry of a use group, at the group's own depth.
fn group_firsts<'a>(body: &[Token<'a>]) -> Vec<&'a str> {
    let mut firsts = Vec::new();
    let mut depth = 0_usize;
    let mut expecting = true;
    for token in body {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => expecting = true,
            text if expecting && depth == 0 => {
                firsts.push(text);
                expecting = false;
            }
            _ => {}
        }
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Violation> {
        check(&SourceTree::of(&[(path, text)]))
    }

    const LIB: &str = "kernel/kernel/src/bus.rs";

    #[test]
    fn pure_code_passes() {
        for text in [
            "use std::collections::BTreeMap;\nuse std::{fmt, sync::{Arc, Mutex}};",
            "//! std::fs is banned\nlet s = \"std::fs::read\"; /* SystemTime */",
            "use std::time::Duration;",
            "fn instant() {} struct InstantReply; mod fs {} use crate::fs;",
            "use std::collections::{btree_map, VecDeque};",
        ] {
            assert_eq!(found(LIB, text), [], "{text}");
        }
    }

    #[test]
    fn planted_effects_are_reported() {
        let table = [
            ("fn f() { std::fs::read(p) }", "std::fs"),
            ("use std::{fmt, fs::File};", "std::fs"),
            ("use std::{fmt, collections::{BTreeMap}, net};", "std::net"),
            ("use ::std::process::Command;", "std::process"),
            ("use std :: env;", "std::env"),
            ("use std::thread;", "std::thread"),
            ("use std::os::unix;", "std::os"),
            ("use std as s;", "std as"),
            ("use std::*;", "std::*"),
            ("use std::{self};", "std::{self}"),
            ("use std::time::SystemTime;", "SystemTime"),
            ("use std::time::{Duration, Instant};", "Instant"),
            ("use std::collections::HashMap;", "HashMap"),
            ("const B: &[u8] = include_bytes!(\"x\");", "include_bytes"),
            ("#[cfg(test)] mod tests { use std::fs; }", "std::fs"),
        ];
        for (text, what) in table {
            let violations = found(LIB, text);
            assert_eq!(violations.len(), 1, "{text}: {violations:?}");
            assert!(violations[0].message.contains(&format!("`{what}`")), "{text}: {violations:?}");
        }
        assert_eq!(found(LIB, "\n\nuse std::fs;")[0].place, "kernel/kernel/src/bus.rs:3");
    }

    #[test]
    fn an_exported_macro_may_embed_files_of_its_callers_and_has_none_in_the_kernel() {
        let exported = "#[macro_export] macro_rules! texts { () => { include_str!(\"x\") } }";
        assert_eq!(found(LIB, exported), []);
        for (text, what) in [
            ("macro_rules! texts { () => { include_str!(\"x\") } }", "include_str"),
            ("#[macro_export] macro_rules! texts { () => { std::fs::read(\"x\") } }", "std::fs"),
            ("#[macro_export] macro_rules! texts { () => {} } const A: &str = include_str!(\"x\");", "include_str"),
        ] {
            let violations = found(LIB, text);
            assert_eq!(violations.len(), 1, "{text}: {violations:?}");
            assert!(violations[0].message.contains(&format!("`{what}`")), "{text}: {violations:?}");
        }
        let caller = ("kernel/contracts/src/caller.rs", "const A: &str = dispatch_contracts::texts!();");
        let violations = check(&SourceTree::of(&[(LIB, exported), caller]));
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert!(violations[0].message.contains("`texts!`"), "{violations:?}");
    }

    #[test]
    fn only_the_kernel_sources_are_pure() {
        assert_eq!(found("platform/os/src/lib.rs", "use std::fs;"), []);
        assert_eq!(found("kernel/kernel/tests/it.rs", "use std::fs;"), []);
        assert_eq!(found("kernel/kernel/build.rs", "fn main() {}").len(), 1);
    }
}
