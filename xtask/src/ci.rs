//! `cargo xtask ci`: the stages that must pass before a merge, cheapest first, one line each.

use crate::hook_size::Builds;
use crate::violation::Violation;
use crate::{Mode, Verdict, cargo, checks, hook_size, schemas, source, workspace};
use anyhow::{Context as _, Result};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// Which test runner is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    CargoTest,
}

/// One stage: a name, and what it does.
struct Stage {
    name: &'static str,
    work: Work,
}

/// What a stage does.
enum Work {
    /// A check of our own. It runs in this process: the tests may replace the executable on disk.
    Own(&'static str, fn(&Path) -> Result<Vec<Violation>>),
    /// A cargo command.
    Cargo(&'static [&'static str]),
}

impl Stage {
    const fn own(name: &'static str, arguments: &'static str, check: fn(&Path) -> Result<Vec<Violation>>) -> Self {
        Self { name, work: Work::Own(arguments, check) }
    }

    const fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Self {
        Self { name, work: Work::Cargo(arguments) }
    }

    /// What a person runs to see the stage alone.
    fn command_line(&self) -> String {
        match &self.work {
            Work::Own(arguments, _) => format!("cargo xtask {arguments}"),
            Work::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
        }
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
        Stage::own("layers", "layers", |root| Ok(checks::run(checks::LAYERS, &workspace::load(root)?))),
        Stage::own("tidy", "tidy", |root| Ok(checks::run(checks::TIDY, &source::load(root)?))),
        Stage::own("schemas", "schemas", |root| schemas::run(root, Mode::Compare)),
        Stage::cargo("fmt", &["fmt", "--all", "--check"]),
        Stage::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        match runner {
            Runner::Nextest => Stage::cargo("tests", &["nextest", "run", "--workspace"]),
            Runner::CargoTest => Stage::cargo("tests", &["test", "--workspace", "--tests"]),
        },
        Stage::cargo("doc tests", &["test", "--workspace", "--doc"]),
        Stage::own("hook-size", "hook-size --plain", |root| hook_size::run(root, Mode::Compare, Builds::Plain)),
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
    let (verdict, report) = match &stage.work {
        Work::Own(_, check) => judge(&check(root)?),
        Work::Cargo(arguments) => run_cargo(root, arguments)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    match verdict {
        Verdict::Good => println!("ok {seconds:.1} s{report}"),
        Verdict::Broken => {
            println!("FAILED {seconds:.1} s");
            eprintln!("{report}");
            eprintln!("error: the stage `{}` failed\n  hint: to see it alone: {}", stage.name, stage.command_line());
        }
    }
    Ok(verdict)
}

fn judge(violations: &[Violation]) -> (Verdict, String) {
    let verdict = if violations.is_empty() { Verdict::Good } else { Verdict::Broken };
    (verdict, violations.iter().map(|violation| format!("{violation}\n")).collect())
}

fn run_cargo(root: &Path, arguments: &[&str]) -> Result<(Verdict, String)> {
    let output = cargo::output(cargo::command(root).args(arguments))?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok((Verdict::Good, test_counts(&text))) } else { Ok((Verdict::Broken, text)) }
}

/// The closing lines of a test runner that ran something, so that a run shows what it tested.
fn test_counts(text: &str) -> String {
    let closing = |line: &&str| {
        (line.contains("Summary [") && line.contains("tests run"))
            || (line.contains("test result:") && !line.contains(" 0 passed"))
    };
    text.lines().filter(closing).map(|line| format!("\n  {}", line.trim())).collect()
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
    fn a_run_shows_what_was_tested_and_not_what_was_empty() {
        let text = "x\n     Summary [  2.0s] 3 tests run: 3 passed\ntest result: ok. 0 passed; 0 failed\n";
        assert_eq!(test_counts(text), "\n  Summary [  2.0s] 3 tests run: 3 passed");
    }

    #[test]
    fn a_failing_stage_fails_the_run() {
        let here = Path::new(".");
        let broken = Stage::own("probe", "probe", |_| Ok(vec![Violation::new("probe", "here", "no", "yes")]));
        assert_eq!(run_stage(here, &broken).unwrap(), Verdict::Broken);
        let nowhere = tempfile::tempdir().unwrap();
        let failing = Stage::cargo("probe", &["metadata", "--format-version", "1", "--offline"]);
        assert_eq!(run_stage(nowhere.path(), &failing).unwrap(), Verdict::Broken);
        let passing = Stage::cargo("probe", &["--version"]);
        assert_eq!(run_stage(nowhere.path(), &passing).unwrap(), Verdict::Good);
    }
}
