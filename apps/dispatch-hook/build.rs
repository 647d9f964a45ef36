//! Links the hook binary so that it starts quickly: static, at a fixed address, with its hot functions side by side.
//!
//! The process lives for less than a millisecond. A loader that finds, maps and binds libraries would double that; a
//! fixed address leaves nothing to adjust; and a tenth of the time would go into mapping pages of code in which one
//! function is wanted and the rest is not. `hot-functions.txt` says which are wanted; a name that no longer exists is
//! passed over, so an old list costs time and nothing else.

#![allow(clippy::disallowed_methods, reason = "a build script reads and writes files")]
#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

const LIST: &str = "hot-functions.txt";
/// When this is set, the executable keeps its symbols.
const SYMBOLS_VARIABLE: &str = "DISPATCH_HOOK_SYMBOLS";
/// What Linux maps around a page of a file that is wanted.
const MAPPED_AT_ONCE_BYTES: u32 = 64 * 1024;

/// The shared libraries that Rust programs are linked with, and the archives that hold the same.
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("c", &["libc.a"]),
    ("dl", &["libdl.a"]),
    ("gcc_s", &["libgcc_eh.a", "libgcc.a"]),
    ("m", &["libm.a"]),
    ("pthread", &["libpthread.a"]),
    ("rt", &["librt.a"]),
    ("util", &["libutil.a"]),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={LIST}");
    println!("cargo:rerun-if-env-changed={SYMBOLS_VARIABLE}");
    let release = variable("PROFILE") == "release";
    if release && variable(SYMBOLS_VARIABLE).is_empty() && variable("CARGO_CFG_TARGET_FAMILY") == "unix" {
        println!("cargo:rustc-link-arg-bins=-Wl,-s");
    }
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    if variable("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if release {
            link_statically();
        }
    }
    let Ok(list) = fs::read_to_string(LIST) else { return };
    let script = Path::new(&variable("OUT_DIR")).join("hot-functions.ld");
    if release && fs::write(&script, linker_script(&list)).is_ok() {
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Takes the C library into the executable, where this machine has it as an archive and builds for itself. Rust asks
/// the linker for shared libraries by name; a folder that is searched first has files of these names that lead to the
/// archives.
fn link_statically() {
    let decided = variable("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static");
    if decided || variable("HOST") != variable("TARGET") {
        return;
    }
    let folder = Path::new(&variable("OUT_DIR")).join("archives");
    if LIBRARIES.iter().all(|(name, archives)| lead_to(&folder, name, archives).is_ok()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-arg-bins=-static");
    }
}

fn lead_to(folder: &Path, name: &str, archives: &[&str]) -> io::Result<()> {
    let found = archives.iter().map(|archive| path_of(archive)).collect::<io::Result<Vec<_>>>()?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("lib{name}.so")), format!("GROUP ( {} )\n", found.join(" ")))
}

fn path_of(archive: &str) -> io::Result<String> {
    let asked = Command::new("cc").arg(format!("-print-file-name={archive}")).output()?;
    let path = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    // The bare name is the answer for what the compiler does not have.
    if Path::new(&path).is_absolute() { Ok(path) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// A script that adds one section to the linker's own. It begins where a group of pages does that the system maps at
/// once. What the compiler takes for unlikely, such as a vector that grows, stands in sections of another name, and
/// events run it all the same.
fn linker_script(list: &str) -> String {
    let names = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let sections: String = names
        .map(|name| match name.contains(':') {
            true => format!("    *{name}(.text .text.*)\n"),
            false => format!("    *(.text.{name} .text.unlikely.{name})\n"),
        })
        .collect();
    format!(
        "SECTIONS {{\n  .text.hot_functions : ALIGN({MAPPED_AT_ONCE_BYTES}) {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n"
    )
}
