//! Which guards are compared, where they come from, and how each is registered with Claude Code.

use crate::cargo;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A guard that is compared with ours.
pub(super) struct Rival {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    source: RivalSource,
    program: &'static str,
    pub(super) hook: RivalHook,
}

/// Where a guard is installed from.
enum RivalSource {
    /// The npm registry.
    Npm(&'static str),
    /// The Python package index.
    Pip(&'static str),
    /// The Rust crate registry.
    Crate(&'static str),
    /// No registry: whoever has it puts it where the others are installed.
    Nowhere,
}

/// How a guard is asked.
pub(super) enum RivalHook {
    /// By these words behind its program, as its documentation says.
    Words(&'static [&'static str]),
    /// By the command that these words of it write into the user's settings of Claude Code.
    Registered(&'static [&'static str]),
}

impl Rival {
    pub(super) const ALL: &'static [Self] = &[
        Self {
            name: "nah",
            version: "0.11.0",
            source: RivalSource::Pip("nah"),
            program: "nah",
            hook: RivalHook::Registered(&["install", "claude"]),
        },
        Self {
            name: "shellfirm",
            version: "0.4.1",
            source: RivalSource::Crate("shellfirm"),
            program: "shellfirm",
            hook: RivalHook::Registered(&["connect", "claude-code"]),
        },
        Self {
            name: "cc-safety-net",
            version: "2.4.5",
            source: RivalSource::Npm("cc-safety-net"),
            program: "cc-safety-net",
            hook: RivalHook::Words(&["hook", "--coding-cli"]),
        },
        Self {
            name: "dcg",
            version: "0.16.0",
            source: RivalSource::Crate("destructive_command_guard"),
            program: "dcg",
            hook: RivalHook::Words(&[]),
        },
        Self {
            name: "nah",
            version: "1.3.1",
            source: RivalSource::Nowhere,
            program: "nah",
            hook: RivalHook::Registered(&["hook", "claude", "install"]),
        },
        Self {
            name: "shguard",
            version: "0.6.0",
            source: RivalSource::Nowhere,
            program: "shguard",
            hook: RivalHook::Words(&[]),
        },
    ];

    /// Whether one of these names is its own, with or without its version: `nah`, `nah-1.3.1`.
    pub(super) fn is_one_of(&self, names: &[&str]) -> bool {
        names.is_empty() || names.iter().any(|name| self.folder_name().starts_with(name))
    }

    /// The name with its version.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Installs guards below one folder.
pub(super) struct RivalInstaller<'a> {
    root: &'a Path,
    folder: &'a Path,
}

impl<'a> RivalInstaller<'a> {
    pub(super) const fn new(root: &'a Path, folder: &'a Path) -> Self {
        Self { root, folder }
    }

    /// Installs a guard unless that version is there; its program.
    pub(super) fn install(&self, rival: &Rival) -> Result<PathBuf> {
        let place = self.folder.join(rival.folder_name());
        let program = match rival.source {
            RivalSource::Npm(_) => place.join("node_modules/.bin").join(rival.program),
            RivalSource::Pip(_) | RivalSource::Crate(_) | RivalSource::Nowhere => place.join("bin").join(rival.program),
        };
        if program.exists() {
            return Ok(program);
        }
        let commands = self.commands(rival, &place);
        if commands.is_empty() {
            bail!("no registry has it");
        }
        std::fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        for mut command in commands {
            eprintln!("{}: {command:?}", rival.title());
            if !command.status().with_context(|| format!("cannot start {command:?}"))?.success() {
                bail!("{command:?} failed");
            }
        }
        if !program.exists() {
            bail!("it installed no program `{}`", rival.program);
        }
        Ok(program)
    }

    fn commands(&self, rival: &Rival, place: &Path) -> Vec<Command> {
        match rival.source {
            RivalSource::Npm(package) => {
                let mut npm = Command::new("npm");
                npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(place);
                npm.arg(format!("{package}@{}", rival.version));
                vec![npm]
            }
            RivalSource::Pip(package) => {
                let mut environment = Command::new("python3");
                environment.args(["-m", "venv"]).arg(place);
                let mut pip = Command::new(place.join("bin/pip"));
                pip.args(["install", "--quiet"]).arg(format!("{package}=={}", rival.version));
                vec![environment, pip]
            }
            RivalSource::Crate(package) => {
                let mut install = self.cargo_install(place);
                install.arg(format!("{package}@{}", rival.version));
                vec![install]
            }
            RivalSource::Nowhere => Vec::new(),
        }
    }

    fn cargo_install(&self, place: &Path) -> Command {
        let mut install = cargo::command(self.root);
        // Its lock file may name a version that a mirror of the registry lacks, and its dependencies a newer compiler.
        install.args(["install", "--ignore-rust-version", "--root"]).arg(place);
        install.env("CARGO_TARGET_DIR", self.folder.join("build"));
        install
    }
}

#[cfg(test)]
mod tests {
    use super::Rival;

    #[test]
    fn a_guard_is_named_with_or_without_its_version() {
        let named = |names: &[&str]| {
            Rival::ALL.iter().filter(|rival| rival.is_one_of(names)).map(Rival::title).collect::<Vec<_>>()
        };
        assert_eq!(named(&["nah"]), ["nah 0.11.0", "nah 1.3.1"]);
        assert_eq!(named(&["nah-1.3.1", "dcg"]), ["dcg 0.16.0", "nah 1.3.1"]);
        assert_eq!(named(&[]).len(), Rival::ALL.len());
    }
}
