//! `cargo xtask ci`: the stages that must pass before a merge, cheapest first, one line each.

use crate::Verdict;
use crate::cargo;
use anyhow::{Context as _, Result};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Which test runner is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    CargoTest,
}

/// One stage: a name, and the cargo command that is also what a person runs to see it alone.
#[derive(Debug, PartialEq, Eq)]
struct Stage {
    name: &'static str,
    cargo: &'static [&'static str],
}

impl Stage {
    const fn new(name: &'static str, cargo: &'static [&'static str]) -> Self {
        Self { name, cargo }
    }

    fn command_line(&self) -> String {
        format!("cargo {}", self.cargo.join(" "))
    }
}

/// Runs the stages until one fails.
pub(crate) fn run(root: &Path) -> Result<Verdict> {
    let start = Instant::now();
    for stage in stages(runner(root)) {
        if run_stage(root, &stage)? == Verdict::Broken {
            return Ok(Verdict::Broken);
        }
    }
    println!("ci: ok ({:.1} s)", start.elapsed().as_secs_f64());
    Ok(Verdict::Good)
}

fn stages(runner: Runner) -> Vec<Stage> {
    vec![
        Stage::new("layers", &["xtask", "layers"]),
        Stage::new("tidy", &["xtask", "tidy"]),
        Stage::new("schemas", &["xtask", "schemas"]),
        Stage::new("fmt", &["fmt", "--all", "--check"]),
        Stage::new("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        match runner {
            Runner::Nextest => Stage::new("tests", &["nextest", "run", "--workspace"]),
            Runner::CargoTest => Stage::new("tests", &["test", "--workspace", "--tests"]),
        },
        Stage::new("doc tests", &["test", "--workspace", "--doc"]),
        Stage::new("hook-size", &["xtask", "hook-size", "--plain"]),
    ]
}

fn runner(root: &Path) -> Runner {
    let mut probe = cargo::command(root);
    probe.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    match probe.status() {
        Ok(status) if status.success() => Runner::Nextest,
        _ => Runner::CargoTest,
    }
}

fn run_stage(root: &Path, stage: &Stage) -> Result<Verdict> {
    print!("{:<10} ... ", stage.name);
    std::io::stdout().flush().context("cannot write to stdout")?;
    let start = Instant::now();
    let output = cargo::output(&mut command(root, stage)?)?;
    let seconds = start.elapsed().as_secs_f64();
    if output.status.success() {
        println!("ok {seconds:.1} s");
        return Ok(Verdict::Good);
    }
    println!("FAILED {seconds:.1} s");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("error: the stage `{}` failed\n  hint: to see it alone: {}", stage.name, stage.command_line());
    Ok(Verdict::Broken)
}

// Own commands run in this very executable: `cargo xtask` would wait to build it again.
fn command(root: &Path, stage: &Stage) -> Result<Command> {
    if let ["xtask", arguments @ ..] = stage.cargo {
        let mut command = Command::new(std::env::current_exe().context("cannot find this executable")?);
        command.args(arguments).arg("--root").arg(root);
        return Ok(command);
    }
    let mut command = cargo::command(root);
    command.args(stage.cargo);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_checks_come_before_builds_and_builds_before_tests() {
        for runner in [Runner::Nextest, Runner::CargoTest] {
            let names: Vec<_> = stages(runner).iter().map(|stage| stage.name).collect();
            assert_eq!(names, ["layers", "tidy", "schemas", "fmt", "clippy", "tests", "doc tests", "hook-size"]);
        }
    }

    #[test]
    fn the_runner_decides_how_tests_are_started() {
        let line = |runner| stages(runner)[5].command_line();
        assert!(line(Runner::Nextest).starts_with("cargo nextest run --workspace"));
        assert!(line(Runner::CargoTest).starts_with("cargo test --workspace"));
    }

    #[test]
    fn a_failing_stage_fails_the_run() {
        let nowhere = tempfile::tempdir().unwrap();
        let failing = Stage::new("probe", &["metadata", "--format-version", "1", "--offline"]);
        assert_eq!(run_stage(nowhere.path(), &failing).unwrap(), Verdict::Broken);
        let passing = Stage::new("probe", &["--version"]);
        assert_eq!(run_stage(nowhere.path(), &passing).unwrap(), Verdict::Good);
    }
}
