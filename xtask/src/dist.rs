//! `cargo xtask dist`: builds what is shipped and puts it into one folder.

use crate::cargo;
use crate::elf::{Linkage, linkage};
use crate::hook_size::{self, Built};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};

const MAIN_PACKAGE: &str = "dispatch";

/// Builds both executables into `target/dist`.
pub(crate) fn run(root: &Path) -> Result<()> {
    let target = cargo::metadata(root)?.target_directory;
    let folder = target.join("dist");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    ship(&build_main(root, &target)?, "host", &folder)?;
    let hook = build_hook(root)?;
    ship(&hook.path, &hook.target, &folder)
}

fn build_main(root: &Path, target: &Path) -> Result<PathBuf> {
    let mut command = cargo::command(root);
    command.args(["build", "--locked", "--release", "--package", MAIN_PACKAGE]);
    if !command.status().context("cannot start cargo")?.success() {
        bail!("{command:?} failed");
    }
    Ok(target.join("release").join(format!("{MAIN_PACKAGE}{}", std::env::consts::EXE_SUFFIX)))
}

// Static musl where it can be built, else static against this machine's C library; other systems
// have no static C library to link.
fn build_hook(root: &Path) -> Result<Built> {
    let host = cargo::host_triple()?;
    if !host.contains("-linux-") {
        return hook_size::build(root, None);
    }
    let built = match hook_size::musl(root)? {
        Some(triple) => hook_size::build(root, Some(&triple))?,
        None => hook_size::build_static_host(root, &host)?,
    };
    let bytes = std::fs::read(&built.path).with_context(|| format!("cannot read {}", built.path.display()))?;
    if linkage(&bytes) == Linkage::Dynamic {
        bail!("{} needs a dynamic loader, but the hook binary is shipped static", built.path.display());
    }
    Ok(built)
}

fn ship(built: &Path, target: &str, folder: &Path) -> Result<()> {
    let name = built.file_name().context("cargo built something without a name")?;
    let shipped = folder.join(name);
    let bytes = std::fs::copy(built, &shipped).with_context(|| format!("cannot copy {}", built.display()))?;
    println!("{:>12} bytes  {target}  {}", bytes, shipped.display());
    Ok(())
}
