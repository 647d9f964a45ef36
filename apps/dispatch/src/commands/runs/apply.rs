//! `dispatch runs apply`: the change that a run offers becomes a change of the workspace.

use super::{RunCommands, refused};
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::lines;
use dispatch_os::files::{self, read_at_most};
use dispatch_os::process::{ChildEnd, ChildOutcome, ChildSpec};
use ext_workspace_hooks::contract::ExecutionRecord;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long git may take.
const GIT_TIME: Duration = Duration::from_secs(120);
/// Lines of git that are shown.
const MAX_LINES: usize = 500;
/// As large as a patch can be.
const MAX_PATCH_BYTES: u64 = 64 * 1024 * 1024;

/// Whether the change is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Apply {
    /// It is.
    Now,
    /// It is only said whether it could be.
    CheckOnly,
}

impl From<bool> for Apply {
    fn from(check: bool) -> Self {
        if check { Self::CheckOnly } else { Self::Now }
    }
}

impl RunCommands<'_> {
    /// Prints the patch as it is.
    pub(super) async fn show_patch(&self, id: &str) -> Result<Status, Failure> {
        let patch = self.patch_of(&self.record(id).await?).await?;
        self.printer.raw(&read_at_most(&patch, MAX_PATCH_BYTES)?);
        Ok(Status::Done)
    }

    /// The patch of a run, also when it was applied before.
    async fn patch_of(&self, record: &ExecutionRecord) -> Result<PathBuf, Failure> {
        let patch = self.runs.patch(&record.id).await.map_err(refused)?;
        patch.filter(|patch| files::is_file(patch)).ok_or_else(|| {
            Failure::usage(format!("run {} has no patch", record.id))
                .hint("a hook with \"place\": \"patch\" offers its change as one")
        })
    }

    pub(super) async fn apply(&self, id: &str, apply: Apply) -> Result<Status, Failure> {
        let record = self.record(id).await?;
        let patch = self.patch_of(&record).await?;
        if apply == Apply::Now && !record.patch {
            return Err(Failure::usage(format!("the patch of run {} was already applied", record.id))
                .hint(format!("`dispatch runs apply {} --show` prints it, for `git apply`", record.id)));
        }
        let repository = repository_of(Path::new(&record.workspace))?;
        let stat = git(&repository, &["apply", "--stat"], &patch);
        require_started(&stat)?;
        self.printer.out(&lines(&stat.stdout.text(), MAX_LINES).join("\n"));
        let tried = try_on(&repository, apply, &patch)?;
        lines(&tried.stderr.text(), MAX_LINES).iter().for_each(|line| self.printer.note(line));
        match (apply, tried.succeeded()) {
            (Apply::CheckOnly, true) => self.printer.out("the patch would apply"),
            (Apply::CheckOnly, false) => self.printer.warn("the patch would not apply cleanly"),
            (Apply::Now, true) => {
                self.runs.patch_applied(&record.id).await.map_err(refused)?;
                self.printer.out("applied; `git diff HEAD` shows the change");
            }
            (Apply::Now, false) => self.explain_conflict(&repository, &record)?,
        }
        Ok(if tried.succeeded() { Status::Done } else { Status::No })
    }

    /// Says what a patch that did not fit has left behind.
    fn explain_conflict(&self, repository: &Path, record: &ExecutionRecord) -> Result<(), Failure> {
        let asked = in_folder(repository).args(["diff", "--name-only", "--diff-filter=U"]).run();
        require_started(&asked)?;
        if asked.stdout.text().trim().is_empty() {
            self.printer.warn("the patch does not fit the files as they are now; nothing was changed");
            let again =
                format!("commit or stash what you changed in them and repeat, or `dispatch runs retry {}`", record.id);
            self.printer.note(&format!("hint: {again}"));
        } else {
            self.printer.warn("the patch was merged with conflicts; `git status` shows the files to resolve");
        }
        Ok(())
    }
}

/// Applies a patch to the tree as it is, with what is not committed. Only where that does not fit, the contents that
/// the patch was made from are merged, which git does with committed files alone.
fn try_on(repository: &Path, apply: Apply, patch: &Path) -> Result<ChildOutcome, Failure> {
    let fits = git(repository, &["apply", "--check"], patch);
    require_started(&fits)?;
    let tried = match (apply, fits.succeeded()) {
        (Apply::CheckOnly, true) => fits,
        (Apply::Now, true) => git(repository, &["apply"], patch),
        (Apply::CheckOnly, false) => git(repository, &["apply", "--3way", "--check"], patch),
        (Apply::Now, false) => git(repository, &["apply", "--3way"], patch),
    };
    require_started(&tried)?;
    Ok(tried)
}

/// The top of the repository, which the names in a patch start from.
fn repository_of(workspace: &Path) -> Result<PathBuf, Failure> {
    let asked = in_folder(workspace).args(["rev-parse", "--show-toplevel"]).run();
    require_started(&asked)?;
    let answer = asked.stdout.text();
    let top = answer.trim_end_matches(['\r', '\n']);
    if !asked.succeeded() || top.is_empty() {
        return Err(Failure::configuration(format!("{} is in no repository of git any more", workspace.display())));
    }
    Ok(PathBuf::from(top))
}

fn git(repository: &Path, arguments: &[&str], patch: &Path) -> ChildOutcome {
    in_folder(repository).args(arguments.iter().copied()).arg("--").arg(patch).run()
}

fn in_folder(folder: &Path) -> ChildSpec {
    ChildSpec::new("git").working_folder(folder).timeout(GIT_TIME)
}

fn require_started(outcome: &ChildOutcome) -> Result<(), Failure> {
    match &outcome.end {
        ChildEnd::FailedToStart(failure) => {
            let told = Failure::configuration(format!("cannot run git: {failure}"));
            Err(match failure.hint() {
                Some(hint) => told.hint(hint),
                None => told.hint("install git"),
            })
        }
        _ => Ok(()),
    }
}
