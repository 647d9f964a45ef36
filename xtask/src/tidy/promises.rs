//! What the pages promise without exception is tested: each such sentence stands in docs/promises.md with its test.

use super::enforced_rows::declared_tests;
use crate::checks::Check;
use crate::source::SourceTree;
use crate::violation::Violation;
use std::collections::BTreeSet;
use std::ops::Range;

/// Rule in full: where README.md or a page directly in docs/ says `never`, `always`, `prove(s)`, `every` or `none` outside
/// of code, the words around it are quoted in a row of docs/promises.md that names the page and at least one test function
/// that is declared. Rows of `## Enforced` in docs/threat-model.md name their tests themselves; docs/checks.md and
/// docs/commands.md are written by programs. A cell of a table that holds nothing but `none` is a value.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "promises",
    rule: "A sentence of README.md or docs/*.md that allows no exception (`never`, `always`, `proves`, `every`, `none`) is quoted in docs/promises.md with a test that is declared, and each quotation there stands in its page.",
    why: "A sentence without exceptions is false as soon as there is one, and nothing but a test notices.",
    run: check,
};

const TABLE: &str = "docs/promises.md";
const TESTED_ROWS: &str = "docs/threat-model.md";
const WRITTEN_BY_PROGRAMS: [&str; 2] = ["docs/checks.md", "docs/commands.md"];
const WORDS: [&str; 6] = ["never", "always", "prove", "proves", "every", "none"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let tests = declared_tests(tree);
    let rows: Vec<PromiseRow> = tree.get(TABLE).map(|page| rows(&page.text)).unwrap_or_default();
    let mut found: Vec<Violation> = rows.iter().flat_map(|row| check_row(tree, &tests, row)).collect();
    for page in tree.files.iter().filter(|file| is_page(&file.path)) {
        let prose = Prose::of(&page.text);
        let quoted: Vec<Range<usize>> =
            rows.iter().filter(|row| row.page == page.path).flat_map(|row| prose.places(&row.quotation)).collect();
        let bare = prose.promises().into_iter().filter(|at| !quoted.iter().any(|range| range.contains(at)));
        for at in bare.filter(|at| page.path != TESTED_ROWS || !prose.is_tested_row(*at)) {
            let place = format!("{}:{}", page.path, prose.line(at));
            let message = format!("`{}` is promised without a test", prose.around(at));
            let hint = "say what is true with its exceptions, or quote it in docs/promises.md with its test";
            found.push(Violation::new(CHECK.name, place, message, hint));
        }
    }
    found
}

fn is_page(path: &str) -> bool {
    let is_doc = path.strip_prefix("docs/").is_some_and(|name| name.ends_with(".md") && !name.contains('/'));
    (path == "README.md" || is_doc) && path != TABLE && !WRITTEN_BY_PROGRAMS.contains(&path)
}

/// A row of the table.
struct PromiseRow {
    line: usize,
    page: String,
    quotation: String,
    tests: Vec<String>,
}

fn rows(text: &str) -> Vec<PromiseRow> {
    let row = |(index, line): (usize, &str)| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.trim_end_matches([' ', '|']).split(" | ").collect();
        let [page, quotation, tests] = cells[..] else { return None };
        let name = page.split_once('[')?.1.split_once(']')?.0;
        let page = if name == "README.md" { name.to_owned() } else { format!("docs/{name}") };
        let tests = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some(PromiseRow { line: index + 1, page, quotation: Prose::of(quotation).text, tests })
    };
    text.lines().enumerate().filter_map(row).collect()
}

fn check_row(tree: &SourceTree, tests: &BTreeSet<String>, row: &PromiseRow) -> Vec<Violation> {
    let mut messages = Vec::new();
    let page = tree.get(&row.page).map(|page| Prose::of(&page.text));
    if page.is_none_or(|page| page.places(&row.quotation).is_empty()) {
        messages.push(format!("{} does not say `{}`", row.page, row.quotation));
    }
    if row.tests.is_empty() {
        messages.push("the row names no test".to_owned());
    }
    messages.extend(
        row.tests.iter().filter(|name| !tests.contains(*name)).map(|name| format!("there is no test `{name}`")),
    );
    let violation = |message| {
        Violation::new(
            CHECK.name,
            format!("{TABLE}:{}", row.line),
            message,
            "name the page's words and the test that fails when they are false",
        )
    };
    messages.into_iter().map(violation).collect()
}

/// A page without its blocks of code, in one line.
struct Prose {
    text: String,
    /// Of each byte of the text: its line in the file, and whether it is code.
    origins: Vec<(usize, bool)>,
    /// Of each byte of the text: whether it lies in the table whose rows name their tests.
    tested: Vec<bool>,
}

impl Prose {
    fn of(page: &str) -> Self {
        let mut prose = Self { text: String::new(), origins: Vec::new(), tested: Vec::new() };
        let (mut in_block, mut in_code, mut in_tested) = (false, false, false);
        for (index, line) in page.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
                continue;
            }
            if in_block {
                continue;
            }
            if line.starts_with("## ") {
                in_tested = line == "## Enforced";
            }
            // Code may go on over a line's end, but not over an empty line or into another row.
            in_code &= !line.is_empty() && !line.starts_with('|');
            for c in line.trim().chars() {
                match c {
                    '`' => in_code = !in_code,
                    _ if c.is_whitespace() && prose.text.ends_with(' ') => {}
                    _ => prose.push(if c.is_whitespace() { ' ' } else { c }, (index + 1, in_code), in_tested),
                }
            }
            if !prose.text.ends_with(' ') {
                prose.push(' ', (index + 1, in_code), in_tested);
            }
        }
        prose.text.truncate(prose.text.trim_end().len());
        prose
    }

    fn push(&mut self, c: char, origin: (usize, bool), tested: bool) {
        self.text.push(c);
        self.origins.resize(self.text.len(), origin);
        self.tested.resize(self.text.len(), tested);
    }

    /// Where a quotation stands.
    fn places(&self, quotation: &str) -> Vec<Range<usize>> {
        self.text.match_indices(quotation).map(|(at, found)| at..at + found.len()).collect()
    }

    /// Where a word stands that allows no exception.
    fn promises(&self) -> Vec<usize> {
        let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let mut found = Vec::new();
        let mut at = 0;
        for word in self.text.split_inclusive(|c| !is_letter(c)) {
            let bare = word.trim_end_matches(|c| !is_letter(c));
            let is_code = self.origins.get(at).is_some_and(|origin| origin.1);
            if !is_code && WORDS.iter().any(|wanted| wanted.eq_ignore_ascii_case(bare)) && !self.is_value(at, bare) {
                found.push(at);
            }
            at += word.len();
        }
        found
    }

    /// Whether a word is all that a cell of a table holds.
    fn is_value(&self, at: usize, word: &str) -> bool {
        let before = self.text.get(..at).unwrap_or_default().trim_end();
        let after = self.text.get(at + word.len()..).unwrap_or_default().trim_start();
        before.ends_with('|') && after.starts_with('|')
    }

    fn is_tested_row(&self, at: usize) -> bool {
        self.tested.get(at).copied().unwrap_or_default()
    }

    fn line(&self, at: usize) -> usize {
        self.origins.get(at).map_or(1, |origin| origin.0)
    }

    fn around(&self, at: usize) -> String {
        let words = |text: &str| text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let before = words(self.text.get(..at).unwrap_or_default());
        let after = words(self.text.get(at..).unwrap_or_default());
        let shown = before.iter().skip(before.len().saturating_sub(3)).chain(after.iter().take(5));
        shown.cloned().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(page: &str, row: &str) -> Vec<String> {
        let table = format!("| page | it says | tests |\n|---|---|---|\n{row}\n");
        let code = "#[test]\nfn holds() {}\nfn helper() {}\n";
        let tree = SourceTree::of(&[("docs/a.md", page), (TABLE, &table), ("testing/a/tests/a.rs", code)]);
        check(&tree).into_iter().map(|it| format!("{} {}", it.place, it.message)).collect()
    }

    #[test]
    fn a_promise_needs_a_quotation_with_its_test() {
        let row = "| [a.md](a.md) | it is never\nlost |".replace('\n', " ") + " `holds` |";
        assert_eq!(messages("# A\n\nSo it is never\nlost.\n", &row), [""; 0]);
        assert_eq!(
            messages("So it is never lost, and never found.\n", &row),
            ["docs/a.md:1 `never lost, and never found.` is promised without a test"]
        );
        assert_eq!(
            messages("It may be lost.\n", &row),
            ["docs/promises.md:3 docs/a.md does not say `it is never lost`"]
        );
    }

    #[test]
    fn a_row_names_tests_that_are_there() {
        let page = "it is never lost\n";
        let row = |tests: &str| format!("| [a.md](a.md) | it is never lost | {tests} |");
        assert_eq!(messages(page, &row("`gone`")), ["docs/promises.md:3 there is no test `gone`"]);
        assert_eq!(messages(page, &row("`helper`")), ["docs/promises.md:3 there is no test `helper`"]);
        assert_eq!(messages(page, &row("by design")), ["docs/promises.md:3 the row names no test"]);
    }

    #[test]
    fn code_values_and_other_words_promise_nothing() {
        for page in [
            "`--color never` is\n",
            "```\nnever\n```\n",
            "| a | none | b |\n",
            "whenever, nonetheless, everyday\n",
            "`a\nnever` x\n",
        ] {
            assert_eq!(messages(page, ""), [""; 0], "{page:?}");
        }
        for page in ["Always.\n", "| a | none of it | b |\n", "x\nevery\ny\n", "This proves it\n"] {
            assert_eq!(messages(page, "").len(), 1, "{page:?}");
        }
    }

    #[test]
    fn rows_that_name_their_tests_and_generated_pages_are_left_alone() {
        let page = "## Enforced\n\n| every event | how | `holds` |\n\n## Not enforced\n\nIt never is.\n";
        let tree = SourceTree::of(&[(TESTED_ROWS, page), ("docs/checks.md", "every\n"), ("docs/adr/1.md", "never\n")]);
        let places: Vec<String> = check(&tree).into_iter().map(|it| it.place).collect();
        assert_eq!(places, ["docs/threat-model.md:7"]);
    }
}
