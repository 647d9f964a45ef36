//! Agents and the Node that some of them run on, from the npm registry, kept below the target folder.

use crate::cargo;
use anyhow::{Context as _, Result, bail};
use dispatch_live_hosts::HostDriver;
use std::path::{Path, PathBuf};
use std::process::Command;

const NODE: (&str, &str) = ("node", "24.21.0");

/// The program of an agent, installed if it is not there in the version that was tried.
pub(super) fn agent(cache: &Path, host: &dyn HostDriver) -> Result<PathBuf> {
    let package = host.package();
    let modules = installed(&cache.join(host.id()), package.name, package.version)?;
    Ok(modules.join(package.program))
}

/// The folder with Node.
pub(super) fn node(cache: &Path) -> Result<PathBuf> {
    let modules = installed(&cache.join(NODE.0), NODE.0, NODE.1)?;
    Ok(modules.join(".bin"))
}

pub(super) fn remove(cache: &Path, host: &dyn HostDriver) -> Result<()> {
    let folder = cache.join(host.id());
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))
}

fn installed(folder: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let modules = folder.join("node_modules");
    if installed_version(&modules, name).as_deref() == Some(version) {
        return Ok(modules);
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    println!("installing {name}@{version}");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--save-exact", "--prefix"]).arg(folder);
    cargo::stdout(npm.arg(format!("{name}@{version}")).current_dir(folder))?;
    if installed_version(&modules, name).as_deref() != Some(version) {
        bail!("npm did not install {name}@{version} into {}", folder.display());
    }
    Ok(modules)
}

fn installed_version(modules: &Path, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(modules.join(name).join("package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}
