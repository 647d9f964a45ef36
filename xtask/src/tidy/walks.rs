//! The walks in ARCHITECTURE.md lead through code that is there: a file and a function for each hop.

use crate::checks::Check;
use crate::lexer::tokens;
use crate::source::SourceTree;
use crate::violation::Violation;

/// Rule in full: a numbered line below a heading `## The life of ...` in ARCHITECTURE.md begins with the path of a Rust
/// file and the name of a function in it, both in backquotes; a walk has between one and fifteen of them.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "walks",
    rule: "Each hop of a walk in ARCHITECTURE.md names a Rust file and a function that is declared in it; a walk has at most 15 hops.",
    why: "A newcomer can follow a walk only while its names are true.",
    run: check,
};

const FILE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## The life of ";
const MAX_HOPS: usize = 15;

fn check(tree: &SourceTree) -> Vec<Violation> {
    let Some(page) = tree.get(FILE) else { return Vec::new() };
    let mut found = Vec::new();
    let mut walk: Option<(usize, usize)> = None;
    for (index, line) in page.text.lines().enumerate() {
        let number = index + 1;
        if line.starts_with("## ") {
            found.extend(walk.take().and_then(|(start, hops)| check_length(start, hops)));
            walk = line.starts_with(HEADING).then_some((number, 0));
        } else if let Some((_, hops)) = walk.as_mut()
            && let Some(hop) = numbered(line)
        {
            *hops += 1;
            found.extend(check_hop(tree, number, hop));
        }
    }
    found.extend(walk.and_then(|(start, hops)| check_length(start, hops)));
    found
}

fn violation(line: usize, message: impl Into<String>, hint: &str) -> Violation {
    Violation::new(CHECK.name, format!("{FILE}:{line}"), message, hint)
}

fn check_length(start: usize, hops: usize) -> Option<Violation> {
    let hint = "name the files and functions that matter most";
    (hops == 0 || hops > MAX_HOPS)
        .then(|| violation(start, format!("a walk of {hops} hops, not 1 to {MAX_HOPS}"), hint))
}

// The text of `12. text`.
fn numbered(line: &str) -> Option<&str> {
    let (number, text) = line.split_once(". ")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

fn check_hop(tree: &SourceTree, line: usize, hop: &str) -> Option<Violation> {
    let mut parts = hop.split('`');
    let named = match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(""), Some(path), Some(" "), Some(function)) => Some((path, function)),
        _ => None,
    };
    let Some((path, function)) = named else {
        let hint = "begin with `path/to/file.rs` `function`: and say what happens there";
        return Some(violation(line, "the hop does not begin with a file and a function", hint));
    };
    let Some(rust) = tree.get(path).and_then(|file| file.rust.as_ref()) else {
        return Some(violation(line, format!("there is no Rust file {path}"), "name the file that does it now"));
    };
    let declared = tokens(&rust.code).windows(2).any(|pair| pair[0].text == "fn" && pair[1].text == function);
    let message = format!("{path} declares no function `{function}`");
    (!declared).then(|| violation(line, message, "name the function that does it now"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str) -> Vec<String> {
        let tree = SourceTree::of(&[(FILE, page), ("apps/a/src/main.rs", "fn main() {}\n// fn gone() {}\n")]);
        check(&tree).into_iter().map(|it| format!("{}: {}", it.place, it.message)).collect()
    }

    #[test]
    fn a_true_walk_passes_and_lists_elsewhere_are_free() {
        let page = "# A\n\n1. Anything.\n\n## The life of a save\n\n1. `apps/a/src/main.rs` `main`: starts.\n   More.\n\n## B\n\n1. x\n";
        assert_eq!(messages(page), [""; 0]);
        assert_eq!(check(&SourceTree::default()), []);
    }

    #[test]
    fn hops_that_lead_nowhere_are_reported() {
        let table = [
            ("1. It starts.", "ARCHITECTURE.md:2: the hop does not begin with a file and a function"),
            ("1. `apps/b.rs` `main`: starts.", "ARCHITECTURE.md:2: there is no Rust file apps/b.rs"),
            (
                "1. `apps/a/src/main.rs` `gone`: ends.",
                "ARCHITECTURE.md:2: apps/a/src/main.rs declares no function `gone`",
            ),
        ];
        for (hop, expected) in table {
            assert_eq!(messages(&format!("## The life of a save\n{hop}\n")), [expected], "{hop}");
        }
    }

    #[test]
    fn a_walk_is_neither_empty_nor_long() {
        assert_eq!(messages("## The life of a save\n\n## B\n"), ["ARCHITECTURE.md:1: a walk of 0 hops, not 1 to 15"]);
        let long = "1. `apps/a/src/main.rs` `main`: again.\n".repeat(16);
        assert_eq!(
            messages(&format!("## The life of a save\n{long}")),
            ["ARCHITECTURE.md:1: a walk of 16 hops, not 1 to 15"]
        );
    }
}
