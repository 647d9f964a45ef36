//! A lint may be lifted, but never without saying why.

use crate::checks::Check;
use crate::lexer::{Token, attributes, closing, tokens};
use crate::source::{RustSource, SourceFile, SourceTree};
use crate::violation::Violation;

pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "allow-reason",
    rule: "Every `allow(..)` and `expect(..)` attribute has a `reason`, on every target.",
    why: "Clippy checks only the code of the target it runs on; a lifted lint is a debt with a name.",
    run: check,
};

fn check(tree: &SourceTree) -> Vec<Violation> {
    tree.rust().flat_map(|(file, rust)| check_file(file, rust)).collect()
}

fn check_file(file: &SourceFile, rust: &RustSource) -> Vec<Violation> {
    let found = tokens(&rust.code);
    let mut violations = Vec::new();
    for attribute in attributes(&found) {
        let body = &found[attribute.body];
        for (index, token) in body.iter().enumerate() {
            let opens = body.get(index + 1).is_some_and(|next| next.text == "(");
            let lifts = matches!(token.text, "allow" | "expect") && opens && lifts_lint(body, index);
            if lifts && !has_reason(body, index + 1) {
                violations.push(Violation::new(
                    CHECK.name,
                    file.place(token.offset),
                    format!("`{}` has no reason", token.text),
                    "add `reason = \"...\"` as its last argument",
                ));
            }
        }
    }
    violations
}

// Other macros have arguments called `allow`; only an attribute of its own or one behind `cfg_attr` counts.
fn lifts_lint(body: &[Token<'_>], index: usize) -> bool {
    index == 0 || body.first().is_some_and(|token| token.text == "cfg_attr")
}

fn has_reason(body: &[Token<'_>], open: usize) -> bool {
    let end = closing(body, open);
    body[open..=end].windows(2).any(|pair| pair[0].text == "reason" && pair[1].text == "=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifted_lint_has_a_reason() {
        let table = [
            ("#[allow(dead_code)] fn f() {}", 1),
            ("#![allow(dead_code)]", 1),
            ("#[expect(unused)] fn f() {}", 1),
            ("#[cfg_attr(windows, allow(dead_code))] fn f() {}", 1),
            ("#[allow(dead_code)] // reason = \"x\"\nfn f() {}", 1),
            ("#[allow(dead_code, reason = \"used by x\")] fn f() {}", 0),
            ("#[cfg_attr(windows, allow(dead_code, reason = \"x\"))] fn f() {}", 0),
            ("#[rules(allow(all))] fn f() { x.expect(\"y\") }", 0),
            ("// #[allow(dead_code)]", 0),
        ];
        for (text, expected) in table {
            assert_eq!(check(&SourceTree::of(&[("a.rs", text)])).len(), expected, "{text}");
        }
    }
}
