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
    pub(crate) variables: Vec<(String, String)>,
}

impl Program {
    pub(crate) fn new(label: &'static str, path: &Path, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self { label, path: path.to_owned(), arguments, variables: Vec::new() }
    }

    /// Runs it once with this input.
    pub(crate) fn run(&self, input: &[u8]) -> Result<()> {
        let mut child = self.command(&self.path).args(&self.arguments).stderr(Stdio::null()).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input closes the pipe.
            let _ = stdin.write_all(input);
        }
        child.wait()?;
        Ok(())
    }

    fn command(&self, path: &Path) -> Command {
        let mut command = Command::new(path);
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.envs(variables).stdin(Stdio::piped()).stdout(Stdio::null());
        command
    }
}

/// Builds one package of this workspace and returns its executable.
pub(crate) fn build(package: &str, binary: &str, profile: &str) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--package", package, "--bin", binary, "--profile", profile])
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "{package} could not be built");
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target_folder()?.join(folder).join(format!("{binary}{}", std::env::consts::EXE_SUFFIX)))
}

/// The program that ships, built now unless `DISPATCH_BENCH_PROGRAM` names one.
pub(crate) fn dispatch() -> Result<PathBuf> {
    match std::env::var_os("DISPATCH_BENCH_PROGRAM") {
        Some(path) => Ok(path.into()),
        None => build("dispatch", "dispatch", "release"),
    }
}

/// Where cargo builds.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    own.ancestors().nth(2).map(Path::to_path_buf).context("the target folder")
}

/// The first of these programs that is installed.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Runs every program in turn, round after round, so that noise falls on all of them alike.
pub(crate) fn time_all(programs: &[Program], input: &dyn Fn(u32) -> Vec<u8>, rounds: u32) -> Result<Vec<Samples>> {
    let mut samples = vec![Samples::default(); programs.len()];
    for round in 0..=rounds {
        for (program, samples) in programs.iter().zip(&mut samples) {
            let input = input(round);
            let start = Instant::now();
            program.run(&input)?;
            if round > 0 {
                samples.add(start.elapsed());
            }
        }
    }
    Ok(samples)
}

/// Instructions of one run by callgrind; `None` where valgrind is missing or gives up.
pub(crate) fn instructions(program: &Program, input: &[u8]) -> Option<u64> {
    let mut child = program
        .command(&find("valgrind")?)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(&program.path)
        .args(&program.arguments)
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let _ = child.stdin.take()?.write_all(input);
    let output = child.wait_with_output().ok()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = report.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(':').next()?.trim().replace(',', "").parse().ok()
}

/// The resident memory of a process.
pub(crate) fn resident_kb(process: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().next().context("a number")?.parse()?)
}

/// The memory of a process and of those that it started, where a page that several share counts in parts.
pub(crate) fn shared_kb(process: u32) -> Result<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).context("Pss")?;
    let own: u64 = line.split_whitespace().next().context("a number")?.parse()?;
    let started = children(process)?;
    // One that ended meanwhile has no memory.
    Ok(own + started.into_iter().filter_map(|child| shared_kb(child).ok()).sum::<u64>())
}

fn children(of: u32) -> Result<Vec<u32>> {
    let all = std::fs::read_dir("/proc")?.flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    Ok(ids.filter(|id| parent(*id) == Some(of)).collect())
}

fn parent(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}
