//! Marked files with planted effects: near, far, through other crates.

use super::*;

const A: &str = "extensions/standard/x/src/a.rs";
const MARKED: &str = "//! Why.\n//!\n//! Pure.\n";

fn messages(files: &[(&str, &str)]) -> Vec<String> {
    let manifests = [("extensions/standard/x/Cargo.toml", ""), ("platform/os/Cargo.toml", "")];
    let files: Vec<_> = manifests.iter().chain(files).copied().collect();
    check(&SourceTree::of(&files)).into_iter().map(|it| format!("{}: {}", it.place, it.message)).collect()
}

fn marked(code: &str) -> String {
    format!("{MARKED}{code}")
}

#[test]
fn an_effect_in_a_marked_file_is_reported() {
    let table = [
        ("fn f() { std::fs::read(p) }", "std::fs"),
        ("use std::{fmt, net::TcpStream};", "std::net"),
        ("use std::time::Instant;", "Instant"),
        ("use tokio::sync::mpsc;", "tokio"),
    ];
    for (code, effect) in table {
        let expected = format!("{A}: is marked pure and names `{effect}` ({A}:4)");
        assert_eq!(messages(&[(A, &marked(code))]), [expected], "{code}");
    }
}

#[test]
fn pure_code_passes() {
    for code in [
        "use std::collections::BTreeMap;\nuse std::time::Duration;",
        "use std::process::ExitCode;",
        "use serde_json::Value;",
        "#[cfg(test)]\nmod tests { use std::fs; }",
        "use dispatch_contracts::row::Row;",
    ] {
        assert_eq!(messages(&[(A, &marked(code))]), [""; 0], "{code}");
    }
}

#[test]
fn an_effect_behind_imports_is_reported_with_the_way_to_it() {
    let lib = ("extensions/standard/x/src/lib.rs", "mod a; mod b; mod c;");
    let b = ("extensions/standard/x/src/b.rs", "use super::c::inner::g;");
    let c = ("extensions/standard/x/src/c.rs", "pub mod inner;");
    let inner = ("extensions/standard/x/src/c/inner.rs", "\nfn g() { std::env::var(x) }");
    let found = messages(&[lib, (A, &marked("use crate::b::f;")), b, c, inner]);
    let way = format!("{A} -> {} -> {}", b.0, inner.0);
    assert_eq!(found, [format!("{A}: is marked pure and reaches `std::env` at {}:2 ({way})", inner.0)]);
}

#[test]
fn a_reexport_leads_to_the_file_that_declares_the_item() {
    let b = ("extensions/standard/x/src/b.rs", "mod data; mod disk; pub use data::Row; pub use disk::read;");
    let data = ("extensions/standard/x/src/b/data.rs", "pub struct Row;");
    let disk = ("extensions/standard/x/src/b/disk.rs", "use std::fs; pub fn read() {}");
    let lib = ("extensions/standard/x/src/lib.rs", "mod a; mod b;");
    assert_eq!(messages(&[lib, (A, &marked("use crate::b::Row;")), b, data, disk]), [""; 0]);
    assert_eq!(messages(&[lib, (A, &marked("use crate::b::read;")), b, data, disk]).len(), 1);
}

#[test]
fn effects_of_other_crates_count_and_their_pure_parts_do_not() {
    let lib = ("platform/os/src/lib.rs", "mod clock; mod style; pub use clock::now; pub mod paths;");
    let clock = ("platform/os/src/clock.rs", "use std::time::SystemTime; pub fn now() {}");
    let style = ("platform/os/src/paths.rs", "pub fn join() {}");
    assert_eq!(messages(&[(A, &marked("use dispatch_os::paths::join;")), lib, clock, style]), [""; 0]);
    assert_eq!(messages(&[(A, &marked("use dispatch_os::now;")), lib, clock, style]).len(), 1);
}

#[test]
fn an_extension_without_a_pure_file_is_reported() {
    let found = messages(&[(A, "//! Why.\n//! Pure. And more words.\nfn f() {}")]);
    assert_eq!(found, ["extensions/standard/x: has no file that is marked pure"]);
}
