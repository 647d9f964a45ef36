//! Every Rust file says in its first line why it exists.

use crate::checks::Check;
use crate::source::SourceTree;
use crate::violation::Violation;

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "header",
    rule: "A Rust file starts with `//!` and a sentence.",
    why: "Whoever opens the file knows at once whether it is the right one.",
    run: check,
};

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.rust()
        .filter(|(file, _)| !has_header(&file.text))
        .map(|(file, _)| {
            Violation::new(
                CHECK.name,
                format!("{}:1", file.path),
                "does not start with `//!` and a sentence",
                "say in one sentence why the file exists",
            )
        })
        .collect()
}

fn has_header(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("//!").is_some_and(|sentence| sentence.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_header() {
        let table = [
            ("//! Why.\nfn a() {}", 0),
            ("//!Why", 0),
            ("", 1),
            ("//!\n//! Late.", 1),
            ("// Not a doc comment.", 1),
            ("\n//! Late.", 1),
            ("//! ---\n", 1),
            ("use x;\n//! Late.", 1),
        ];
        for (text, expected) in table {
            assert_eq!(check(&SourceTree::of(&[("a.rs", text)])).len(), expected, "{text:?}");
        }
        assert_eq!(check(&SourceTree::of(&[("a.md", "")])), []);
    }
}
