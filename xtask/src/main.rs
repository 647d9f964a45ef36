//! `cargo xtask`: the repository's own commands, from arguments to exit status.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool: results go to stdout, errors and hints to stderr"
)]

use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod cargo;
mod checks;
mod ci;
mod commands;
mod dist;
mod elf;
mod hook_order;
mod hook_size;
mod layers;
mod lexer;
mod live;
mod picture;
mod rivals;
mod schemas;
mod source;
mod tidy;
mod violation;
mod workspace;

use hook_size::Builds;
use violation::Violation;

const HELP: &str = "\
cargo xtask COMMAND [--root DIR]

  ci                   everything that must pass before a merge, cheapest first
  layers               who may import whom, and what the kernel is built from
  tidy                 house rules for every file
  commands             writes docs/commands.md from the command line of dispatch
  picture              draws docs/assets/session.svg, the session in the README, from a real run
  schemas [--write]    generated files are up to date; --write brings them up to date
  surface --write      records the public items of dispatch-contracts for its present version
  hook-size            crate list and size of dispatch-hook, also static where musl is installed
            --plain      the host build alone
            --write      takes over the crate list
  hook-order FILE      takes over from callgrind's FILE which functions stand together in dispatch-hook
  bench [NAME]         the benchmarks, or one of them
  live [HOST...]       installs real agents, drives each with a scripted model, writes the table in docs/hosts.md
  rivals [NAME]        other guards and ours on the same lists of commands; installs them below target/rivals
  dist                 builds what is shipped into target/dist
  help                 this text

--root DIR works on another copy of the repository. docs/checks.md lists every check.
Exit status: 0 all good, 1 a rule is broken or a step failed, 2 the command could not run.";

/// What a command found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every rule holds.
    Good,
    /// A rule is broken or a step failed.
    Broken,
}

/// Whether generated content is compared or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Differences are violations.
    Compare,
    /// Differences are overwritten.
    Write,
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Broken) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(mut arguments: Vec<String>) -> Result<Verdict> {
    let root = root(&mut arguments)?;
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["ci"] => ci::run(&root),
        ["layers"] => Ok(report("layers", &checks::run(checks::LAYERS, &workspace::load(&root)?))),
        ["tidy"] => Ok(report("tidy", &checks::run(checks::TIDY, &source::load(&root)?))),
        ["schemas"] => Ok(report("schemas", &schemas::run(&root, Mode::Compare)?)),
        ["schemas", "--write"] => {
            schemas::write_by_test(&root)?;
            Ok(report("schemas", &schemas::run(&root, Mode::Write)?))
        }
        ["surface", "--write"] => tidy::contracts_surface::write(&root, &source::load(&root)?).map(|()| Verdict::Good),
        ["commands"] => commands::run(&root).map(|()| Verdict::Good),
        ["picture"] => picture::run(&root).map(|()| Verdict::Good),
        ["hook-size"] => Ok(report("hook-size", &hook_size::run(&root, Mode::Compare, Builds::Every)?)),
        ["hook-size", "--plain"] => Ok(report("hook-size", &hook_size::run(&root, Mode::Compare, Builds::Plain)?)),
        ["hook-size", "--write"] => Ok(report("hook-size", &hook_size::run(&root, Mode::Write, Builds::Every)?)),
        ["hook-order", profile] => hook_order::run(&root, Path::new(profile)).map(|()| Verdict::Good),
        ["bench", names @ ..] => bench(&root, names),
        ["live", hosts @ ..] => live::run(&root, hosts),
        ["rivals", names @ ..] => rivals::run(&root, names).map(|()| Verdict::Good),
        ["dist"] => dist::run(&root).map(|()| Verdict::Good),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(Verdict::Good)
        }
        other => bail!("unknown command `{}`\n\n{HELP}", other.join(" ")),
    }
}

fn report(command: &str, violations: &[Violation]) -> Verdict {
    for violation in violations {
        eprintln!("{violation}");
    }
    if violations.is_empty() {
        println!("{command}: ok");
        return Verdict::Good;
    }
    eprintln!("{command}: {} broken (docs/checks.md has the rules)", violations.len());
    Verdict::Broken
}

fn bench(root: &Path, names: &[&str]) -> Result<Verdict> {
    let status = cargo::command(root)
        .args(["run", "--release", "--package", "dispatch-benches", "--"])
        .args(names)
        .status()
        .context("cannot start cargo")?;
    Ok(if status.success() { Verdict::Good } else { Verdict::Broken })
}

// `--root DIR`, else the nearest folder upwards whose Cargo.toml is a workspace.
fn root(arguments: &mut Vec<String>) -> Result<PathBuf> {
    if let Some(at) = arguments.iter().position(|argument| argument == "--root") {
        let mut given = arguments.drain(at..arguments.len().min(at + 2)).skip(1);
        let folder = given.next().context("--root needs a folder")?;
        return std::path::absolute(&folder).with_context(|| format!("invalid folder `{folder}`"));
    }
    let here = std::env::current_dir().context("cannot read the current folder")?;
    here.ancestors()
        .find(|folder| {
            std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace]"))
        })
        .map(Path::to_path_buf)
        .context("no Cargo.toml with [workspace] here or above; run this inside the repository")
}
