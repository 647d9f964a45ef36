//! Links the hook binary so that it starts quickly: at a fixed address, and with its hot functions side by side.
//!
//! At a fixed address the loader has nothing to adjust. And the process lives for less than a millisecond, a tenth of
//! which would go into mapping pages of code in which one function is wanted and the rest is not.
//! `hot-functions.txt` says which are wanted; a name that no longer exists is passed over, so an old list costs time
//! and nothing else.

#![allow(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

use std::path::Path;
use std::{env, fs};

const LIST: &str = "hot-functions.txt";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={LIST}");
    let is = |name: &str, wanted: &str| env::var(name).is_ok_and(|value| value == wanted);
    if !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    if is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    let (Ok(list), Ok(folder)) = (fs::read_to_string(LIST), env::var("OUT_DIR")) else {
        return;
    };
    let script = Path::new(&folder).join("hot-functions.ld");
    if is("PROFILE", "release") && fs::write(&script, linker_script(&list)).is_ok() {
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

/// A script that adds one section to the linker's own.
fn linker_script(list: &str) -> String {
    let names = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let sections: String = names.map(|name| format!("    *(.text.{name})\n")).collect();
    format!("SECTIONS {{\n  .text.hot_functions : {{\n{sections}  }}\n}}\nINSERT BEFORE .text;\n")
}
