//! What the threat model calls enforced is tested: each row of that table names a test that is there.

use crate::checks::Check;
use crate::lexer::tokens;
use crate::source::SourceTree;
use crate::violation::Violation;
use std::collections::BTreeSet;

/// Rule in full: the last cell of each row below `## Enforced` in docs/threat-model.md holds names of test functions in
/// backquotes, at least one, and each is declared in a Rust file behind an attribute that ends with `test]`.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "enforced-rows",
    rule: "Each row of the table `Enforced` in docs/threat-model.md names at least one test function that is declared.",
    why: "A promise that no test holds is forgotten by the next change.",
    run: check,
};

const FILE: &str = "docs/threat-model.md";
const HEADING: &str = "## Enforced";

fn check(tree: &SourceTree) -> Vec<Violation> {
    let Some(page) = tree.get(FILE) else { return Vec::new() };
    let tests = declared_tests(tree);
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == HEADING;
        }
        let is_row = inside && line.starts_with("| ") && !line.starts_with("| what |");
        if is_row {
            found.extend(check_row(&tests, index + 1, line));
        }
    }
    found
}

fn check_row(tests: &BTreeSet<String>, line: usize, row: &str) -> Vec<Violation> {
    let violation = |message: String| {
        Violation::new(CHECK.name, format!("{FILE}:{line}"), message, "name the test that fails when it is not so")
    };
    let cell = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
    let names: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return vec![violation("the row names no test".to_owned())];
    }
    let missing = names.iter().filter(|name| !tests.contains(**name));
    missing.map(|name| violation(format!("there is no test `{name}`"))).collect()
}

// Names of functions with an attribute for tests directly above, or inside a macro that makes tests.
pub(super) fn declared_tests(tree: &SourceTree) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rust in tree.files.iter().filter_map(|file| file.rust.as_ref()) {
        let all = tokens(&rust.code);
        for (at, pair) in all.windows(2).enumerate() {
            let near = all.get(at.saturating_sub(8)..at).unwrap_or_default();
            // What stands in front of the end of another item is not this one's.
            let before = near.rsplit(|token| token.text == "}").next().unwrap_or_default();
            let is_test = before.windows(2).any(|two| two[0].text == "test" && two[1].text == "]")
                || before.windows(2).any(|two| two[0].text == "test" && two[1].text == "(");
            if pair[0].text == "fn" && is_test {
                found.insert(pair[1].text.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(row: &str) -> Vec<String> {
        let code = "#[test]\nfn holds() {}\n#[tokio::test]\nasync fn waits() {}\nfn helper() {}\n";
        let page =
            format!("## Enforced\n\n| what | how | tests |\n|---|---|---|\n{row}\n\n## Not enforced\n| x | y | z |\n");
        let tree = SourceTree::of(&[(FILE, &page), ("testing/a/tests/a.rs", code)]);
        check(&tree).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn a_row_with_its_test_passes_and_others_are_reported() {
        assert_eq!(messages("| a | b | `holds`, `waits` |"), [""; 0]);
        assert_eq!(messages("| a | b | by design |"), ["the row names no test"]);
        assert_eq!(messages("| a | b | `holds`, `gone` |"), ["there is no test `gone`"]);
        assert_eq!(messages("| a | b | `helper` |"), ["there is no test `helper`"]);
    }
}
