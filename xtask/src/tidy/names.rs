//! Names that say nothing are refused: what has no subject collects everything.

use crate::checks::Check;
use crate::lexer::tokens;
use crate::source::SourceTree;
use crate::violation::Violation;
use std::collections::BTreeSet;

/// Rule in full: the last word of a Rust file, of a folder with code in it, of a module or of a
/// crate (`session_manager`, `cli-utils`) is none of the banned words; and there is no `mod.rs`.
/// The folder `extensions/core` is the name of a tier and is exempt.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "names",
    rule: "No file, folder, module or crate ends in core, common, util(s), helper(s), manager or misc, and no file is called mod.rs.",
    why: "A name without a subject collects whatever has no other place.",
    run: check,
};

const BANNED: &[&str] = &["core", "common", "util", "utils", "helper", "helpers", "manager", "misc"];
const EXEMPT_FOLDER: &str = "extensions/core";

fn check(tree: &SourceTree) -> Vec<Violation> {
    let mut found: BTreeSet<Violation> = BTreeSet::new();
    for file in &tree.files {
        if file.path.ends_with(".rs") {
            found.extend(check_path(&file.path));
            found.extend(check_modules(file));
        } else if file.name() == "Cargo.toml" {
            found.extend(check_crate(&file.path, &file.text));
        }
    }
    found.into_iter().collect()
}

fn is_banned(name: &str) -> bool {
    let last = name.rsplit(['_', '-']).next().unwrap_or(name);
    BANNED.contains(&last.to_ascii_lowercase().as_str())
}

fn violation(place: &str, what: &str, name: &str) -> Violation {
    Violation::new(
        CHECK.name,
        place,
        format!("the {what} name `{name}` says nothing about what is inside"),
        "name it after its one subject",
    )
}

fn check_path(path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (end, _) in path.match_indices('/') {
        let folder = &path[..end];
        let name = folder.rsplit('/').next().unwrap_or(folder);
        if is_banned(name) && folder != EXEMPT_FOLDER {
            found.push(violation(folder, "folder", name));
        }
    }
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.trim_end_matches(".rs");
    if stem == "mod" {
        found.push(Violation::new(CHECK.name, path, "is a mod.rs", "call it `<folder>.rs`, beside the folder"));
    } else if is_banned(stem) {
        found.push(violation(path, "file", file));
    }
    found
}

fn check_modules(file: &crate::source::SourceFile) -> Vec<Violation> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let found = tokens(&rust.code);
    let pairs = found.windows(2).filter(|pair| pair[0].text == "mod" && is_banned(pair[1].text));
    pairs.map(|pair| violation(&file.place(pair[1].offset), "module", pair[1].text)).collect()
}

fn check_crate(path: &str, text: &str) -> Option<Violation> {
    let table: toml::Table = text.parse().ok()?;
    let name = table.get("package")?.get("name")?.as_str()?;
    is_banned(name).then(|| violation(path, "crate", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&SourceTree::of(&[(path, text)])).len()
    }

    #[test]
    fn names_without_a_subject_are_reported() {
        let table = [
            ("a/src/utils.rs", "", 1),
            ("a/src/cli_util.rs", "", 1),
            ("a/src/session_manager.rs", "", 1),
            ("a/src/helpers/x.rs", "", 1),
            ("platform/core/src/lib.rs", "", 1),
            ("extensions/core/common/src/lib.rs", "", 1),
            ("a/src/x/mod.rs", "", 1),
            ("a/src/x.rs", "mod misc { }", 1),
            ("a/src/x.rs", "pub(crate) mod helper;", 1),
            ("a/Cargo.toml", "[package]\nname = \"dispatch-core\"", 1),
            ("extensions/core/store/src/lib.rs", "mod rows;", 0),
            ("a/src/manager_queue.rs", "// mod utils;", 0),
            ("a/src/encore.rs", "mod score;", 0),
            ("a/Cargo.toml", "[package]\nname = \"dispatch-os\"\n[dependencies]\nfutures-util = \"1\"", 0),
            ("docs/misc.md", "", 0),
        ];
        for (path, text, expected) in table {
            assert_eq!(found(path, text), expected, "{path}: {text}");
        }
    }
}
