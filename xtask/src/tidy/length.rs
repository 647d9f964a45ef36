//! A file that grows past a screenful of screens has more than one reason to exist.

use crate::checks::Check;
use crate::lexer::line_of;
use crate::source::{RustSource, SourceFile, SourceTree, is_test_path};
use crate::violation::Violation;

/// Lines of production code in one file.
pub(crate) const MAX_PRODUCTION_LINES: usize = 600;

/// Lines of a test file, or of the tests in one file.
pub(crate) const MAX_TEST_LINES: usize = 1500;

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "length",
    rule: "A Rust file has at most 600 lines without its `#[cfg(test)]` items; a test file, or the tests in one file, at most 1500.",
    why: "One concept per file.",
    run: check,
};

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.rust().flat_map(|(file, rust)| check_file(file, rust)).collect()
}

fn check_file(file: &SourceFile, rust: &RustSource) -> Option<Violation> {
    let total = file.text.lines().count();
    let tests = if is_test_path(&file.path) { total } else { test_lines(file, rust) };
    let production = total.saturating_sub(tests);
    let (what, lines, limit) = if production > MAX_PRODUCTION_LINES {
        ("production code", production, MAX_PRODUCTION_LINES)
    } else if tests > MAX_TEST_LINES {
        ("tests", tests, MAX_TEST_LINES)
    } else {
        return None;
    };
    Some(Violation::new(
        CHECK.name,
        &file.path,
        format!("has {lines} lines of {what}, the limit is {limit}"),
        "split it by concept: `name.rs` and `name/`",
    ))
}

fn test_lines(file: &SourceFile, rust: &RustSource) -> usize {
    let lines = |range: &std::ops::Range<usize>| {
        line_of(&file.text, range.end.saturating_sub(1)) - line_of(&file.text, range.start) + 1
    };
    rust.test_ranges.iter().map(lines).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Violation> {
        check(&SourceTree::of(&[(path, text)]))
    }

    fn lines(count: usize) -> String {
        "fn f() {}\n".repeat(count)
    }

    #[test]
    fn production_and_tests_are_counted_apart() {
        assert_eq!(found("a.rs", &lines(600)), []);
        assert_eq!(found("a.rs", &lines(601)).len(), 1);
        let tail = |count| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", lines(count));
        assert_eq!(found("a.rs", &(lines(600) + &tail(1000))), []);
        assert!(found("a.rs", &(lines(601) + &tail(10)))[0].message.contains("601 lines of production"));
        assert!(found("a.rs", &tail(1498))[0].message.contains("1501 lines of tests"));
    }

    #[test]
    fn test_files_have_the_larger_limit() {
        for path in ["a/tests/b.rs", "a/src/b/tests.rs"] {
            assert_eq!(found(path, &lines(1500)), []);
            assert_eq!(found(path, &lines(1501)).len(), 1);
        }
        assert_eq!(found("a/latest.rs", &lines(601)).len(), 1);
    }
}
