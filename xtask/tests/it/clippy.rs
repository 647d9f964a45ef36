//! Proves that the nested clippy.toml stop effects: a crate under each of them is linted by the real clippy.

use std::path::Path;
use std::process::Command;

const ROOT: &str = "#![forbid(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types)]\n";

/// Lints a kernel crate with the given body; `None` when clippy is not installed.
fn lint(body: &str) -> Option<(bool, String)> {
    lint_under("../kernel/clippy.toml", &format!("{ROOT}{body}"))
}

fn lint_under(settings: &str, source: &str) -> Option<(bool, String)> {
    let has_clippy = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    if !has_clippy.is_ok_and(|output| output.status.success()) {
        println!("skipped: clippy is not installed");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join(settings);
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::copy(settings, folder.path().join("clippy.toml")).unwrap();
    let manifest = "[package]\nname = \"probe\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), source).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline", "--quiet", "--", "-D", "warnings"])
        .current_dir(folder.path())
        .env("CARGO_TARGET_DIR", folder.path().join("target"))
        // A variable of an outer clippy run would point at other settings.
        .env_remove("CLIPPY_CONF_DIR")
        .output()
        .unwrap();
    Some((output.status.success(), String::from_utf8(output.stderr).unwrap()))
}

#[test]
fn pure_code_passes_and_every_ban_names_something_real() {
    let body = "pub fn double(value: u64) -> u64 {\n    value * 2\n}\n";
    let Some((passed, stderr)) = lint(body) else { return };
    assert!(passed, "{stderr}");
    assert_eq!(stderr, "", "a path in kernel/clippy.toml names nothing");
}

#[test]
fn effects_are_refused_with_the_port_to_use() {
    let table = [
        ("let _ = std::fs::read(\"x\");", "std::fs::read", "take a Storage port"),
        ("let _ = std::path::Path::new(\"x\").exists();", "std::path::Path::exists", "asks the file system"),
        ("let _ = std::net::TcpStream::connect(\"x\");", "std::net::TcpStream", "no network"),
        ("let _ = std::process::Command::new(\"x\");", "std::process::Command", "starts no process"),
        ("let _ = std::env::var(\"X\");", "std::env::var", "no environment"),
        ("let _ = std::time::SystemTime::now();", "std::time::SystemTime", "Clock port (now_ms)"),
        ("let _ = std::time::Instant::now();", "std::time::Instant", "Clock port (monotonic_ms)"),
        ("let _ = std::thread::spawn(|| ());", "std::thread::spawn", "Spawner port"),
        ("std::thread::sleep(std::time::Duration::ZERO);", "std::thread::sleep", "sleep_ms"),
        ("let _: std::collections::HashMap<u8, u8> = Default::default();", "std::collections::HashMap", "use BTreeMap"),
    ];
    let mut body = String::new();
    for (index, (statement, _, _)) in table.iter().enumerate() {
        body.push_str(&format!("pub fn effect_{index}() {{\n    {statement}\n}}\n"));
    }
    let Some((passed, stderr)) = lint(&body) else { return };
    assert!(!passed);
    for (statement, path, reason) in table {
        assert!(stderr.contains(&format!("`{path}`")), "{statement}: {stderr}");
        assert!(stderr.contains(reason), "{statement}: {stderr}");
    }
}

#[test]
fn an_inner_allow_cannot_lift_the_ban() {
    let body = "#[allow(clippy::disallowed_methods)]\npub fn effect() {\n    let _ = std::fs::read(\"x\");\n}\n";
    let Some((passed, stderr)) = lint(body) else { return };
    assert!(!passed);
    assert!(stderr.contains("incompatible with previous forbid"), "{stderr}");
}

#[test]
fn the_other_layers_go_through_the_crate_for_the_operating_system() {
    let table = [
        ("let _ = std::fs::read(\"x\");", "std::fs::read", "dispatch_os::files"),
        ("let _ = std::path::Path::new(\"x\").exists();", "std::path::Path::exists", "dispatch_os::files"),
        ("let _ = std::net::TcpStream::connect(\"x\");", "std::net::TcpStream::connect", "dispatch_os::network"),
        ("let _ = std::process::Command::new(\"x\");", "std::process::Command::new", "dispatch_os::process"),
        ("let _ = std::env::var(\"X\");", "std::env::var", "dispatch_os::environment"),
        ("let _ = std::time::SystemTime::now();", "std::time::SystemTime::now", "dispatch_os::time"),
        ("let _ = std::thread::spawn(|| ());", "std::thread::spawn", "dispatch_os::threads"),
    ];
    let mut body = String::new();
    for (index, (statement, _, _)) in table.iter().enumerate() {
        body.push_str(&format!("pub fn effect_{index}() {{\n    {statement}\n}}\n"));
    }
    for layer in ["apps", "extensions", "platform"] {
        let Some((passed, stderr)) = lint_under(&format!("../{layer}/clippy.toml"), &body) else { return };
        assert!(!passed);
        for (statement, path, instead) in table {
            assert!(stderr.contains(&format!("`{path}`")), "{layer}: {statement}: {stderr}");
            assert!(stderr.contains(instead), "{layer}: {statement}: {stderr}");
        }
    }
    let Some((passed, stderr)) = lint_under("../platform/os/clippy.toml", &body) else { return };
    assert!(passed, "platform/os touches the system: {stderr}");
}
