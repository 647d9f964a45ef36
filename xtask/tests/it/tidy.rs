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

#[test]
fn type_names() {
    let text = "//! Why.\nstruct Place;\nmod b {\n    enum Place {}\n}\n";
    planted("type-names", "platform/os/src/a.rs", text, "platform/os/src/a.rs:4: declares `Place`");
}

#[test]
fn retired_words() {
    planted("retired-words", "platform/os/src/a.rs", "//! Why.\nstruct FaultDesk;\n", "the retired word `desk`");
    planted("retired-words", "platform/os/src/stage.rs", "//! Why.\n", "the path contains the retired word `stage`");
}

#[test]
fn pure_files() {
    let text = "//! Why.\n//!\n//! Pure.\nuse crate::disk::read;\n";
    let repository = Repository::sound();
    repository.write_crate("platform/glob", "dispatch-glob", "");
    repository.write("platform/glob/src/a.rs", text);
    repository.write("platform/glob/src/lib.rs", "//! Why.\nmod a;\nmod disk;\n");
    repository.write("platform/glob/src/disk.rs", "//! Why.\nuse tokio::fs;\n");
    repository.xtask(&["tidy"]).assert_broken("pure-files", "reaches `tokio` at platform/glob/src/disk.rs:2");
    let unmarked =
        "//! Why.\npub mod contract;\nmacro_rules! harness { () => { () }; }\npub fn extension() { harness!() }\n";
    planted("pure-files", "extensions/core/store/src/lib.rs", unmarked, "has no file that is marked pure");
}

#[test]
fn os_touches() {
    planted(
        "os-touches",
        "extensions/core/store/src/a.rs",
        "//! Why.\nuse std::fs;\n",
        "extensions/core/store/src/a.rs:2: names `std::fs` outside of platform/os",
    );
    planted("os-touches", "xtask/os-touches.txt", "apps/a/src/b.rs  why\n", "which needs no leave");
}

#[test]
fn test_doubles() {
    planted(
        "test-doubles",
        "extensions/core/store/src/a.rs",
        "//! Why.\ntrait Rows {}\n#[cfg(test)]\nmod tests {\n    impl super::Rows for u8 {}\n}\n",
        "a.rs:5: a test implements `Rows`",
    );
}

#[test]
fn harness() {
    planted("harness", "extensions/core/store/AGENTS.md", &"a\n".repeat(41), "has 41 lines, more than 40");
    planted("harness", "extensions/core/store/docs/rules.md", "# Rules\n", "has a title and nothing else");
}

#[test]
fn versions() {
    let manifest = "[package]\nname = \"dispatch-os\"\nversion.workspace = true\n";
    let repository = Repository::sound();
    let root = repository.read("Cargo.toml") + "\n[workspace.package]\nversion = \"0.1.0\"\n";
    repository.write("Cargo.toml", &root);
    let rest = repository.read("platform/os/Cargo.toml").split_once("edition").unwrap().1.to_owned();
    repository.write("platform/os/Cargo.toml", &format!("{manifest}edition{rest}"));
    repository.xtask(&["tidy"]).assert_broken("versions", "platform/os/Cargo.toml: has no version of its own");
}

#[test]
fn contracts_surface() {
    let repository = Repository::sound();
    repository.append("kernel/contracts/src/lib.rs", "pub struct Tool;\n");
    repository.xtask(&["tidy"]).assert_broken("contracts-surface", "added: `crate: struct Tool`");
    let refused = repository.xtask(&["surface", "--write"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let raised = repository.read("kernel/contracts/Cargo.toml").replace("0.1.0", "0.2.0");
    repository.write("kernel/contracts/Cargo.toml", &raised);
    repository.xtask(&["surface", "--write"]).assert_passed();
    repository.xtask(&["tidy"]).assert_passed();
}

#[test]
fn walks() {
    let page = "# A\n\n## The life of a save\n\n1. `apps/dispatch-hook/src/main.rs` `watch`: hears of it.\n";
    planted(
        "walks",
        "ARCHITECTURE.md",
        page,
        "ARCHITECTURE.md:5: apps/dispatch-hook/src/main.rs declares no function `watch`",
    );
}
