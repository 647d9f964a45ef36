//! Whole processes: built as they ship, run with input, timed and counted.

use crate::sample::Samples;
use anyhow::{Context as _, Result, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) label: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

/// Builds one package of this workspace and returns its executable.
pub(crate) fn build(package: &str, binary: &str, profile: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", package, "--bin", binary, "--profile", profile])
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "{package} could not be built");
    let own = std::env::current_exe()?;
    let target = own.ancestors().nth(2).context("the target folder")?;
    Ok(target.join(profile).join(format!("{binary}{}", std::env::consts::EXE_SUFFIX)))
}

/// The first of these programs that is installed.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Runs every program in turn, round after round, so that noise falls on all of them alike.
pub(crate) fn time_all(programs: &[Program], input: &[u8], rounds: u32) -> Result<Vec<Samples>> {
    let mut samples = vec![Samples::default(); programs.len()];
    for round in 0..=rounds {
        for (program, samples) in programs.iter().zip(&mut samples) {
            let start = Instant::now();
            run(&program.path, &program.arguments, input)?;
            if round > 0 {
                samples.add(start.elapsed());
            }
        }
    }
    Ok(samples)
}

fn run(path: &Path, arguments: &[String], input: &[u8]) -> Result<()> {
    let mut child = Command::new(path)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} cannot be started", path.display()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input closes the pipe.
        let _ = stdin.write_all(input);
    }
    child.wait()?;
    Ok(())
}

/// Instructions of one run by callgrind; `None` where valgrind is missing or gives up.
pub(crate) fn instructions(program: &Program, input: &[u8]) -> Option<u64> {
    let mut child = Command::new(find("valgrind")?)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&program.path)
        .args(&program.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let _ = child.stdin.take()?.write_all(input);
    let output = child.wait_with_output().ok()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = report.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}
