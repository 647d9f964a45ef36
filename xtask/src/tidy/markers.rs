//! Unfinished work does not hide in the tree: no ignored test, no placeholder macro.

use crate::checks::Check;
use crate::lexer::{attributes, tokens};
use crate::source::{RustSource, SourceFile, SourceTree};
use crate::violation::Violation;

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "markers",
    rule: "No `#[ignore]`, no `todo!`, no `unimplemented!`, on any target and in tests too.",
    why: "A test that does not run and code that is not there both look done from outside.",
    run: check,
};

const MACROS: &[&str] = &["todo", "unimplemented"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.rust().flat_map(|(file, rust)| check_file(file, rust)).collect()
}

fn check_file(file: &SourceFile, rust: &RustSource) -> Vec<Violation> {
    let found = tokens(&rust.code);
    let mut violations = Vec::new();
    for attribute in attributes(&found) {
        let body = &found[attribute.body];
        let conditional = body.first().is_some_and(|token| token.text == "cfg_attr");
        let ignored = body.iter().take(if conditional { usize::MAX } else { 1 }).find(|token| token.text == "ignore");
        violations.extend(ignored.map(|token| {
            let place = file.place(token.offset);
            Violation::new(CHECK.name, place, "ignores a test", "make it pass everywhere, or delete it")
        }));
    }
    let macros = found.windows(2).filter(|pair| MACROS.contains(&pair[0].text) && pair[1].text == "!");
    violations.extend(macros.map(|pair| {
        let message = format!("has a `{}!`", pair[0].text);
        Violation::new(CHECK.name, file.place(pair[0].offset), message, "write it, or return an error that says so")
    }));
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_work_is_reported() {
        let table = [
            ("#[ignore]\n#[test]\nfn t() {}", 1),
            ("#[test]\n#[ignore = \"slow\"]\nfn t() {}", 1),
            ("#[cfg_attr(windows, ignore)]\nfn t() {}", 1),
            ("fn f() { todo!() }", 1),
            ("fn f() { std::unimplemented!(\"later\") }", 1),
            ("#[cfg(test)] mod tests { fn f() { todo!() } }", 1),
            ("// todo!() #[ignore]\nlet s = \"todo!()\";", 0),
            ("#[derive(X)] #[x(ignore)] struct S;\nfn ignore() {}", 0),
            ("let todo = !x;", 0),
        ];
        for (text, expected) in table {
            assert_eq!(check(&SourceTree::of(&[("a.rs", text)])).len(), expected, "{text}");
        }
    }
}
