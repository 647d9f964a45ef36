//! The kernel crates forbid effects in a way that no inner `allow` can lift.

use crate::checks::Check;
use crate::lexer::{Position, attributes, tokens};
use crate::source::{SourceFile, SourceTree};
use crate::violation::Violation;

const FORBIDDEN: &[&str] = &["unsafe_code", "clippy::disallowed_methods", "clippy::disallowed_types"];

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "kernel-roots",
    rule: "Every kernel crate's lib.rs has `#![forbid(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types)]`.",
    why: "`forbid` cannot be lifted further down, so kernel/clippy.toml holds for the whole crate.",
    run: check,
};

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.files
        .iter()
        .filter_map(|file| {
            let folder = file.path.strip_suffix("/Cargo.toml")?;
            folder.starts_with("kernel/").then(|| format!("{folder}/src/lib.rs"))
        })
        .flat_map(|root| {
            let present = tree.get(&root).map(forbidden).unwrap_or_default();
            FORBIDDEN
                .iter()
                .filter(|lint| !present.iter().any(|found| found == *lint))
                .map(|lint| missing(&root, lint))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn missing(root: &str, lint: &str) -> Violation {
    Violation::new(
        CHECK.name,
        root,
        format!("does not forbid `{lint}`"),
        format!("add `#![forbid({})]` at the top of the crate", FORBIDDEN.join(", ")),
    )
}

fn forbidden(file: &SourceFile) -> Vec<String> {
    let Some(rust) = &file.rust else { return Vec::new() };
    let found = tokens(&rust.code);
    attributes(&found)
        .into_iter()
        .filter(|attribute| attribute.position == Position::Inner)
        .map(|attribute| &found[attribute.body])
        .filter(|body| body.first().is_some_and(|token| token.text == "forbid"))
        .flat_map(|body| {
            let inner: String = body.iter().skip(2).map(|token| token.text).collect();
            inner.trim_end_matches(')').split(',').map(str::to_owned).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lib: Option<&str>) -> usize {
        let mut files = vec![("kernel/x/Cargo.toml", ""), ("platform/y/Cargo.toml", "")];
        files.extend(lib.map(|text| ("kernel/x/src/lib.rs", text)));
        check(&SourceTree::of(&files)).len()
    }

    #[test]
    fn all_three_lints_are_forbidden() {
        let whole = "#![forbid(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types)]";
        let split =
            "#![forbid(\n    unsafe_code,\n    clippy::disallowed_methods,\n)]\n#![forbid(clippy::disallowed_types)]";
        assert_eq!(found(Some(whole)), 0);
        assert_eq!(found(Some(split)), 0);
        assert_eq!(found(Some("#![forbid(unsafe_code)]")), 2);
        assert_eq!(found(Some(&whole.replace("forbid", "deny"))), 3);
        assert_eq!(found(Some(&whole.replace("#!", "#"))), 3);
        assert_eq!(found(Some(&format!("// {whole}"))), 3);
        assert_eq!(found(None), 3);
    }
}
