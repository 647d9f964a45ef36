//! What workspace hooks cost: reading five hundred of them, a save until it is queued, and a tree of fifty thousand files.

mod editor;
mod folder_watch;
mod workspace;

use crate::pauses::{Pauses, TimedSamples};
use crate::process::{Program, dispatch, find, resident_kb, time_all};
use crate::sample::Samples;
use crate::{row, table};
use anyhow::{Context as _, Result, bail, ensure};
use dispatch_contracts::folders::Folders;
use editor::Editor;
use ext_workspace_hooks::contract::read_hook_files;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use workspace::ReactWorkspace;

const HOOKS: u32 = 500;
const CHECKS: u32 = 20;
/// Saves that are timed, each of another file.
const SAVES: u32 = 300;
const FOLDERS: u32 = 500;
const FILES_OF_FOLDER: u32 = 100;
const STARTS: u32 = 5;
/// How long a process may take to say that it watches.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between saves, so that none waits for the one before.
const PAUSE: Duration = Duration::from_millis(10);

pub(crate) fn run() -> Result<()> {
    let program = dispatch()?;
    let mut rows = vec![row!["what", "best", "median", "p99", "wanted"]];
    rows.extend(configuration(&program)?);
    rows.extend(saves(&program)?);
    rows.extend(large_tree(&program)?);
    table::print(&rows);
    Ok(())
}

fn milliseconds(samples: &Samples) -> [String; 3] {
    [samples.best_us(), samples.median_us(), samples.percentile_us(99)].map(|us| format!("{:.2} ms", us / 1e3))
}

fn timed(what: &str, samples: &Samples, wanted: &str) -> Vec<String> {
    let [best, median, p99] = milliseconds(samples);
    row![what, best, median, p99, wanted]
}

/// A hook that waits for so long that only the queue is measured.
fn waiting(id: &str, pattern: &str) -> Value {
    json!({
        "id": id, "trigger": "onDidSaveTextDocument", "pattern": pattern, "command": ["true"], "debounceMs": 60_000,
    })
}

/// Reading five hundred hooks: in a whole process, and as the library does it.
fn configuration(program: &Path) -> Result<Vec<Vec<String>>> {
    let workspace = ReactWorkspace::new(program)?;
    let hooks: Vec<Value> = (0..HOOKS)
        .map(|number| waiting(&format!("hook-{number}"), &format!("crates/part{number}/**/*.{{rs,toml}}")))
        .collect();
    workspace.approve(&json!({ "hooks": hooks }))?;
    let (project, folder) = (workspace.project(), workspace.home());
    let mut check = Program::new(
        "check",
        program,
        &["--project", project.to_str().context("a folder whose name is text")?, "workspace-hooks", "check"],
    );
    check.variables = workspace.variables()?;
    let version = Program::new("version", program, &["--version"]);
    let samples = time_all(&[check, version], &|_| Vec::new(), CHECKS)?;
    let [check, version] = samples.as_slice() else { bail!("two programs were timed") };
    let user = || folder.clone();
    let folders =
        Folders { config: user(), data: user(), state: user(), cache: user(), project: None, workdir: project.clone() };
    let library = Samples::of(CHECKS, || {
        drop(read_hook_files(&project, &folders));
    });
    Ok(vec![
        timed(&format!("`workspace-hooks check` of {HOOKS} hooks, whole process"), check, "under 20 ms"),
        timed("(`dispatch --version`)", version, ""),
        timed(&format!("reading {HOOKS} hooks, the library alone"), &library, ""),
    ])
}

/// From a save to the line that says it is queued, as an editor reports it and as the watcher finds it.
fn saves(program: &Path) -> Result<Vec<Vec<String>>> {
    let workspace = ReactWorkspace::new(program)?;
    workspace.approve(&json!({ "limits": { "queued": 10_000 }, "hooks": [waiting("save", "src/**")] }))?;
    (0..SAVES).try_for_each(|file| workspace.write(&name(file), "before"))?;
    let mut editor = Editor::start(&workspace)?;
    let pauses = Pauses::watch();
    let mut reported = TimedSamples::default();
    for file in 0..SAVES {
        workspace.write(&name(file), "as the editor saved it")?;
        let start = Instant::now();
        reported.add(start, workspace.until_logged(|| editor.did_save(&name(file)))?);
        std::thread::sleep(PAUSE);
    }
    drop(editor);
    workspace.forget_log()?;
    (0..SAVES).try_for_each(|file| workspace.write(&other_name(file), "before"))?;
    let watch = Watcher::dispatch(&workspace)?;
    let mut noticed = TimedSamples::default();
    for file in 0..SAVES {
        let start = Instant::now();
        noticed.add(start, workspace.until_logged(|| workspace.write(&other_name(file), "as somebody saved it"))?);
        std::thread::sleep(PAUSE);
    }
    drop(watch);
    let mut rows = Vec::new();
    for (what, measured, wanted) in [("lsp", reported, "under 5 ms"), ("watch", noticed, "under 30 ms")] {
        let (calm, all) = pauses.apart(&measured);
        rows.push(timed(&format!("save until it is queued, `{what}`"), &calm, wanted));
        let met = all.len() - calm.len();
        rows.push(timed(&format!("(with the {met} of {SAVES} that met a pause of the machine)"), &all, ""));
    }
    rows.push(timed("(one `fdatasync` on the same disk)", &workspace.disk(SAVES, PAUSE)?, ""));
    Ok(rows)
}

fn name(file: u32) -> String {
    format!("src/f{file}.rs")
}

fn other_name(file: u32) -> String {
    format!("src/other/f{file}.rs")
}

/// The start of watchers on fifty thousand files, and their memory.
fn large_tree(program: &Path) -> Result<Vec<Vec<String>>> {
    let workspace = ReactWorkspace::new(program)?;
    workspace.approve(&json!({ "hooks": [waiting("save", "**/*.rs")] }))?;
    for folder in 0..FOLDERS {
        for file in 0..FILES_OF_FOLDER {
            workspace.write(&format!("part{}/m{folder}/f{file}.rs", folder % 20), "fn main() {}\n")?;
        }
    }
    let files = FOLDERS * FILES_OF_FOLDER;
    let mut rows = watcher_rows(&format!("`watch` of {files} files"), "under 1 s", || Watcher::dispatch(&workspace))?;
    if let Some(other) = find("inotifywait") {
        rows.extend(watcher_rows("(`inotifywait -r -m`, the same)", "", || Watcher::inotifywait(&other, &workspace))?);
    }
    if let Some(other) = find("watchexec") {
        rows.extend(watcher_rows("(`watchexec`, until it reacts)", "", || Watcher::watchexec(&other, &workspace))?);
    }
    Ok(rows)
}

fn watcher_rows(what: &str, wanted: &str, start: impl Fn() -> Result<Watcher>) -> Result<Vec<Vec<String>>> {
    let (mut ready, mut resident) = (Samples::default(), Vec::new());
    for _ in 0..STARTS {
        let begin = Instant::now();
        let watcher = start()?;
        ready.add(begin.elapsed());
        std::thread::sleep(Duration::from_millis(200));
        resident.push(resident_kb(watcher.child.id())?);
    }
    resident.sort_unstable();
    let megabytes = |at: usize| resident.get(at).map_or("-".to_owned(), |kb| format!("{:.1} MB", *kb as f64 / 1024.0));
    Ok(vec![
        timed(&format!("{what}: start"), &ready, wanted),
        row![format!("{what}: resident memory"), megabytes(0), megabytes(resident.len() / 2), "", ""],
    ])
}

/// A process that watches, until this is dropped.
struct Watcher {
    child: Child,
}

impl Watcher {
    fn dispatch(workspace: &ReactWorkspace) -> Result<Self> {
        let mut command = workspace.command(&["watch", "--json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut watcher = Self { child: command.spawn()? };
        let output = watcher.child.stdout.take().context("its output")?;
        watcher.until(output, "\"watching\"")
    }

    fn inotifywait(program: &PathBuf, workspace: &ReactWorkspace) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["-r", "-m", "-e", "close_write,moved_to,create,delete"]).arg(workspace.project());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut watcher = Self { child: command.spawn()? };
        let output = watcher.child.stderr.take().context("its output")?;
        watcher.until(output, "Watches established")
    }

    /// It does not say when it watches, so files are saved until it sees one.
    fn watchexec(program: &PathBuf, workspace: &ReactWorkspace) -> Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["--postpone", "--quiet", "--shell=none", "--", "echo", "changed"])
            .current_dir(workspace.project());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut watcher = Self { child: command.spawn()? };
        let output = watcher.child.stdout.take().context("its output")?;
        let seen = std::thread::spawn(move || BufReader::new(output).lines().next().is_some());
        let deadline = Instant::now() + PATIENCE;
        while !seen.is_finished() && Instant::now() < deadline {
            workspace.write("touched.rs", &format!("{:?}", Instant::now()))?;
            std::thread::sleep(Duration::from_millis(5));
        }
        ensure!(seen.is_finished(), "it does not react");
        Ok(watcher)
    }

    fn until(self, output: impl std::io::Read + Send + 'static, text: &str) -> Result<Self> {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        ensure!(lines.any(|line| line.contains(text)), "it ended without a word");
        // A pipe that nobody reads would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(self)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
