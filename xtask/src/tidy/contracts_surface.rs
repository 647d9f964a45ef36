//! The public surface of `dispatch-contracts` is on record: a change of it is seen, named and given a version.

use crate::checks::Check;
use crate::source::SourceTree;
use crate::violation::Violation;
use anyhow::{Context as _, Result, ensure};
use items::public_items;
use std::collections::BTreeSet;
use std::path::Path;

mod items;

/// Rule in full: the public items of `kernel/contracts/src` (with fields, variants, methods and implemented traits, as
/// they are written) are the lines of `kernel/contracts/surface.txt`, whose first line names the crate's version. A
/// difference is reported item by item; `cargo xtask surface --write` records a new surface once the version is raised.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "contracts-surface",
    rule: "The public items of dispatch-contracts are those recorded in kernel/contracts/surface.txt, for the version that it names.",
    why: "Extensions that are not in this repository compile against it: what changes for them is decided, not noticed.",
    run: check,
};

/// The recorded surface.
pub(crate) const FILE: &str = "kernel/contracts/surface.txt";
const FOLDER: &str = "kernel/contracts";
const HINT: &str =
    "if it is meant: raise the version in kernel/contracts/Cargo.toml, then `cargo xtask surface --write`";

fn check(tree: &SourceTree) -> Vec<Violation> {
    let Some(version) = version(tree) else { return Vec::new() };
    let Some(recorded) = tree.get(FILE) else {
        return vec![Violation::new(CHECK.name, FILE, "is missing", "run `cargo xtask surface --write`")];
    };
    let present = surface(tree);
    let before: BTreeSet<&str> = recorded.text.lines().skip(1).collect();
    let now: BTreeSet<&str> = present.iter().map(String::as_str).collect();
    let changed = |what: &str, item: &str| Violation::new(CHECK.name, FILE, format!("{what} `{item}`"), HINT);
    let removed = before.difference(&now).map(|item| changed("removed:", item));
    let added = now.difference(&before).map(|item| changed("added:", item));
    let mut found: Vec<_> = removed.chain(added).collect();
    if found.is_empty() && recorded.text.lines().next() != Some(&title(&version)) {
        let message = format!("was recorded for another version than {version}");
        found.push(Violation::new(CHECK.name, FILE, message, "run `cargo xtask surface --write`"));
    }
    found
}

/// Records the present surface. A surface that differs from the recorded one needs a version that differs too.
pub(crate) fn write(root: &Path, tree: &SourceTree) -> Result<()> {
    let version = version(tree).context("kernel/contracts/Cargo.toml has no version")?;
    let present = surface(tree);
    let recorded = tree.get(FILE).map(|file| file.text.as_str());
    let text = format!("{}\n{}\n", title(&version), present.join("\n"));
    let same_version = recorded.is_some_and(|text| text.lines().next() == Some(&title(&version)));
    ensure!(
        !same_version || recorded == Some(&text),
        "the surface of dispatch-contracts changed, but its version is still {version}\n  \
         hint: raise `version` in kernel/contracts/Cargo.toml first"
    );
    std::fs::write(root.join(FILE), text).with_context(|| format!("cannot write {FILE}"))?;
    println!("surface: {} items of dispatch-contracts {version}", present.len());
    Ok(())
}

fn title(version: &str) -> String {
    format!("# dispatch-contracts {version}")
}

fn version(tree: &SourceTree) -> Option<String> {
    let table: toml::Table = tree.get(&format!("{FOLDER}/Cargo.toml"))?.text.parse().ok()?;
    Some(table.get("package")?.get("version")?.as_str()?.to_owned())
}

fn surface(tree: &SourceTree) -> Vec<String> {
    let source = format!("{FOLDER}/src");
    let files = tree.rust().filter(|(file, _)| file.is_below(&source));
    let items: BTreeSet<String> = files
        .flat_map(|(file, rust)| {
            let module = module_of(&file.path[source.len() + 1..]);
            public_items(&rust.production).into_iter().map(move |item| format!("{module}: {item}"))
        })
        .collect();
    items.into_iter().collect()
}

fn module_of(path: &str) -> String {
    match path.trim_end_matches(".rs") {
        "lib" => "crate".to_owned(),
        path => path.replace('/', "::"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(version: &str, code: &str, recorded: Option<&str>) -> SourceTree {
        let manifest = format!("[package]\nname = \"dispatch-contracts\"\nversion = \"{version}\"\n");
        let mut files =
            vec![("kernel/contracts/Cargo.toml", manifest.as_str()), ("kernel/contracts/src/tool.rs", code)];
        files.extend(recorded.map(|text| (FILE, text)));
        SourceTree::of(&files)
    }

    fn messages(tree: &SourceTree) -> Vec<String> {
        check(tree).into_iter().map(|violation| violation.message).collect()
    }

    const CODE: &str = "pub struct Tool { pub name: String, secret: u8 }";
    const RECORD: &str = "# dispatch-contracts 0.2.0\ntool: Tool.name: String\ntool: struct Tool\n";

    #[test]
    fn the_recorded_surface_passes_and_each_change_is_named() {
        assert_eq!(messages(&tree("0.2.0", CODE, Some(RECORD))), [""; 0]);
        let changed = tree("0.2.0", "pub struct Tool { pub label: String }", Some(RECORD));
        assert_eq!(messages(&changed), ["removed: `tool: Tool.name: String`", "added: `tool: Tool.label: String`"]);
        assert_eq!(messages(&tree("0.3.0", CODE, Some(RECORD))), ["was recorded for another version than 0.3.0"]);
        assert_eq!(messages(&tree("0.2.0", CODE, None)), ["is missing"]);
        assert_eq!(messages(&SourceTree::default()), [""; 0]);
    }

    #[test]
    fn a_changed_surface_is_recorded_only_with_a_new_version() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join(FOLDER)).unwrap();
        write(root.path(), &tree("0.2.0", CODE, None)).unwrap();
        assert_eq!(std::fs::read_to_string(root.path().join(FILE)).unwrap(), RECORD);
        let more = "pub struct Tool { pub name: String }\npub struct More;";
        let refused = write(root.path(), &tree("0.2.0", more, Some(RECORD))).unwrap_err();
        assert!(refused.to_string().contains("still 0.2.0"), "{refused}");
        write(root.path(), &tree("0.3.0", more, Some(RECORD))).unwrap();
        assert!(std::fs::read_to_string(root.path().join(FILE)).unwrap().contains("tool: struct More\n"));
    }
}
