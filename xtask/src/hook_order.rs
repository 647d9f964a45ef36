//! `cargo xtask hook-order FILE`: takes over which functions of dispatch-hook every event runs.
//!
//! FILE is what `valgrind --tool=callgrind --demangle=no --compress-strings=no` wrote about a static build that
//! kept its symbols (`DISPATCH_HOOK_SYMBOLS=1`), for an event of each kind that matters.

use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const LIST_FILE: &str = "apps/dispatch-hook/hot-functions.txt";
const LIBRARY: &str = "libc.a";
const HEADING: &str = "\
# The functions that dispatch-hook runs for an event, in the order of their first call; build.rs puts them together.
# First by the names that the compiler gave them; then the members of the C library's archive that hold such functions;
# then with `*` for what another compiler makes up anew, which takes in functions that no event runs, too.
# `cargo xtask hook-order FILE` writes this file.
";

/// Reads callgrind's file and writes the list.
pub(crate) fn run(root: &Path, profile: &Path) -> Result<()> {
    let text = std::fs::read_to_string(profile).with_context(|| format!("cannot read {}", profile.display()))?;
    let names = functions(&text);
    ensure!(!names.is_empty(), "{} names no function; was it written by callgrind?", profile.display());
    println!("{} functions", names.len());
    let members = members(&names, &library_symbols());
    let general = general(&names);
    let all = names.into_iter().chain(members.iter().chain(&general).map(String::as_str));
    let list: String = all.map(|name| format!("{name}\n")).collect();
    std::fs::write(root.join(LIST_FILE), format!("{HEADING}{list}"))
        .with_context(|| format!("cannot write {LIST_FILE}"))
}

fn functions(profile: &str) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let named = profile.lines().filter_map(|line| line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")));
    // Callgrind tells recursion by a number behind an apostrophe.
    let named = named.map(|name| name.split('\'').next().unwrap_or(name));
    named.filter(|name| is_symbol(name)).filter(|name| seen.insert(*name)).collect()
}

/// The names that another compiler may give, where they differ.
fn general(names: &[&str]) -> Vec<String> {
    let mut seen: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let general = names.iter().map(|name| without_copy_number(&without_encoded_crate(&without_hash(name))));
    general.filter(|name| seen.insert(name.clone())).collect()
}

/// What `nm` says of the C library's archive; nothing where there is none.
fn library_symbols() -> String {
    let output =
        |command: &mut Command| command.output().ok().map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let archive = output(Command::new("cc").arg(format!("-print-file-name={LIBRARY}"))).unwrap_or_default();
    output(Command::new("nm").args(["-A", "--defined-only", archive.trim()])).unwrap_or_default()
}

/// The members that define these functions, as `libc.a:member.o`. Its functions have no sections of their own.
fn members(names: &[&str], symbols: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let defined: Vec<(&str, &str)> = symbols.lines().filter_map(definition).collect();
    let of = |name: &&str| {
        let mut found = defined.iter().filter(|(symbol, _)| symbol == name).map(|(_, member)| *member);
        // A name that several members have for themselves tells nothing.
        found.next().filter(|_| found.next().is_none())
    };
    names.iter().filter_map(of).filter(|member| seen.insert(*member)).map(|it| format!("{LIBRARY}:{it}")).collect()
}

/// `ARCHIVE:MEMBER:ADDRESS KIND NAME`, if it is code.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (place, symbol) = line.rsplit_once(':')?;
    let mut words = symbol.split_whitespace().skip(1);
    let is_code = matches!(words.next()?, "T" | "t" | "W" | "w" | "i");
    is_code.then_some((words.next()?, place.rsplit(':').next()?))
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
    fn names_are_kept_once_and_again_without_what_changes() {
        let profile = "fn=main\n16 2\ncfn=_ZN3foo3bar17h0123456789abcdefE\nfn=_ZN3foo3bar17hfedcba9876543210E'2\n\
                       fn=0x0000000000401000\nfn=(below main)\nfn=_RNvNtCs1NghyPLXJxP_3foo3bar\nfn=ts_lex\nfn=ts_lex.295\n";
        let exact = [
            "main",
            "_ZN3foo3bar17h0123456789abcdefE",
            "_ZN3foo3bar17hfedcba9876543210E",
            "_RNvNtCs1NghyPLXJxP_3foo3bar",
            "ts_lex",
            "ts_lex.295",
        ];
        assert_eq!(functions(profile), exact);
        assert_eq!(general(&exact), ["_ZN3foo3bar17h*E", "_RNvNtCs*_3foo3bar", "ts_lex.*"]);
    }

    #[test]
    fn a_function_of_the_library_is_found_in_its_member() {
        let symbols = "/lib/libc.a:memcpy.o:0000000000000000 i memcpy\n/lib/libc.a:a.o:0000000000000010 t init\n\
                       /lib/libc.a:b.o:0000000000000020 t init\n/lib/libc.a:data.o:0000000000000000 D environ\n";
        assert_eq!(members(&["memcpy", "init", "environ", "memcpy"], symbols), ["libc.a:memcpy.o"]);
        assert!(members(&["memcpy"], "").is_empty());
    }

    #[test]
    fn a_name_that_only_looks_encoded_stays() {
        assert_eq!(without_hash("take17hours"), "take17hours");
        assert_eq!(without_hash("_ZN3foo17hxE"), "_ZN3foo17hxE");
        assert_eq!(without_encoded_crate("_RNvCs"), "_RNvCs");
        assert_eq!(without_copy_number("memcpy.fast"), "memcpy.fast");
    }
}
