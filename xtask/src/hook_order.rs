//! `cargo xtask hook-order FILE`: takes over which functions of dispatch-hook every event runs.
//!
//! FILE is what `valgrind --tool=callgrind --demangle=no --compress-strings=no` wrote about a static build that
//! kept its symbols (`CARGO_PROFILE_HOOK_STRIP=none`), for an event of each kind that matters.

use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;

const LIST_FILE: &str = "apps/dispatch-hook/hot-functions.txt";
const HEADING: &str = "\
# The functions that dispatch-hook runs for an event, in the order of their first call; build.rs puts them together.
# `*` stands for what the compiler makes up anew. `cargo xtask hook-order FILE` writes this file.
";

/// Reads callgrind's file and writes the list.
pub(crate) fn run(root: &Path, profile: &Path) -> Result<()> {
    let text = std::fs::read_to_string(profile).with_context(|| format!("cannot read {}", profile.display()))?;
    let names = functions(&text);
    ensure!(!names.is_empty(), "{} names no function; was it written by callgrind?", profile.display());
    println!("{} functions", names.len());
    let list: String = names.iter().map(|name| format!("{name}\n")).collect();
    std::fs::write(root.join(LIST_FILE), format!("{HEADING}{list}"))
        .with_context(|| format!("cannot write {LIST_FILE}"))
}

fn functions(profile: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let named = profile.lines().filter_map(|line| line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")));
    // Callgrind tells recursion by a number behind an apostrophe.
    let named = named.map(|name| name.split('\'').next().unwrap_or(name));
    named
        .filter(|name| is_symbol(name))
        .map(|name| without_copy_number(&without_encoded_crate(&without_hash(name))))
        .filter(|name| seen.insert(name.clone()))
        .collect()
}

fn is_symbol(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.$".contains(letter))
}

/// `_ZN3foo3bar17h0123456789abcdefE` names a hash that changes with the compiler.
fn without_hash(name: &str) -> String {
    const HASH_DIGITS: usize = 16;
    match name.find("17h").map(|at| (at, name.get(at + 3..at + 3 + HASH_DIGITS))) {
        Some((at, Some(hash))) if name.starts_with("_ZN") && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let (start, rest) = (name.get(..at + 3), name.get(at + 3 + HASH_DIGITS..));
            format!("{}*{}", start.unwrap_or_default(), rest.unwrap_or_default())
        }
        _ => name.to_owned(),
    }
}

/// `ts_lex.295` is one of several copies, numbered anew by each build.
fn without_copy_number(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((plain, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{plain}.*")
        }
        _ => name.to_owned(),
    }
}

/// `_RNvCs1NghyPLXJxP_3foo3bar` names crates by a number that changes with the compiler.
fn without_encoded_crate(name: &str) -> String {
    if !name.starts_with("_R") {
        return name.to_owned();
    }
    let mut parts = name.split("Cs");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.find('_').filter(|end| part.bytes().take(*end).all(|byte| byte.is_ascii_alphanumeric()));
        plain.push_str("Cs");
        match number.and_then(|end| part.get(end..)) {
            Some(rest) => {
                plain.push('*');
                plain.push_str(rest);
            }
            None => plain.push_str(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_without_what_changes() {
        let profile = "fn=main\n16 2\ncfn=_ZN3foo3bar17h0123456789abcdefE\nfn=_ZN3foo3bar17hfedcba9876543210E'2\n\
                       fn=0x0000000000401000\nfn=(below main)\nfn=_RNvNtCs1NghyPLXJxP_3foo3bar\nfn=ts_lex\nfn=ts_lex.295\n";
        assert_eq!(functions(profile), ["main", "_ZN3foo3bar17h*E", "_RNvNtCs*_3foo3bar", "ts_lex", "ts_lex.*"]);
    }

    #[test]
    fn a_name_that_only_looks_encoded_stays() {
        assert_eq!(without_hash("take17hours"), "take17hours");
        assert_eq!(without_hash("_ZN3foo17hxE"), "_ZN3foo17hxE");
        assert_eq!(without_encoded_crate("_RNvCs"), "_RNvCs");
        assert_eq!(without_copy_number("memcpy.fast"), "memcpy.fast");
    }
}
