//! `cargo xtask ci`: the steps that must pass before a merge, cheapest first, one line each.

use crate::hook_size::Builds;
use crate::violation::Violation;
use crate::{Mode, Verdict, cargo, checks, hook_size, schemas, source, workspace};
use anyhow::{Context as _, Result};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Which test runner is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Nextest,
    CargoTest,
}

/// One step: a name, and what it does.
struct CiStep {
    name: &'static str,
    work: StepWork,
}

/// What a step does.
enum StepWork {
    /// A check of our own. It runs in this process: the tests may replace the executable on disk.
    Own(&'static str, fn(&Path) -> Result<Vec<Violation>>),
    /// A cargo command.
    Cargo(&'static [&'static str]),
}

impl CiStep {
    const fn own(name: &'static str, arguments: &'static str, check: fn(&Path) -> Result<Vec<Violation>>) -> Self {
        Self { name, work: StepWork::Own(arguments, check) }
    }

    const fn cargo(name: &'static str, arguments: &'static [&'static str]) -> Self {
        Self { name, work: StepWork::Cargo(arguments) }
    }

    /// What a person runs to see the step alone.
    fn command_line(&self) -> String {
        match &self.work {
            StepWork::Own(arguments, _) => format!("cargo xtask {arguments}"),
            StepWork::Cargo(arguments) => format!("cargo {}", arguments.join(" ")),
        }
    }
}

const TESTS: &str = "tests";
const HOOK_SIZE: &str = "hook-size";

/// The build of dispatch-hook that `hook-size` needs. It takes one core for minutes, and tests wait more than they
/// compute, so it runs beside them, behind everything else that wants the processor.
struct BackgroundBuild(Child);

impl BackgroundBuild {
    /// `None` where there is no `nice`: then `hook-size` builds by itself.
    fn start(root: &Path) -> Option<Self> {
        let build = hook_size::build_command(root);
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"]).arg(build.get_program()).args(build.get_args()).current_dir(root);
        nice.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok().map(Self)
    }

    // Whether it built is seen by the step itself, which asks cargo again.
    fn wait(mut self) {
        let _ = self.0.wait();
    }
}

impl Drop for BackgroundBuild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the steps until one fails.
pub(crate) fn run(root: &Path) -> Result<Verdict> {
    let start = Instant::now();
    let mut hook_build = None;
    for step in steps(runner(root)) {
        if step.name == TESTS {
            hook_build = BackgroundBuild::start(root);
        } else if step.name == HOOK_SIZE
            && let Some(build) = hook_build.take()
        {
            build.wait();
        }
        if run_step(root, &step)? == Verdict::Broken {
            return Ok(Verdict::Broken);
        }
    }
    println!("ci: ok ({:.1} s)", start.elapsed().as_secs_f64());
    Ok(Verdict::Good)
}

fn steps(runner: Runner) -> Vec<CiStep> {
    vec![
        CiStep::own("layers", "layers", |root| Ok(checks::run(checks::LAYERS, &workspace::load(root)?))),
        CiStep::own("tidy", "tidy", |root| Ok(checks::run(checks::TIDY, &source::load(root)?))),
        CiStep::own("schemas", "schemas", |root| schemas::run(root, Mode::Compare)),
        CiStep::cargo("fmt", &["fmt", "--all", "--check"]),
        CiStep::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        match runner {
            Runner::Nextest => CiStep::cargo(TESTS, &["nextest", "run", "--workspace"]),
            Runner::CargoTest => CiStep::cargo(TESTS, &["test", "--workspace", "--tests"]),
        },
        CiStep::cargo("doc tests", &["test", "--workspace", "--doc"]),
        CiStep::own(HOOK_SIZE, "hook-size --plain", |root| hook_size::run(root, Mode::Compare, Builds::Plain)),
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

fn run_step(root: &Path, step: &CiStep) -> Result<Verdict> {
    print!("{:<10} ... ", step.name);
    std::io::stdout().flush().context("cannot write to stdout")?;
    let start = Instant::now();
    let (verdict, report) = match &step.work {
        StepWork::Own(_, check) => judge(&check(root)?),
        StepWork::Cargo(arguments) => run_cargo(root, arguments)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    match verdict {
        Verdict::Good => println!("ok {seconds:.1} s{report}"),
        Verdict::Broken => {
            println!("FAILED {seconds:.1} s");
            eprintln!("{report}");
            eprintln!("error: the step `{}` failed\n  hint: to see it alone: {}", step.name, step.command_line());
        }
    }
    Ok(verdict)
}

fn judge(violations: &[Violation]) -> (Verdict, String) {
    let verdict = if violations.is_empty() { Verdict::Good } else { Verdict::Broken };
    (verdict, violations.iter().map(|violation| format!("{violation}\n")).collect())
}

fn run_cargo(root: &Path, arguments: &[&str]) -> Result<(Verdict, String)> {
    let output = cargo::output(clean_build(cargo::command(root).args(arguments)))?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok((Verdict::Good, test_counts(&text))) } else { Ok((Verdict::Broken, text)) }
}

// A machine that builds everything once gains nothing from incremental compilation and pays for its bookkeeping.
fn clean_build(command: &mut Command) -> &mut Command {
    if std::env::var_os("CI").is_some() { command.env("CARGO_INCREMENTAL", "0") } else { command }
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
    fn our_own_checks_come_before_builds_and_clippy_before_tests() {
        for runner in [Runner::Nextest, Runner::CargoTest] {
            let steps = steps(runner);
            let at = |name| steps.iter().position(|step| step.name == name).unwrap();
            assert!(at("tidy") < at("clippy") && at("clippy") < at(TESTS) && at(TESTS) < at(HOOK_SIZE));
        }
    }

    #[test]
    fn the_runner_decides_how_tests_are_started() {
        let line = |runner| steps(runner).iter().find(|step| step.name == TESTS).unwrap().command_line();
        assert!(line(Runner::Nextest).starts_with("cargo nextest run --workspace"));
        assert!(line(Runner::CargoTest).starts_with("cargo test --workspace"));
    }

    #[test]
    fn a_run_shows_what_was_tested_and_not_what_was_empty() {
        let text = "x\n     Summary [  2.0s] 3 tests run: 3 passed\ntest result: ok. 0 passed; 0 failed\n";
        assert_eq!(test_counts(text), "\n  Summary [  2.0s] 3 tests run: 3 passed");
    }

    #[test]
    fn a_failing_step_fails_the_run() {
        let here = Path::new(".");
        let broken = CiStep::own("probe", "probe", |_| Ok(vec![Violation::new("probe", "here", "no", "yes")]));
        assert_eq!(run_step(here, &broken).unwrap(), Verdict::Broken);
        let nowhere = tempfile::tempdir().unwrap();
        let failing = CiStep::cargo("probe", &["metadata", "--format-version", "1", "--offline"]);
        assert_eq!(run_step(nowhere.path(), &failing).unwrap(), Verdict::Broken);
        let passing = CiStep::cargo("probe", &["--version"]);
        assert_eq!(run_step(nowhere.path(), &passing).unwrap(), Verdict::Good);
    }
}
