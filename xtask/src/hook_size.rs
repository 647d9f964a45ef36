//! `cargo xtask hook-size`: the hot path stays small, in crates and in bytes.

use crate::Mode;
use crate::cargo::{self, Features, Kinds};
use crate::violation::Violation;
use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

mod list;

use list::CrateList;

const CHECK: &str = "hook-size";
const PACKAGE: &str = "dispatch-hook";
const PROFILE: &str = "hook";

/// The committed crate list and size limit.
const LIST_FILE: &str = "xtask/hook-crates.txt";

/// The rows of `docs/checks.md`: name, rule, why.
pub(crate) const RULES: &[(&str, &str, &str)] = &[
    (
        "hook-crates",
        "The crates that dispatch-hook is built from are exactly those in xtask/hook-crates.txt.",
        "One process starts per tool call, so what it links is decided on purpose.",
    ),
    (
        "hook-bytes",
        "dispatch-hook, built alone with the `hook` profile, is no larger than `max-bytes` in that file.",
        "Its size is part of its start time.",
    ),
];

/// Which builds are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builds {
    /// The host target alone.
    Plain,
    /// The host target, and static musl where it is installed.
    Every,
}

/// A build of the hook binary.
pub(crate) struct Built {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// How it was built, for people.
    pub(crate) target: String,
}

/// Checks crate list and size, or takes over the crate list.
pub(crate) fn run(root: &Path, mode: Mode, builds: Builds) -> Result<Vec<Violation>> {
    let path = root.join(LIST_FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {LIST_FILE}"))?;
    let list = CrateList::parse(&text).with_context(|| format!("{LIST_FILE} is damaged"))?;
    let crates = crates(root)?;
    let mut found = Vec::new();
    match mode {
        Mode::Compare => found.extend(compare_crates(&list, &crates)),
        Mode::Write => {
            std::fs::write(&path, list::render(&text, &crates)).with_context(|| format!("cannot write {LIST_FILE}"))?
        }
    }
    let mut built = vec![build(root, None)?];
    if builds == Builds::Every {
        built.extend(musl(root)?.map(|triple| build(root, Some(&triple))).transpose()?);
    }
    for built in built {
        let bytes =
            std::fs::metadata(&built.path).with_context(|| format!("cannot measure {}", built.path.display()))?.len();
        println!("{PACKAGE} ({}): {bytes} bytes of {}", built.target, list.max_bytes);
        found.extend(compare_size(&list, &built.target, bytes));
    }
    Ok(found)
}

/// The build of the hook binary for this machine.
pub(crate) fn build_command(root: &Path) -> Command {
    let mut command = cargo::command(root);
    command.args(["build", "--locked", "--quiet", "--package", PACKAGE, "--profile", PROFILE]);
    command
}

/// Builds the hook binary alone, so that no other crate's features leak into it.
pub(crate) fn build(root: &Path, triple: Option<&str>) -> Result<Built> {
    let mut command = build_command(root);
    if let Some(triple) = triple {
        // A static program at a fixed address has nothing to adjust when it starts.
        command.args(["--target", triple]).env("RUSTFLAGS", "-C relocation-model=static");
    }
    build_with(root, command, triple)
}

/// The same, linked statically against the C library of this machine.
pub(crate) fn build_static_host(root: &Path, triple: &str) -> Result<Built> {
    let mut command = build_command(root);
    command.args(["--target", triple]);
    command.env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static");
    build_with(root, command, Some(triple))
}

fn build_with(root: &Path, mut command: Command, triple: Option<&str>) -> Result<Built> {
    let output = cargo::output(&mut command)?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    let mut path = cargo::metadata(root)?.target_directory;
    path.extend(triple);
    path.push(PROFILE);
    path.push(format!("{PACKAGE}{}", std::env::consts::EXE_SUFFIX));
    Ok(Built { path, target: triple.unwrap_or("host").to_owned() })
}

/// The musl triple of this machine, if a static build can be made here; says why not otherwise.
pub(crate) fn musl(root: &Path) -> Result<Option<String>> {
    let host = cargo::host_triple()?;
    let Some(architecture) = host.strip_suffix("-unknown-linux-gnu") else {
        return Ok(None);
    };
    let triple = format!("{architecture}-unknown-linux-musl");
    if !cargo::has_target(root, &triple)? {
        println!("{PACKAGE}: no static build, the target {triple} is not installed");
        return Ok(None);
    }
    let build_crates = cargo::closure(root, &[PACKAGE], Features::Default, Kinds::NormalAndBuild)?;
    let compiles_c = build_crates.iter().any(|found| found.name == "cc");
    if compiles_c && !is_on_path("musl-gcc") {
        println!("{PACKAGE}: no static build, it compiles C and musl-gcc is not installed");
        return Ok(None);
    }
    Ok(Some(triple))
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn crates(root: &Path) -> Result<BTreeSet<String>> {
    let closure = cargo::closure(root, &[PACKAGE], Features::Default, Kinds::Normal)?;
    Ok(closure.into_iter().map(|found| found.name).filter(|name| name != PACKAGE).collect())
}

fn compare_crates(list: &CrateList, crates: &BTreeSet<String>) -> Vec<Violation> {
    let added = crates.difference(&list.crates).map(|name| {
        let message = format!("is built from `{name}`, which is not in {LIST_FILE}");
        (
            message,
            format!("do without it (`cargo tree -p {PACKAGE} -i {name}`), or run `cargo xtask hook-size --write`"),
        )
    });
    let removed = list.crates.difference(crates).map(|name| {
        let message = format!("is no longer built from `{name}`, which is in {LIST_FILE}");
        (message, "run `cargo xtask hook-size --write`".to_owned())
    });
    added.chain(removed).map(|(message, hint)| Violation::new(CHECK, "apps/dispatch-hook", message, hint)).collect()
}

fn compare_size(list: &CrateList, target: &str, bytes: u64) -> Option<Violation> {
    (bytes > list.max_bytes).then(|| {
        Violation::new(
            CHECK,
            "apps/dispatch-hook",
            format!("has {bytes} bytes ({target}), the limit is {}", list.max_bytes),
            format!("find what grew; raise max-bytes in {LIST_FILE} only with a reason in the commit"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> CrateList {
        CrateList::parse("max-bytes = 100\nlexopt\nserde\n").unwrap()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_crate_more_and_a_crate_less_are_reported() {
        assert_eq!(compare_crates(&list(), &set(&["lexopt", "serde"])), []);
        let found = compare_crates(&list(), &set(&["serde", "tokio"]));
        let messages: Vec<_> = found.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "is built from `tokio`, which is not in xtask/hook-crates.txt",
                "is no longer built from `lexopt`, which is in xtask/hook-crates.txt",
            ]
        );
    }

    #[test]
    fn a_byte_too_many_is_reported() {
        assert_eq!(compare_size(&list(), "host", 100), None);
        assert!(compare_size(&list(), "host", 101).unwrap().message.contains("101 bytes (host), the limit is 100"));
    }
}
