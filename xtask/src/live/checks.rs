//! What is tried with each agent, each in a scratch project of its own.

use super::record::{FailureRecord, SessionRecords};
use super::table::{Cell, HostRow};
use crate::cargo;
use anyhow::{Context as _, Result};
use dispatch_live_hosts::{AgentEnd, AgentRun, HostDriver, HostMode, ModelStep, RunPlace, ScratchProject};
use dispatch_os::time;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(180);
/// An agent that is still there after this waits for an answer that nobody gives.
const ASK_TIMEOUT: Duration = Duration::from_secs(60);
const ALLOWED: &str = "echo live-canary > allowed.txt && cat allowed.txt";
const ALLOWED_AGAIN: &str = "echo live-canary > again.txt && cat again.txt";
const REFUSED: &str = "touch refused.txt; rm -rf .git";
const FAILING: &str = "ls no-such-file-of-the-live-check";
const ASKED: &str = "touch asked.txt";
const MISSING: &str = "dispatch-hook is not on PATH";
const SHOWN_CHARS: usize = 120;

/// An installed agent, and where it finds programs.
pub(super) struct DrivenHost {
    host: &'static dyn HostDriver,
    program: PathBuf,
    version: String,
    search_path: Vec<PathBuf>,
    /// The folder with our programs.
    ours: PathBuf,
}

impl DrivenHost {
    pub(super) fn new(
        host: &'static dyn HostDriver,
        program: PathBuf,
        search_path: Vec<PathBuf>,
        ours: PathBuf,
    ) -> Result<Self> {
        let version = host.package().version.to_owned();
        Ok(Self { host, program, version, search_path, ours })
    }

    fn project(&self) -> Result<ScratchProject> {
        Ok(ScratchProject::create(self.search_path.clone())?)
    }

    fn guarded(&self) -> Result<ScratchProject> {
        let project = self.project()?;
        self.dispatch(&project, &["init", "--host", self.host.id()])?;
        Ok(project)
    }

    fn dispatch(&self, project: &ScratchProject, arguments: &[&str]) -> Result<String> {
        // A child that is supervised counts as an agent's, which may not change policy.
        let mut command = Command::new(self.ours.join("dispatch"));
        command.args(arguments).env_clear().envs(project.environment()).current_dir(project.workspace());
        cargo::stdout(&mut command)
    }

    fn run(
        &self,
        project: &ScratchProject,
        mode: HostMode,
        timeout: Duration,
        steps: &dyn Fn(&RunPlace) -> Vec<ModelStep>,
    ) -> Result<AgentRun> {
        Ok(project.drive(self.host, &self.program, mode, &self.version, steps, timeout)?)
    }

    fn run_commands(&self, project: &ScratchProject, commands: &[&str]) -> Result<AgentRun> {
        let steps = |_: &RunPlace| commands.iter().map(|command| self.host.shell(command)).collect();
        self.run(project, self.host.most_permissive(), TIMEOUT, &steps)
    }

    fn records(&self, project: &ScratchProject) -> Result<SessionRecords> {
        Ok(SessionRecords::parse(&self.dispatch(project, &["events", "--json", "--limit", "1000"])?))
    }
}

/// Runs every check.
pub(super) fn check(driven: &DrivenHost) -> Result<HostRow> {
    let [called, allowed, failure] = allowed_calls(driven).context("allowed calls")?;
    let cells = vec![
        called,
        refused_call(driven).context("a refused call")?,
        allowed,
        asked_calls(driven).context("questions")?,
        failure,
        off_switch(driven).context("the off switch")?,
        undo(driven).context("undo")?,
        clone_without_dispatch(driven).context("a clone")?,
    ];
    let date = time::now_rfc3339().chars().take(10).collect();
    Ok(HostRow { host: driven.host.id().to_owned(), version: driven.version.clone(), date, cells })
}

/// Whether the call was judged, whether the model heard the same as without Dispatch, and whether a failure is recorded.
fn allowed_calls(driven: &DrivenHost) -> Result<[Cell; 3]> {
    let project = driven.guarded()?;
    let run = driven.run_commands(&project, &[ALLOWED, FAILING])?;
    let bare = driven.run_commands(&driven.project()?, &[ALLOWED, FAILING])?;
    let records = driven.records(&project)?;
    let called = Cell::of(records.judged("live-canary"), || format!("no record of the call; {}", ended(&run)));
    let ran = project.content("allowed.txt").is_some();
    let same = plain(run.told(0)) == plain(bare.told(0)) && run.told(0).is_some();
    let allowed = match (ran, same) {
        (true, true) => Cell::yes("yes"),
        (true, false) => Cell::no(format!("told `{}` instead of `{}`", plain(run.told(0)), plain(bare.told(0)))),
        (false, _) => Cell::no(format!("the call did not run; told `{}`; {}", plain(run.told(0)), ended(&run))),
    };
    let failure = match records.failure("no-such-file-of-the-live-check") {
        FailureRecord::Failed => Cell::yes("yes"),
        FailureRecord::Ended => Cell::yes("yes, not marked as failed"),
        FailureRecord::Nothing if driven.host.reports_failures() => Cell::no("no record of its end"),
        FailureRecord::Nothing => Cell::yes("the call; the host tells nothing of its end"),
    };
    Ok([called, allowed, failure])
}

fn refused_call(driven: &DrivenHost) -> Result<Cell> {
    let project = driven.guarded()?;
    let run = driven.run_commands(&project, &[REFUSED])?;
    if project.content("refused.txt").is_some() || project.content(".git/HEAD").is_none() {
        return Ok(Cell::no("the call ran"));
    }
    let told = run.told(0).unwrap_or_default();
    Ok(Cell::of(told.contains("UB01"), || format!("the model was told `{}`; {}", plain(run.told(0)), ended(&run))))
}

fn asked_calls(driven: &DrivenHost) -> Result<Cell> {
    let (mut safe, mut unsafe_modes) = (Vec::new(), Vec::new());
    for mode in driven.host.modes() {
        let project = driven.guarded()?;
        let run = driven.run(&project, *mode, ASK_TIMEOUT, &|_| vec![driven.host.shell(ASKED)])?;
        if project.content("asked.txt").is_some() {
            unsafe_modes.push(format!("{} ran it", mode.name));
        } else if run.end == AgentEnd::TimedOut {
            unsafe_modes.push(format!("{} hangs", mode.name));
        } else if run.requests.is_empty() {
            unsafe_modes.push(format!("{} did not start: {}", mode.name, ended(&run)));
        } else {
            safe.push(mode.name);
        }
    }
    Ok(if unsafe_modes.is_empty() {
        Cell::yes(format!("yes: {}", safe.join(", ")))
    } else {
        Cell::no(unsafe_modes.join("; "))
    })
}

fn off_switch(driven: &DrivenHost) -> Result<Cell> {
    let (path, text) = driven.host.off_switch();
    let folder = Path::new(path).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let command = format!("mkdir -p {folder} && printf '%s' '{text}' > {path}");
    for tool in ["shell", "write"] {
        let project = driven.guarded()?;
        let before = project.content(path);
        let steps = |place: &RunPlace| match tool {
            "shell" => vec![driven.host.shell(&command)],
            _ => vec![driven.host.write(place, path, text)],
        };
        let run = driven.run(&project, driven.host.most_permissive(), TIMEOUT, &steps)?;
        if project.content(path) != before {
            return Ok(Cell::no(format!("{tool} changed {path}")));
        }
        let reached = run.asked(0) && driven.records(&project)?.judged(path);
        if !reached {
            return Ok(Cell::no(format!("{tool} was not judged: {}; {}", plain(run.told(0)), ended(&run))));
        }
    }
    Ok(Cell::yes("yes"))
}

fn undo(driven: &DrivenHost) -> Result<Cell> {
    let project = driven.project()?;
    let policy = project.home().join(".config/dispatch/dispatch.toml");
    project.write(&policy, "[policy]\nconfirm = \"none\"\n")?;
    let before = project.contents();
    driven.dispatch(&project, &["init", "--host", driven.host.id()])?;
    driven.run_commands(&project, &["cat README.md"])?;
    driven.dispatch(&project, &["init", "--undo"])?;
    let own = driven.host.own_files();
    let mut after = project.contents();
    after.retain(|path, _| !own.iter().any(|own| path == own || path.starts_with(&format!("{own}/"))));
    // What was recorded is the user's to delete.
    after.retain(|path, _| !path.starts_with(".ai/tmp/"));
    let left: Vec<&str> = after.keys().filter(|path| !before.contains_key(*path)).map(String::as_str).collect();
    let changed: Vec<&str> =
        before.iter().filter(|(path, text)| after.get(*path) != Some(*text)).map(|(path, _)| path.as_str()).collect();
    Ok(Cell::of(left.is_empty() && changed.is_empty(), || {
        format!("left {}; changed {}", left.join(", "), changed.join(", "))
    }))
}

fn clone_without_dispatch(driven: &DrivenHost) -> Result<Cell> {
    let mut project = driven.guarded()?;
    project.commit("register dispatch")?;
    // What a clone does not have.
    project.prepare(Path::new("git"), &["clean", "-fdxq"])?;
    project.set_search_path(driven.search_path.iter().filter(|folder| **folder != driven.ours).cloned().collect());
    let run = driven.run_commands(&project, &[ALLOWED, ALLOWED_AGAIN])?;
    let works = project.content("again.txt").is_some();
    if !works {
        return Ok(Cell::no(format!("the agent does not work: {}; {}", plain(run.told(0)), ended(&run))));
    }
    let to_model = run.times_sent(MISSING);
    let to_person = times_shown(&run.stdout) + times_shown(&run.stderr);
    Ok(match (to_model, to_person) {
        (0, 0) => Cell::no("the agent works and says nothing"),
        (0 | 1, 0 | 1) => Cell::yes(match (to_model, to_person) {
            (1, 1) => "yes, to the model and on the terminal",
            (1, _) => "yes, to the model",
            _ => "yes, on the terminal",
        }),
        (model, person) => Cell::no(format!("said {model} times to the model and {person} times on the terminal")),
    })
}

/// How often a person reads what is missing. Some agents also list the commands of their hooks, which hold the words.
fn times_shown(output: &str) -> usize {
    output.lines().filter(|line| !line.contains("command -v")).map(|line| line.matches(MISSING).count()).sum()
}

/// A text without what differs from run to run: numbers, the name of the scratch folder, the ids of outputs.
fn plain(told: Option<&str>) -> String {
    let is_id = |word: &str| word.len() >= 6 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = told.unwrap_or("nothing").split_whitespace();
    let words = words.filter(|word| !word.contains("dispatch-live-") && !is_id(word));
    let line: String = words.collect::<Vec<_>>().join(" ");
    line.chars().filter(|character| !character.is_ascii_digit()).take(SHOWN_CHARS).collect()
}

fn ended(run: &AgentRun) -> String {
    let tail = |text: &str| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let skipped = line.chars().count().saturating_sub(SHOWN_CHARS);
        line.chars().skip(skipped).collect::<String>()
    };
    format!("{:?}, {}", run.end, tail(&format!("{} {}", run.stdout, run.stderr)))
}
