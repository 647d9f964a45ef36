//! The one place that asks cargo and rustc about the workspace.

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The fields of `cargo metadata` that the checks need.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// Every package of the lock file.
    pub(crate) packages: Vec<Package>,
    /// Ids of the workspace members.
    pub(crate) workspace_members: Vec<String>,
    /// Root of the workspace, as cargo spells it.
    pub(crate) workspace_root: PathBuf,
    /// Where cargo builds.
    pub(crate) target_directory: PathBuf,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// Opaque id.
    pub(crate) id: String,
    /// Crate name as in its manifest.
    pub(crate) name: String,
    /// Exact version.
    pub(crate) version: String,
    /// Path of its `Cargo.toml`.
    pub(crate) manifest_path: PathBuf,
    /// The native library its build script links, if any.
    pub(crate) links: Option<String>,
    /// Declared dependencies, of every target and feature.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One declared dependency.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// Absent for a normal one, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// Set for a path dependency.
    pub(crate) path: Option<PathBuf>,
    /// The name it is imported under, when it is not its own.
    pub(crate) rename: Option<String>,
}

/// A crate of a dependency closure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CrateVersion {
    /// Crate name.
    pub(crate) name: String,
    /// Exact version.
    pub(crate) version: String,
}

/// Which features a closure is taken with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Features {
    /// What a plain build of the package turns on.
    Default,
    /// Everything the package offers.
    All,
}

/// Which dependency kinds a closure follows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kinds {
    /// What ends up in the artefact (procedural macros included).
    Normal,
    /// Build scripts and what they need as well.
    NormalAndBuild,
}

/// A cargo command that runs in `root`.
pub(crate) fn command(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Reads the workspace from `cargo metadata`.
pub(crate) fn metadata(root: &Path) -> Result<Metadata> {
    let text = stdout(command(root).args(["metadata", "--format-version", "1", "--locked"]))?;
    serde_json::from_str(&text).context("cargo metadata printed something unexpected")
}

/// The dependency closure of the packages for the host target, with only their own features on.
///
/// `cargo tree` is asked instead of the resolve graph of `cargo metadata`, because the latter
/// unifies features over the whole workspace and so shows crates that the packages never build with.
pub(crate) fn closure(root: &Path, packages: &[&str], features: Features, kinds: Kinds) -> Result<Vec<CrateVersion>> {
    let mut tree = command(root);
    tree.args(["tree", "--locked", "--prefix", "none", "--format", "{p}", "--edges"]);
    tree.arg(match kinds {
        Kinds::Normal => "normal",
        Kinds::NormalAndBuild => "normal,build",
    });
    if matches!(features, Features::All) {
        tree.arg("--all-features");
    }
    for package in packages {
        tree.args(["--package", package]);
    }
    Ok(parse_tree(&stdout(&mut tree)?))
}

/// The target triple that this machine builds for.
pub(crate) fn host_triple() -> Result<String> {
    let text = stdout(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// True when the standard library of a target is installed.
pub(crate) fn has_target(root: &Path, triple: &str) -> Result<bool> {
    let sysroot = stdout(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(triple).join("lib").is_dir())
}

/// Runs a command and returns what it printed; its error output is the error.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed text that is not UTF-8"))
}

/// Runs a command to its end and keeps what it printed.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("cannot start {command:?}"))
}

fn parse_tree(text: &str) -> Vec<CrateVersion> {
    let mut found: Vec<_> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?.to_owned();
            let version = words.next()?.strip_prefix('v')?.to_owned();
            Some(CrateVersion { name, version })
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lines_of_cargo_tree() {
        let text = "a v0.1.0 (/x/a)\nserde_derive v1.0.2 (proc-macro)\nserde v1.0.1\n\na v0.1.0 (/x/a) (*)\n";
        let found: Vec<_> = parse_tree(text).into_iter().map(|c| format!("{} {}", c.name, c.version)).collect();
        assert_eq!(found, ["a 0.1.0", "serde 1.0.1", "serde_derive 1.0.2"]);
    }
}
