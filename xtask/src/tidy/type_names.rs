//! One type name per crate: a name that is there twice has to be told apart by its path each time.

use crate::checks::Check;
use crate::lexer::{tokens, type_declarations};
use crate::source::{SourceFile, SourceTree};
use crate::violation::Violation;
use std::collections::BTreeMap;

/// Rule in full: within one crate (the nearest folder upwards with a Cargo.toml), tests and examples included, no two
/// `struct`, `enum`, `trait` or `type` items have the same name. Associated types are exempt.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "type-names",
    rule: "No type name is declared twice in one crate, tests included.",
    why: "A search for a name leads to one place, and a reader need not ask which one is meant.",
    run: check,
};

fn check(tree: &SourceTree) -> Vec<Violation> {
    let crates = tree.crate_folders();
    let mut declared: BTreeMap<(&str, &str), Vec<(&SourceFile, usize)>> = BTreeMap::new();
    for (file, rust) in tree.rust() {
        let Some(folder) = crates.iter().find(|folder| file.is_below(folder)) else { continue };
        for found in type_declarations(&tokens(&rust.code)) {
            declared.entry((folder, found.name)).or_default().push((file, found.offset));
        }
    }
    declared.into_iter().flat_map(|((_, name), places)| repeated(name, &places)).collect()
}

fn repeated(name: &str, places: &[(&SourceFile, usize)]) -> Vec<Violation> {
    let Some(((first, first_offset), others)) = places.split_first() else { return Vec::new() };
    let violation = |(file, offset): &(&SourceFile, usize)| {
        Violation::new(
            CHECK.name,
            file.place(*offset),
            format!("declares `{name}`, which {} declares too", first.place(*first_offset)),
            "put the subject into the name (`HookFileLocation`, not `Place`)",
        )
    };
    others.iter().map(violation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("platform/os/Cargo.toml", "");

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = [MANIFEST, ("platform/glob/Cargo.toml", "")].iter().chain(files).copied().collect();
        check(&SourceTree::of(&files)).into_iter().map(|violation| violation.place).collect()
    }

    #[test]
    fn the_second_declaration_of_a_name_is_reported() {
        let (one, two) = (("platform/os/src/a.rs", "struct Place;"), ("platform/os/src/b.rs", "\npub enum Place {}"));
        assert_eq!(places(&[one, two]), ["platform/os/src/b.rs:2"]);
        let test = ("platform/os/tests/it.rs", "type Place = u8;");
        assert_eq!(places(&[one, test]), ["platform/os/tests/it.rs:1"]);
        let inner = ("platform/os/src/a.rs", "trait Place {}\n#[cfg(test)]\nmod tests { struct Place; }");
        assert_eq!(places(&[inner]), ["platform/os/src/a.rs:3"]);
    }

    #[test]
    fn two_crates_may_use_one_name() {
        let files = [("platform/os/src/a.rs", "struct Place;"), ("platform/glob/src/a.rs", "struct Place;")];
        assert_eq!(places(&files), [""; 0]);
        let prefix = [("platform/os/src/a.rs", "struct Place;"), ("platform/osmosis/src/a.rs", "struct Place;")];
        assert_eq!(places(&prefix), [""; 0]);
    }
}
