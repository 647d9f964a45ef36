//! One planted violation per tidy check, read from disk.

use crate::repository::Repository;

#[test]
fn a_sound_repository_passes() {
    Repository::sound().xtask(&["tidy"]).assert_passed();
}

fn planted(check: &str, path: &str, text: &str, message: &str) {
    let repository = Repository::sound();
    repository.write(path, text);
    repository.xtask(&["tidy"]).assert_broken(check, message);
}

#[test]
fn header() {
    planted("header", "platform/os/src/a.rs", "fn a() {}\n", "platform/os/src/a.rs:1");
}

#[test]
fn length() {
    let text = format!("//! Why.\n{}", "fn a() {}\n".repeat(600));
    planted("length", "platform/os/src/a.rs", &text, "has 601 lines of production code");
}

#[test]
fn kernel_roots() {
    planted(
        "kernel-roots",
        "kernel/kernel/src/lib.rs",
        "//! Why.\n#![forbid(unsafe_code)]\n",
        "clippy::disallowed_types",
    );
}

#[test]
fn kernel_purity() {
    planted(
        "kernel-purity",
        "kernel/kernel/src/a.rs",
        "//! Why.\nuse std::{fmt, fs};\n",
        "kernel/kernel/src/a.rs:2: names `std::fs`",
    );
}

#[test]
fn clippy_settings() {
    planted("clippy-settings", "kernel/clippy.toml", "\n", "does not repeat `allow-unwrap-in-tests`");
}

#[test]
fn names() {
    planted("names", "platform/os/src/utils.rs", "//! Why.\n", "`utils.rs`");
    planted("names", "platform/os/src/a/mod.rs", "//! Why.\n", "is a mod.rs");
}

#[test]
fn markers() {
    planted("markers", "platform/os/src/a.rs", "//! Why.\n#[ignore]\n#[test]\nfn a() {}\n", "a.rs:2: ignores a test");
}

#[test]
fn allow_reason() {
    planted(
        "allow-reason",
        "platform/os/src/a.rs",
        "//! Why.\n#[allow(dead_code)]\nfn a() {}\n",
        "`allow` has no reason",
    );
}

#[test]
fn mentions() {
    let text = format!("See /{}/notes.\n", "work");
    planted("mentions", "README.md", &text, "README.md:1: names the machine path");
}

#[test]
fn hooks() {
    planted(
        "hooks",
        "extensions/core/store/src/contract.rs",
        "//! Why.\npub const ROW_STORED: Event<Row> = Event::new(\"store/row.stored\");\n",
        "contract.rs:2: the event `ROW_STORED` is declared but nothing emits it",
    );
}

#[test]
fn text() {
    planted("text", "README.md", "No newline", "README.md: does not end in exactly one newline");
}
