//! Work beside the workspace: a git worktree with what the person sees, and the change that the run makes there.

mod git;

use super::child::blocking;
use super::run_state_folder::RunStateFolder;
use super::{RunAttempt, event_json};
use crate::run_executor::{RetryAdvice, RunEnd};
use dispatch_os::files::{self, create_dir_owner_only, read_text_at_most, replace_with};
use dispatch_os::{Access, Canceller, Deadline, FileLock, LockKind, ReplaceOptions};
use git::{Git, GitError, PrivateIndex};
use std::path::{Path, PathBuf};

/// Variables that keep git from running hooks, also where the work itself calls git.
pub(super) const WITHOUT_HOOKS: [(&str, &str); 3] =
    [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "core.hooksPath"), ("GIT_CONFIG_VALUE_0", "/dev/null")];
/// The largest change that is offered.
const MAX_PATCH_BYTES: usize = 64 * 1024 * 1024;
const MAX_PATH_BYTES: u64 = 64 * 1024;
/// How long taking a worktree away may take.
const PUT_AWAY_MS: u64 = 60_000;
const TREE: &str = "tree";
const REPOSITORY: &str = "repository";
const LOCK: &str = "lock";

/// A worktree that one attempt works in. It is taken away when this is dropped; after a crash, by the next process.
pub(super) struct PatchWorktree {
    home: PathBuf,
    repository: PathBuf,
    /// The repository's objects.
    objects: PathBuf,
    /// Where the workspace lies in the repository.
    prefix: String,
    /// The content before the work.
    before: String,
    _lock: FileLock,
}

impl PatchWorktree {
    /// Makes the worktree and brings in what is not committed.
    pub(super) async fn set_up(attempt: &RunAttempt<'_>) -> Result<Self, RunEnd> {
        let job = attempt.job;
        let order = WorktreeRequest {
            home: attempt.state_folder.worktree(&job.run, job.attempt),
            workspace: job.workspace.clone(),
            files: job.files.iter().map(|file| file.path.clone()).collect(),
            deadline: attempt.deadline,
        };
        let made = blocking("workspace hook worktree", &job.cancel, move |canceller| order.fill(canceller));
        judged(attempt, made.await)
    }

    /// The folder that stands for the workspace.
    pub(super) fn folder(&self) -> PathBuf {
        event_json::below(&self.tree(), &self.prefix)
    }

    /// Keeps the change, if there is one and the work ended well, and takes the worktree away.
    pub(super) async fn put_away(self, attempt: &RunAttempt<'_>, end: &RunEnd) -> Result<Option<PathBuf>, RunEnd> {
        let (is_wanted, deadline) = (*end == RunEnd::Success, attempt.deadline);
        let file = attempt.state_folder.patch(&attempt.job.run);
        let kept = blocking("workspace hook patch", &attempt.job.cancel, move |canceller| {
            if is_wanted { self.keep(&file, canceller, deadline) } else { Ok(None) }
        });
        judged(attempt, kept.await)
    }

    fn keep(&self, file: &Path, canceller: &Canceller, deadline: Deadline) -> Result<Option<PathBuf>, GitError> {
        let git = self.git(WorkingTree::Worktree, canceller, deadline);
        let after = git.snapshot()?;
        if after == self.before {
            return Ok(None);
        }
        let change = git.difference(&self.before, &after, MAX_PATCH_BYTES)?;
        let options = ReplaceOptions { access: Access::OwnerOnly, ..ReplaceOptions::default() };
        file.parent().map_or(Ok(()), create_dir_owner_only)?;
        replace_with(file, &change, options)?;
        Ok(Some(file.to_path_buf()))
    }

    /// Git with an index of our own for the one or the other working tree.
    fn git<'a>(&self, whose: WorkingTree, canceller: &'a Canceller, deadline: Deadline) -> Git<'a> {
        let (folder, index) = match whose {
            WorkingTree::Person => (self.repository.clone(), "index"),
            WorkingTree::Worktree => (self.tree(), "tree-index"),
        };
        let private = PrivateIndex {
            index: self.home.join(index),
            objects: self.home.join("objects"),
            beside: self.objects.clone(),
        };
        Git { folder, private: Some(private), canceller, deadline }
    }

    fn tree(&self) -> PathBuf {
        self.home.join(TREE)
    }
}

/// Which working tree is looked at.
enum WorkingTree {
    Person,
    Worktree,
}

impl Drop for PatchWorktree {
    fn drop(&mut self) {
        clear(&self.home, &self.repository);
    }
}

/// What a worktree is made of.
struct WorktreeRequest {
    home: PathBuf,
    workspace: PathBuf,
    files: Vec<String>,
    deadline: Deadline,
}

impl WorktreeRequest {
    fn fill(self, canceller: &Canceller) -> Result<PatchWorktree, GitError> {
        let git = Git { folder: self.workspace.clone(), private: None, canceller, deadline: self.deadline };
        let found = git.repository()?;
        create_dir_owner_only(&self.home)?;
        let lock = FileLock::try_acquire(&self.home.join(LOCK), LockKind::Exclusive)?.ok_or(GitError::Busy)?;
        let path = found.root.to_str().ok_or(GitError::NotText)?;
        // First of all, so that whoever comes after a crash knows what to take away.
        replace_with(&self.home.join(REPOSITORY), path.as_bytes(), ReplaceOptions::default())?;
        let mut worktree = PatchWorktree {
            home: self.home,
            repository: found.root,
            objects: found.objects,
            prefix: found.prefix,
            before: String::new(),
            _lock: lock,
        };
        let extra: Vec<String> = self.files.iter().map(|file| format!("{}{file}", worktree.prefix)).collect();
        worktree.before = worktree.git(WorkingTree::Person, canceller, self.deadline).seen(&extra)?;
        git.add_worktree(&worktree.tree())?;
        worktree.git(WorkingTree::Worktree, canceller, self.deadline).lay_out(&worktree.before)?;
        Ok(worktree)
    }
}

/// Takes away the worktrees of processes that died.
pub(super) fn sweep(state_folder: &RunStateFolder) {
    for entry in files::read_dir(state_folder.worktrees()).into_iter().flatten().flatten() {
        let home = entry.path();
        let is_left = FileLock::try_acquire(&home.join(LOCK), LockKind::Exclusive);
        if let Ok(Some(_held)) = is_left {
            let repository = read_text_at_most(&home.join(REPOSITORY), MAX_PATH_BYTES).unwrap_or_default();
            clear(&home, Path::new(&repository));
        }
    }
}

/// Removes the worktree and what git knows of it. What cannot be removed now is left to the next start.
fn clear(home: &Path, repository: &Path) {
    let canceller = Canceller::new();
    let _ = files::remove_dir_all(home);
    if repository.is_absolute() {
        let deadline = Deadline::after_ms(PUT_AWAY_MS);
        let git = Git { folder: repository.to_path_buf(), private: None, canceller: &canceller, deadline };
        let _ = git.forget_worktrees();
    }
}

fn judged<T>(attempt: &RunAttempt<'_>, outcome: Result<Result<T, GitError>, String>) -> Result<T, RunEnd> {
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(GitError::Canceled)) => Err(RunEnd::Canceled),
        Ok(Err(GitError::TimedOut)) => Err(RunEnd::Timeout),
        Ok(Err(error)) => {
            Err(RunEnd::Failed { reason: attempt.redactor.sentence(&error.to_string()), again: error.again() })
        }
        Err(reason) => Err(RunEnd::Failed { reason, again: RetryAdvice::Worthwhile }),
    }
}
