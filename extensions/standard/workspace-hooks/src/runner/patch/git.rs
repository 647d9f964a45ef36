//! The few things that git is asked for, each as one bounded child without hooks, pagers and questions.

use crate::run_executor::RetryAdvice;
use dispatch_os::files;
use dispatch_os::{Canceller, CaptureLimit, ChildEnd, ChildSpec, Deadline, DescendantPolicy, OsError};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The most that git may print, other than a change.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;
const MAX_COMPLAINT_BYTES: usize = 4 * 1024;
/// Whatever the user and the repository have set, these hold.
const SETTINGS: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.noprefix=false",
    "-c",
    "gc.auto=0",
];

/// Why a worktree could not be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum GitError {
    #[error("patch mode needs git, and the program was not found; install git or set `place` to `tree`")]
    NoGit,
    #[error("patch mode needs a git repository, and the workspace is in none; run `git init` or set `place` to `tree`")]
    NoRepository,
    #[error(
        "patch mode needs a commit to start from, and the repository has none yet; make one or set `place` to `tree`"
    )]
    NoCommit,
    #[error("the path of the repository is not UTF-8, which patch mode cannot handle; set `place` to `tree`")]
    NotText,
    #[error("another process works in the same worktree")]
    Busy,
    #[error("the change is larger than {0} bytes")]
    TooLarge(usize),
    #[error("git {what} failed: {said}")]
    Failed { what: String, said: String },
    #[error(transparent)]
    Files(#[from] OsError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("canceled")]
    Canceled,
    #[error("timed out")]
    TimedOut,
}

impl GitError {
    pub(super) fn again(&self) -> RetryAdvice {
        match self {
            Self::NoGit | Self::NoRepository | Self::NoCommit | Self::NotText | Self::TooLarge(_) => {
                RetryAdvice::Useless
            }
            _ => RetryAdvice::Worthwhile,
        }
    }
}

/// Where a workspace lies.
pub(super) struct Repository {
    /// The top of the working tree.
    pub(super) root: PathBuf,
    /// The workspace below it, with a `/` at the end; empty at the top.
    pub(super) prefix: String,
    /// Where its objects are.
    pub(super) objects: PathBuf,
}

/// An index and objects of our own, so that nothing of ours gets into the repository.
#[derive(Clone)]
pub(super) struct PrivateIndex {
    pub(super) index: PathBuf,
    pub(super) objects: PathBuf,
    /// The repository's own objects, which are only read.
    pub(super) beside: PathBuf,
}

/// Git in one folder.
pub(super) struct Git<'a> {
    pub(super) folder: PathBuf,
    pub(super) private: Option<PrivateIndex>,
    pub(super) canceller: &'a Canceller,
    pub(super) deadline: Deadline,
}

impl Git<'_> {
    /// The repository that the folder is in.
    pub(super) fn repository(&self) -> Result<Repository, GitError> {
        let or = |instead: GitError| {
            move |error| match error {
                GitError::Failed { .. } => instead,
                error => error,
            }
        };
        let root = self.text(&["rev-parse", "--show-toplevel"]).map_err(or(GitError::NoRepository))?;
        if root.is_empty() {
            return Err(GitError::NoRepository);
        }
        self.text(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).map_err(or(GitError::NoCommit))?;
        let objects = self.text(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let prefix = self.text(&["rev-parse", "--show-prefix"])?;
        Ok(Repository { root: root.into(), prefix, objects: objects.into() })
    }

    /// A tree of what the person sees: tracked files as they are now, and `extra` files even if they are
    /// ignored. The repository's own index tells which files need not be read for that.
    pub(super) fn seen(&self, extra: &[String]) -> Result<String, GitError> {
        if let Some(private) = &self.private {
            let own = Git { folder: self.folder.clone(), private: None, ..*self };
            let index = self.folder.join(own.text(&["rev-parse", "--git-path", "index"])?);
            files::create_dir_all(&private.objects)?;
            files::copy(index, &private.index)?;
        }
        self.text(&["add", "--update"])?;
        for file in extra.iter().filter(|file| files::symlink_metadata(self.folder.join(file)).is_ok()) {
            match self.text(&["add", "--force", "--", &format!(":(literal){file}")]) {
                // What lies behind a link or in another repository is not for this one to hold.
                Ok(_) | Err(GitError::Failed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.text(&["write-tree"])
    }

    /// Registers a worktree that is on no branch and still empty, its index at the last commit.
    pub(super) fn add_worktree(&self, path: &Path) -> Result<(), GitError> {
        let words = ["worktree", "add", "--detach", "--no-checkout", "--quiet"].map(OsString::from);
        self.run(words.into_iter().chain([path.into(), "HEAD".into()]), MAX_LIST_BYTES)?;
        let own = Git { folder: path.to_path_buf(), private: None, ..*self };
        own.text(&["read-tree", "HEAD"]).map(drop)
    }

    /// Fills the worktree.
    pub(super) fn lay_out(&self, tree: &str) -> Result<(), GitError> {
        self.text(&["read-tree", "--reset", "-u", tree]).map(drop)
    }

    /// Removes git's records of worktrees that no longer exist.
    pub(super) fn forget_worktrees(&self) -> Result<(), GitError> {
        self.text(&["worktree", "prune"]).map(drop)
    }

    /// A tree of all that is in the worktree now.
    pub(super) fn snapshot(&self) -> Result<String, GitError> {
        self.text(&["add", "--all"])?;
        self.text(&["write-tree"])
    }

    /// The change from one tree to another, as `git apply` takes it.
    pub(super) fn difference(&self, before: &str, after: &str, limit: usize) -> Result<Vec<u8>, GitError> {
        let words = ["diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", before, after];
        self.run(words.map(OsString::from), limit)
    }

    fn text(&self, words: &[&str]) -> Result<String, GitError> {
        let printed = self.run(words.iter().map(OsString::from), MAX_LIST_BYTES)?;
        let text = String::from_utf8(printed).map_err(|_| GitError::NotText)?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    fn run(&self, words: impl IntoIterator<Item = OsString>, limit: usize) -> Result<Vec<u8>, GitError> {
        let words: Vec<OsString> = words.into_iter().collect();
        let mut child = ChildSpec::new("git")
            .args(SETTINGS)
            .args(words.clone())
            .working_folder(&self.folder)
            .descendants(DescendantPolicy::Guarded)
            .timeout(self.deadline.remaining())
            .capture(CaptureLimit { head_bytes: limit, tail_bytes: MAX_COMPLAINT_BYTES })
            .variable("GIT_TERMINAL_PROMPT", "0")
            .variable("GIT_OPTIONAL_LOCKS", "0")
            .variable("LC_ALL", "C");
        if let Some(private) = &self.private {
            child = child
                .variable("GIT_INDEX_FILE", &private.index)
                .variable("GIT_OBJECT_DIRECTORY", &private.objects)
                .variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", &private.beside);
        }
        let outcome = child.run_with(self.canceller, &mut |_, _| {});
        match outcome.end {
            ChildEnd::Exited { code: 0 } if outcome.stdout.is_truncated() => Err(GitError::TooLarge(limit)),
            ChildEnd::Exited { code: 0 } => Ok(outcome.stdout.bytes().into_owned()),
            ChildEnd::TimedOut => Err(GitError::TimedOut),
            ChildEnd::Cancelled => Err(GitError::Canceled),
            ChildEnd::FailedToStart(failure) if matches!(failure.cause, dispatch_os::StartCause::NotFound) => {
                Err(GitError::NoGit)
            }
            end => {
                let what = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
                let said = outcome.stderr.text();
                let said = said.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
                Err(GitError::Failed { what, said: said.unwrap_or_else(|| end.to_string()) })
            }
        }
    }
}
