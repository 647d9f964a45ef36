//! Which file a path leads to: modules by their place on disk, items through `pub use`.

use crate::lexer::{UsePath, paths, tokens};
use crate::source::{RustSource, SourceFile, SourceTree};
use std::collections::{BTreeMap, BTreeSet};

// A circle of `pub use` would not compile; the limit is for code that does not.
const MAX_REEXPORTS: usize = 16;

/// The Rust files of the repository and what each of them names.
pub(super) struct Modules<'t> {
    files: BTreeMap<&'t str, (&'t SourceFile, &'t RustSource, Vec<UsePath<'t>>)>,
    /// Crate name as it stands in a path, and its `src` folder.
    crates: BTreeMap<String, String>,
}

impl<'t> Modules<'t> {
    /// Reads the production code of every file.
    pub(super) fn of(tree: &'t SourceTree) -> Self {
        let files =
            tree.rust().map(|(file, rust)| (file.path.as_str(), (file, rust, paths(&tokens(&rust.production)))));
        let crates = tree.crate_folders().into_iter().filter_map(|folder| {
            let id = folder.rsplit('/').next()?.replace('-', "_");
            let name = if folder.starts_with("extensions/") { format!("ext_{id}") } else { format!("dispatch_{id}") };
            Some((name, format!("{folder}/src")))
        });
        Self { files: files.collect(), crates: crates.collect() }
    }

    pub(super) fn file(&self, path: &str) -> Option<(&'t SourceFile, &'t RustSource)> {
        self.files.get(path).map(|(file, rust, _)| (*file, *rust))
    }

    /// The files that a file imports from, kernel crates left out: those are pure by rules of their own.
    pub(super) fn imports(&self, path: &str) -> BTreeSet<&'t str> {
        let Some((_, _, named)) = self.files.get(path) else { return BTreeSet::new() };
        let found = named.iter().filter_map(|named| self.resolve(path, &named.parts, 0));
        found.filter(|found| *found != path && !found.starts_with("kernel/")).collect()
    }

    /// The file in which the item at the end of a path is declared.
    fn resolve(&self, from: &str, parts: &[&str], depth: usize) -> Option<&'t str> {
        let (first, rest) = parts.split_first()?;
        let mut at = match *first {
            "crate" => self.root(from)?,
            "self" => self.known(from)?,
            "super" => self.parent(from)?,
            name => match self.crates.get(name) {
                Some(source) => self.known(&format!("{source}/lib.rs"))?,
                None => self.child(from, name)?,
            },
        };
        for (index, part) in rest.iter().enumerate() {
            if *part == "super" {
                at = self.parent(at)?;
            } else if let Some(child) = self.child(at, part) {
                at = child;
            } else {
                let reexport = (depth < MAX_REEXPORTS).then(|| self.reexport(at, part, depth)).flatten();
                return match reexport {
                    // A module that is passed on: the rest of the path starts there.
                    Some(found) if index + 1 < rest.len() => {
                        let rest: Vec<&str> =
                            std::iter::once("self").chain(rest[index + 1..].iter().copied()).collect();
                        self.resolve(found, &rest, depth + 1)
                    }
                    Some(found) => Some(found),
                    None => Some(at),
                };
            }
        }
        Some(at)
    }

    fn reexport(&self, at: &str, name: &str, depth: usize) -> Option<&'t str> {
        let (_, _, named) = self.files.get(at)?;
        let found = named.iter().find(|named| named.imported && named.name == name)?;
        self.resolve(at, &found.parts, depth + 1)
    }

    fn known(&self, path: &str) -> Option<&'t str> {
        self.files.get_key_value(path).map(|(path, _)| *path)
    }

    fn root(&self, path: &str) -> Option<&'t str> {
        let (folder, _) = path.split_once("/src/")?;
        self.known(&format!("{folder}/src/lib.rs")).or_else(|| self.known(&format!("{folder}/src/main.rs")))
    }

    fn parent(&self, path: &str) -> Option<&'t str> {
        let folder = path.rsplit_once('/')?.0;
        self.known(&format!("{folder}.rs")).or_else(|| self.root(path))
    }

    fn child(&self, path: &str, name: &str) -> Option<&'t str> {
        let folder = match path.strip_suffix("/lib.rs").or_else(|| path.strip_suffix("/main.rs")) {
            Some(source) => source,
            None => path.strip_suffix(".rs")?,
        };
        self.known(&format!("{folder}/{name}.rs"))
    }
}
