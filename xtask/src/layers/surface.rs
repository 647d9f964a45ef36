//! What an extension makes public: `extension()` to compose it, `contract` to use it, and nothing else.

use crate::checks::Check;
use crate::lexer::{Token, attributes, closing, tokens};
use crate::source::{RustSource, SourceFile};
use crate::violation::Violation;
use crate::workspace::{Layer, Workspace, id_of};

/// Rule in full, for production code:
///
/// - `lib.rs` of an extension makes public only `mod contract` and `extension`. What is compiled for tests alone
///   (`cfg(test)` or a `testing` feature) is exempt.
/// - In another extension, the word `ext_<id>` is followed by `::contract`; in apps and benches by `::contract` or
///   `::extension`. Groups (`ext_x::{contract, ..}`), aliases (`use ext_x as y`) and `extern crate ext_x` are refused,
///   because the rest of the path is then out of sight.
///
/// Test code is exempt: a test may activate the real neighbour, and cannot see more than is public.
pub(crate) const CHECK: Check<Workspace> = Check {
    name: "surface",
    rule: "An extension makes only `extension()` and `contract` public; another extension uses its `contract` alone, apps and benches its `contract` and `extension`.",
    why: "Everything else of an extension can change without asking who uses it.",
    run: check,
};

const PUBLIC_NAMES: &[&str] = &["contract", "extension"];

fn check(workspace: &Workspace) -> Vec<Violation> {
    let extensions: Vec<&str> =
        workspace.members.iter().map(|member| member.folder.as_str()).filter(|folder| is_extension(folder)).collect();
    let crates: Vec<(String, String)> = extensions
        .iter()
        .map(|folder| (format!("ext_{}", id_of(folder).replace('-', "_")), format!("{folder}/")))
        .collect();
    let mut found = Vec::new();
    for (file, rust) in workspace.sources.rust() {
        let allowed = match Layer::of(&file.path) {
            Some(Layer::Extension(_)) => &PUBLIC_NAMES[..1],
            Some(Layer::Apps | Layer::Benches) => PUBLIC_NAMES,
            _ => continue,
        };
        found.extend(check_uses(file, rust, &crates, allowed));
        if extensions.iter().any(|folder| file.path == format!("{folder}/src/lib.rs")) {
            found.extend(check_root(file, rust));
        }
    }
    found
}

fn is_extension(path: &str) -> bool {
    matches!(Layer::of(path), Some(Layer::Extension(_)))
}

fn check_uses(file: &SourceFile, rust: &RustSource, crates: &[(String, String)], allowed: &[&str]) -> Vec<Violation> {
    let found = tokens(&rust.production);
    let text = |index: usize| found.get(index).map_or("", |token| token.text);
    let mut violations = Vec::new();
    for (index, token) in found.iter().enumerate() {
        let foreign = crates.iter().any(|(name, folder)| name == token.text && !file.path.starts_with(folder.as_str()));
        if foreign && !(text(index + 1) == "::" && allowed.contains(&text(index + 2))) {
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

fn check_root(file: &SourceFile, rust: &RustSource) -> Vec<Violation> {
    let found = tokens(&rust.production);
    let exempt: Vec<_> = attributes(&found)
        .into_iter()
        .filter(|attribute| found[attribute.body.clone()].iter().any(|token| token.text == "test"))
        .map(|attribute| attribute.end + 1)
        .collect();
    let mut violations = Vec::new();
    let mut depth = 0_usize;
    for (index, token) in found.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "pub" if depth == 0 && !exempt.contains(&index) && !is_allowed_export(&found[index + 1..]) => {
                violations.push(Violation::new(
                    CHECK.name,
                    file.place(token.offset),
                    "makes public what is neither `extension` nor `contract`",
                    "make it private, or give `contract` a function for what is needed of it",
                ));
            }
            _ => {}
        }
    }
    violations
}

// What follows `pub`: a restriction, `mod contract`, `fn extension`, or `use path::extension;`.
fn is_allowed_export(rest: &[Token<'_>]) -> bool {
    let text = |index: usize| rest.get(index).map_or("", |token| token.text);
    match (text(0), text(1)) {
        ("(", _) => true,
        ("mod", "contract") | ("fn", "extension") => true,
        ("use", _) => {
            let end = rest.iter().position(|token| token.text == ";").unwrap_or(rest.len());
            let group = rest[..end].iter().position(|token| token.text == "{");
            group.map_or(end > 0 && text(end - 1) == "extension", |open| {
                closing(rest, open) == open + 2 && text(open + 1) == "extension"
            })
        }
        _ => false,
    }
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
    fn only_the_contract_is_visible_to_other_extensions() {
        let broker = "extensions/standard/broker/src/a.rs";
        let table = [
            (broker, "use ext_event_ledger::contract::EVENT_STORED;", 0),
            (broker, "fn f() { ext_event_ledger :: contract::f() }", 0),
            (broker, "// ext_event_ledger::store\nlet s = \"ext_event_ledger::store\";", 0),
            (broker, "use ext_broker::anything;", 0),
            (broker, "use ext_unknown::x;", 0),
            (broker, "#[cfg(test)] mod tests { use ext_event_ledger::extension; }", 0),
            (broker, "use ext_event_ledger::store::Row;", 1),
            (broker, "use ext_event_ledger::extension;", 1),
            (broker, "use ext_event_ledger::contracts::Row;", 1),
            (broker, "use ext_event_ledger::{contract::A, store::B};", 1),
            (broker, "use ext_event_ledger as ledger;", 1),
            (broker, "extern crate ext_event_ledger;", 1),
            ("extensions/standard/broker/tests/it.rs", "use ext_event_ledger::extension;", 0),
        ];
        for (path, text, expected) in table {
            assert_eq!(found(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn apps_and_benches_see_the_contract_and_the_extension() {
        for path in ["apps/dispatch/src/compose.rs", "benches/src/a.rs"] {
            assert_eq!(found(path, "use ext_event_ledger::contract::A; fn f() { ext_event_ledger::extension() }"), 0);
            assert_eq!(found(path, "use ext_event_ledger::store::Row;"), 1, "{path}");
            assert_eq!(found(path, "use ext_event_ledger::{extension, contract};"), 1, "{path}");
        }
    }

    #[test]
    fn an_extension_makes_nothing_else_public() {
        let root = "extensions/standard/broker/src/lib.rs";
        let table = [
            ("pub mod contract;\nmod a;\npub use a::extension;", 0),
            ("pub fn extension() -> u8 { 1 }\npub(crate) mod a;", 0),
            ("pub use a::{extension};", 0),
            ("#[cfg(any(test, feature = \"testing\"))]\npub mod testing;", 0),
            ("mod a { pub fn f() {} }", 0),
            ("pub mod store;", 1),
            ("pub use a::Row;", 1),
            ("pub use a::{Row, extension};", 1),
            ("pub struct Row;", 1),
            ("#[cfg(feature = \"scripts\")]\npub mod scripts;", 1),
        ];
        for (text, expected) in table {
            assert_eq!(found(root, text), expected, "{text}");
        }
        assert_eq!(found("extensions/standard/broker/src/store.rs", "pub struct Row;"), 0);
    }
}
