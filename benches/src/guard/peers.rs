//! What the hook is measured against: the least program without a loader, and Bun.

use crate::process::{find, target_folder};
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The source of the least program.
const FLOOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/floor.rs");
/// From the npm registry.
const BUN: &str = "bun@1.4.4";

/// The least program, linked statically, and against what.
pub(super) struct StaticFloor {
    pub(super) label: &'static str,
    pub(super) path: PathBuf,
}

/// Static against musl where that target is installed, else against the C library of this machine. The compiler is
/// called directly: the program needs no crate, and a target of its own would build all of them again.
pub(super) fn static_floors() -> Result<Vec<StaticFloor>> {
    let folder = target_folder()?.join("static-floor");
    std::fs::create_dir_all(&folder)?;
    let architecture = std::env::consts::ARCH;
    let kinds = [("bare Rust, static (musl)", "musl"), ("bare Rust, static (glibc)", "gnu")];
    let floors = kinds.into_iter().filter_map(|(label, library)| {
        let path = folder.join(format!("floor-{library}"));
        let triple = format!("{architecture}-unknown-linux-{library}");
        compile(&triple, &path).then_some(StaticFloor { label, path })
    });
    Ok(floors.collect())
}

fn compile(triple: &str, output: &Path) -> bool {
    let beside_cargo = std::env::var_os("CARGO").map(|cargo| Path::new(&cargo).with_file_name("rustc"));
    Command::new(beside_cargo.unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "-C", "opt-level=3", "-C", "codegen-units=1", "-C", "strip=symbols"])
        .args(["-C", "target-feature=+crt-static", "-C", "relocation-model=static", "--target", triple, FLOOR, "-o"])
        .arg(output)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Bun as it is installed, or from the registry into the target folder; nothing where npm cannot bring it.
pub(super) fn bun() -> Result<Option<PathBuf>> {
    if let Some(installed) = find("bun") {
        return Ok(Some(installed));
    }
    let folder = target_folder()?.join("bun");
    if bun_in(&folder).is_none() {
        let installed = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--no-save", "--prefix"])
            .arg(&folder)
            .arg(BUN)
            .stdout(Stdio::null())
            .status()
            .context("npm cannot be started")?;
        if !installed.success() {
            return Ok(None);
        }
    }
    Ok(bun_in(&folder))
}

/// The binary comes in a package of its own, from which the install script moves it, where npm runs such scripts.
fn bun_in(folder: &Path) -> Option<PathBuf> {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let architecture = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x64" };
    let brought = folder.join(format!("node_modules/@oven/bun-{system}-{architecture}/bin/bun"));
    let moved = folder.join("node_modules/bun/bin/bun.exe");
    [brought, moved].into_iter().find(|program| program.is_file())
}
