//! What one extension may use of another: its `contract` module and nothing else.

use crate::checks::Check;
use crate::lexer::tokens;
use crate::source::{RustSource, SourceFile};
use crate::violation::Violation;
use crate::workspace::{Layer, Workspace, id_of};

/// Rule in full: in production code of an extension, the word `ext_<id>` of another extension is
/// always followed by `::contract`. Groups (`ext_x::{contract, ..}`), aliases (`use ext_x as y`)
/// and `extern crate ext_x` are refused, because the rest of the path is then out of sight.
/// Test code is exempt: a test may activate the real neighbour.
pub(crate) const CHECK: Check<Workspace> = Check {
    name: "surface",
    rule: "An extension uses another extension only through `ext_<id>::contract` (tests are exempt).",
    why: "Everything else of an extension can change without asking its neighbours.",
    run: check,
};

fn check(workspace: &Workspace) -> Vec<Violation> {
    let crates: Vec<(String, String)> = workspace
        .members
        .iter()
        .filter(|member| is_extension(&member.folder))
        .map(|member| (format!("ext_{}", id_of(&member.folder).replace('-', "_")), format!("{}/", member.folder)))
        .collect();
    let files = workspace.sources.rust().filter(|(file, _)| is_extension(&file.path));
    files.flat_map(|(file, rust)| check_file(file, rust, &crates)).collect()
}

fn is_extension(path: &str) -> bool {
    matches!(Layer::of(path), Some(Layer::Extension(_)))
}

fn check_file(file: &SourceFile, rust: &RustSource, crates: &[(String, String)]) -> Vec<Violation> {
    let found = tokens(&rust.production);
    let text = |index: usize| found.get(index).map_or("", |token| token.text);
    let mut violations = Vec::new();
    for (index, token) in found.iter().enumerate() {
        let foreign = crates.iter().any(|(name, folder)| name == token.text && !file.path.starts_with(folder.as_str()));
        if foreign && !(text(index + 1) == "::" && text(index + 2) == "contract") {
            violations.push(Violation::new(
                CHECK.name,
                file.place(token.offset),
                format!("uses `{}` outside its contract module", token.text),
                format!("write `{}::contract::...`, or ask its owner to export what you need there", token.text),
            ));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceTree;
    use crate::workspace::Member;

    fn found(path: &str, text: &str) -> usize {
        let member = |folder: &str| Member { name: String::new(), folder: folder.to_owned(), imports: Vec::new() };
        let workspace = Workspace {
            members: vec![
                member("extensions/standard/event-ledger"),
                member("extensions/standard/broker"),
                member("apps/dispatch"),
            ],
            sources: SourceTree::of(&[(path, text)]),
            ..Workspace::default()
        };
        check(&workspace).len()
    }

    #[test]
    fn only_the_contract_is_visible() {
        let broker = "extensions/standard/broker/src/lib.rs";
        let table = [
            (broker, "use ext_event_ledger::contract::EVENT_STORED;", 0),
            (broker, "fn f() { ext_event_ledger :: contract::f() }", 0),
            (broker, "// ext_event_ledger::store\nlet s = \"ext_event_ledger::store\";", 0),
            (broker, "use ext_broker::anything;", 0),
            (broker, "use ext_unknown::x;", 0),
            (broker, "#[cfg(test)] mod tests { use ext_event_ledger::extension; }", 0),
            (broker, "use ext_event_ledger::store::Row;", 1),
            (broker, "use ext_event_ledger::contracts::Row;", 1),
            (broker, "use ext_event_ledger::{contract::A, store::B};", 1),
            (broker, "use ext_event_ledger as ledger;", 1),
            (broker, "extern crate ext_event_ledger;", 1),
            ("extensions/standard/broker/tests/it.rs", "use ext_event_ledger::extension;", 0),
            ("apps/dispatch/src/compose.rs", "use ext_event_ledger::extension;", 0),
        ];
        for (path, text, expected) in table {
            assert_eq!(found(path, text), expected, "{path}: {text}");
        }
    }
}
