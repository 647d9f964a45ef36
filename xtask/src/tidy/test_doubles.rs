//! Tests of kernel and core run the real thing: a stand-in for one of our own modules hides a decision in the wrong place.

use crate::checks::Check;
use crate::lexer::{Token, blank, tokens, type_declarations};
use crate::source::{RustSource, SourceFile, SourceTree};
use crate::violation::Violation;
use std::collections::BTreeSet;

/// Rule in full: in test code of kernel and core extensions (and in `testing` features of theirs) no trait is
/// implemented that production code of the same crate, or of any extension, declares outside of `contract`; and no type
/// is called fake, mock, stub or stand-in. Ports of `dispatch-contracts` (clock, ids, provider, tool, ...) are the
/// outermost edge and may be played. `xtask/test-doubles.txt` names the exceptions with a reason.
pub(crate) const CHECK: Check<SourceTree> = Check {
    name: "test-doubles",
    rule: "Tests of kernel and core extensions replace none of our own modules: they implement no trait that production code declares outside of the contracts, unless xtask/test-doubles.txt says why.",
    why: "If a test has to replace our own code, the decision belongs into a pure function.",
    run: check,
};

const ALLOWED_FILE: &str = "xtask/test-doubles.txt";
const NAMES: &[&str] = &["Fake", "Mock", "Stub", "StandIn"];

fn check(tree: &SourceTree) -> Vec<Violation> {
    let allowed = allowed(tree);
    let mut used = BTreeSet::new();
    let mut found = Vec::new();
    for folder in tree.crate_folders().into_iter().filter(|folder| is_checked(folder)) {
        let files: Vec<_> = tree.rust().filter(|(file, _)| file.is_below(folder)).collect();
        let traits: BTreeSet<&str> = files.iter().flat_map(|(file, rust)| own_traits(file, rust)).collect();
        for double in files.iter().flat_map(|(file, rust)| doubles(file, rust, &traits)) {
            let key = format!("{folder} {}", double.name);
            if allowed.contains(&key) {
                used.insert(key);
            } else {
                found.push(double.violation(folder));
            }
        }
    }
    let unused = allowed.difference(&used).map(|line| {
        let message = format!("allows `{line}`, which no test needs");
        Violation::new(CHECK.name, ALLOWED_FILE, message, "delete the line")
    });
    found.extend(unused);
    found
}

fn is_checked(folder: &str) -> bool {
    folder.starts_with("kernel/") || folder.starts_with("extensions/core/")
}

// `crate-folder Trait  reason`; a line without a reason allows nothing.
fn allowed(tree: &SourceTree) -> BTreeSet<String> {
    let lines = tree.get(ALLOWED_FILE).map_or("", |file| file.text.as_str()).lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let key = format!("{} {}", words.next()?, words.next()?);
            words.next().map(|_reason| key)
        })
        .collect()
}

struct Double {
    name: String,
    place: String,
    message: String,
}

impl Double {
    fn violation(self, folder: &str) -> Violation {
        let hint = format!(
            "let the real one run, or move the decision into a pure function (else `{folder} {}  REASON` in {ALLOWED_FILE})",
            self.name
        );
        Violation::new(CHECK.name, self.place, self.message, hint)
    }
}

fn own_traits<'t>(file: &SourceFile, rust: &'t RustSource) -> Vec<&'t str> {
    let is_contract = file.path.starts_with("kernel/contracts/") || file.path.contains("/src/contract");
    if is_contract {
        return Vec::new();
    }
    let found = tokens(&rust.production);
    found.windows(2).filter(|pair| pair[0].text == "trait").map(|pair| pair[1].text).collect()
}

fn doubles(file: &SourceFile, rust: &RustSource, traits: &BTreeSet<&str>) -> Vec<Double> {
    let test_code = test_code(rust);
    let found = tokens(&test_code);
    let implemented =
        found.iter().enumerate().filter(|(_, token)| token.text == "impl").filter_map(|(index, token)| {
            let name = implemented_trait(&found[index + 1..])?;
            traits.contains(name).then(|| Double {
                name: name.to_owned(),
                place: file.place(token.offset),
                message: format!("a test implements `{name}`, a trait of our own module"),
            })
        });
    let named = type_declarations(&found).into_iter().filter(|it| NAMES.iter().any(|word| it.name.contains(word)));
    let named = named.map(|declared| Double {
        name: declared.name.to_owned(),
        place: file.place(declared.offset),
        message: format!("a test declares the stand-in `{}`", declared.name),
    });
    implemented.chain(named).collect()
}

// The code without its production part.
fn test_code(rust: &RustSource) -> String {
    let mut production = Vec::new();
    let mut from = 0;
    for range in &rust.test_ranges {
        production.push(from..range.start);
        from = range.end;
    }
    production.push(from..rust.code.len());
    blank(&rust.code, &production)
}

// `<T> path::Trait<U> for Type {`: the last word before `for`, generics left out.
fn implemented_trait<'a>(rest: &[Token<'a>]) -> Option<&'a str> {
    let mut depth = 0_usize;
    let mut last = None;
    for token in rest {
        match token.text {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            "for" if depth == 0 => return last,
            "{" | ";" | "(" if depth == 0 => return None,
            text if depth == 0 && token.is_word() => last = Some(text),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCTION: &str = "pub trait QueueStore { fn put(&self); }\npub struct Sql;\nimpl QueueStore for Sql {}\n";

    fn messages(path: &str, text: &str, allowed: &str) -> Vec<String> {
        let tree = SourceTree::of(&[
            ("extensions/core/queue/Cargo.toml", ""),
            ("extensions/standard/tool/Cargo.toml", ""),
            ("extensions/core/queue/src/store.rs", PRODUCTION),
            ("extensions/core/queue/src/contract.rs", "pub trait Sessions {}"),
            ("extensions/standard/tool/src/lib.rs", "trait QueueStore {}"),
            (path, text),
            (ALLOWED_FILE, allowed),
        ]);
        check(&tree).into_iter().map(|it| it.message).collect()
    }

    const TEST: &str = "extensions/core/queue/src/tests.rs";

    #[test]
    fn a_replaced_module_is_reported() {
        for text in ["impl QueueStore for Memory {}", "impl<T: Send> super::QueueStore for Memory<T> {}"] {
            assert_eq!(
                messages(TEST, text, ""),
                ["a test implements `QueueStore`, a trait of our own module"],
                "{text}"
            );
        }
        let inner = "#[cfg(test)]\nmod tests { impl QueueStore for Memory {} }";
        assert_eq!(messages("extensions/core/queue/src/b.rs", inner, "").len(), 1);
        assert_eq!(messages(TEST, "struct FakeQueue;", ""), ["a test declares the stand-in `FakeQueue`"]);
    }

    #[test]
    fn edges_contracts_and_standard_extensions_are_free() {
        for text in [
            "impl Clock for Still {}",
            "impl Sessions for Nobody {}",
            "impl Memory { fn a() {} }",
            "fn f() -> impl QueueStore { x }",
        ] {
            assert_eq!(messages(TEST, text, ""), [""; 0], "{text}");
        }
        assert_eq!(messages("extensions/standard/tool/src/tests.rs", "impl QueueStore for Memory {}", ""), [""; 0]);
    }

    #[test]
    fn an_exception_needs_a_reason_and_a_use() {
        let double = "impl QueueStore for Memory {}";
        assert_eq!(messages(TEST, double, "extensions/core/queue QueueStore  the disk fails on command\n"), [""; 0]);
        assert_eq!(messages(TEST, double, "extensions/core/queue QueueStore\n").len(), 1);
        let unused = messages(TEST, "", "# Why.\nextensions/core/queue QueueStore  because\n");
        assert_eq!(unused, ["allows `extensions/core/queue QueueStore`, which no test needs"]);
    }
}
