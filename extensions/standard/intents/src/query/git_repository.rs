//! Queries git through its command line.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dispatch_os::files::read_at_most;
use dispatch_os::{CaptureLimit, ChildSpec};

use crate::error::IntentsError;
use crate::layout::ATTRIBUTES_FILE;
use crate::query::anchor::{ANCHOR_KEY, LedgerAnchor};

/// The key of the trailer with which a person approves the lines of a commit.
pub(crate) const APPROVAL_KEY: &str = "Intent-Approved-By";
/// The key of the trailer that names an intent.
pub(crate) const INTENT_KEY: &str = "Intent";
/// The last commit.
pub(crate) const HEAD: &str = "HEAD";
const MAX_OUTPUT_BYTES: usize = 512 * 1024 * 1024;
/// A longer commit message is refused.
pub(crate) const MAX_MESSAGE_BYTES: u64 = 64 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(120);
/// The variables that a git hook needs to use the same repository and index as its caller.
const PASSED_ON: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "XDG_CONFIG_HOME",
];
/// Overrides of user settings that would change the parsed output or run programs.
const SETTINGS: &[&str] =
    &["core.quotePath=true", "core.fsmonitor=false", "diff.noprefix=false", "diff.mnemonicPrefix=false"];

/// The repository that a workspace is in.
#[derive(Debug, Clone)]
pub struct GitRepository {
    root: PathBuf,
}

impl GitRepository {
    /// The repository of a workspace; `None` if it is in none or git is not installed.
    #[must_use]
    pub fn find(root: &Path) -> Option<Self> {
        let git = Self { root: root.to_owned() };
        let inside = git.ask("find the repository", ["rev-parse", "--is-inside-work-tree"]).ok()?;
        (inside.trim_ascii() == b"true").then_some(git)
    }

    /// Runs git in the workspace and returns its output.
    ///
    /// # Errors
    /// When git cannot be run or fails.
    pub fn ask<A: Into<OsString>>(
        &self,
        action: &'static str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, IntentsError> {
        finish(action, &self.command().args(arguments))
    }

    fn command(&self) -> ChildSpec {
        let mut child = ChildSpec::new("git").working_folder(&self.root);
        for setting in SETTINGS {
            child = child.arg("-c").arg(*setting);
        }
        for name in PASSED_ON {
            child = child.pass_variable(*name);
        }
        let plain = [("GIT_OPTIONAL_LOCKS", "0"), ("LC_ALL", "C"), ("GIT_PAGER", "cat")];
        plain.into_iter().fold(child, |child, (name, value)| child.variable(name, value))
    }

    fn text(&self, action: &'static str, arguments: &[&str]) -> Result<String, IntentsError> {
        Ok(String::from_utf8_lossy(&self.ask(action, arguments)?).trim_end().to_owned())
    }

    /// The commit of HEAD, if there is one.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.text("find HEAD", &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ok()
    }

    /// What a commit that replaces HEAD follows: the parent of HEAD, or the empty tree if it has none.
    ///
    /// # Errors
    /// When git fails.
    pub fn base_of_amended(&self) -> Result<String, IntentsError> {
        self.text("find the parent of HEAD", &["rev-parse", "--verify", "--quiet", "HEAD^^{commit}"]).or_else(|_| {
            let command = self.command().args(["hash-object", "-t", "tree", "--stdin"]).stdin(Vec::new());
            let tree = finish("name the empty tree", &command)?;
            Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
        })
    }

    /// The merge base of HEAD and another commit, or the other commit if they have none.
    ///
    /// # Errors
    /// When git does not know the commit.
    pub fn merge_base(&self, reference: &str) -> Result<String, IntentsError> {
        let name = format!("{reference}^{{commit}}");
        let commit = self.text("find the base", &["rev-parse", "--verify", "--end-of-options", &name]);
        let commit = commit
            .map_err(|error| IntentsError::UnknownCommit { name: reference.to_owned(), source: Box::new(error) })?;
        Ok(self.text("find the merge base", &["merge-base", &commit, "HEAD"]).unwrap_or(commit))
    }

    /// The time of a commit, in Unix milliseconds.
    ///
    /// # Errors
    /// When git does not know the commit.
    pub fn commit_time_ms(&self, commit: &str) -> Result<i64, IntentsError> {
        let text = self.text("look at a commit", &["show", "-s", "--format=%ct", commit])?;
        Ok(text.parse::<i64>().unwrap_or_default().saturating_mul(1000))
    }

    /// The former names of a file, newest first: those that git follows, and those of every branch since a time.
    #[must_use]
    pub fn former_names(&self, path: &str, since: Option<&str>) -> Vec<String> {
        let mut names = Vec::new();
        let mut present = path.to_owned();
        for (old, new) in self.staged_renames() {
            if new == present {
                present.clone_from(&old);
                names.push(old);
            }
        }
        let log = ["log", "--follow", "--name-status", "-z", "-M", "--diff-filter=R", "--relative", "--format=", "--"];
        let log = log.into_iter().chain([present.as_str()]);
        let mut add = |old: String| {
            if old != path && !names.contains(&old) {
                names.push(old);
            }
        };
        renames(&self.ask("follow a file", log).unwrap_or_default()).into_iter().for_each(|(old, _)| add(old));
        let all = self.committed_renames(since);
        let mut seen = 0;
        while let Some(name) = std::iter::once(path.to_owned()).chain(names.clone()).nth(seen) {
            seen += 1;
            let older = all.iter().filter(|(old, new)| *new == name && *old != path).map(|(old, _)| old.clone());
            for old in older.collect::<Vec<_>>() {
                if !names.contains(&old) {
                    names.push(old);
                }
            }
        }
        names
    }

    /// The old and new names of files since a time, newest first, renames that are not committed included.
    #[must_use]
    pub fn renames(&self, since: Option<&str>) -> Vec<(String, String)> {
        let mut found = self.staged_renames();
        found.extend(self.committed_renames(since));
        found
    }

    fn staged_renames(&self) -> Vec<(String, String)> {
        let staged = ["diff", "--name-status", "-z", "-M", "--diff-filter=R", "--relative", "HEAD"];
        renames(&self.ask("find a new name", staged).unwrap_or_default())
    }

    fn committed_renames(&self, since: Option<&str>) -> Vec<(String, String)> {
        let since = since.map(|since| format!("--since={since}"));
        let all = ["log", "--name-status", "-z", "-M", "--diff-filter=R", "--relative", "--format=", "-n", "5000"];
        let all = all.into_iter().map(str::to_owned).chain(since);
        renames(&self.ask("find renames", all).unwrap_or_default())
    }

    /// The anchors in the commits up to HEAD.
    #[must_use]
    pub fn anchors(&self) -> Vec<LedgerAnchor> {
        let grep = format!("--grep={ANCHOR_KEY}: ");
        let log = self.ask("read commits", ["log", "-z", "--format=%H%n%B", "--fixed-strings", &grep, "HEAD"]);
        let mut found: Vec<LedgerAnchor> = Vec::new();
        for (commit, message) in messages(&log.unwrap_or_default()) {
            for anchor in message.lines().filter_map(|line| LedgerAnchor::parse(&commit, line)) {
                if !found.iter().any(|known| known.entries == anchor.entries && known.last == anchor.last) {
                    found.push(anchor);
                }
            }
        }
        found
    }

    /// The commits after `base` that a person approved in their messages.
    ///
    /// # Errors
    /// When git fails.
    pub fn approved_commits(&self, base: &str) -> Result<BTreeSet<String>, IntentsError> {
        let grep = format!("--grep={APPROVAL_KEY}: ");
        let range = format!("{base}..HEAD");
        let log = self.ask("read commits", ["log", "-z", "--format=%H%n%B", "--fixed-strings", &grep, &range])?;
        let is_approval = |line: &str| {
            let name = line.trim().strip_prefix(APPROVAL_KEY).and_then(|rest| rest.strip_prefix(':'));
            name.is_some_and(|name| !name.trim().is_empty())
        };
        let approved = messages(&log).into_iter().filter(|(_, message)| message.lines().any(is_approval));
        Ok(approved.map(|(commit, _)| commit).collect())
    }

    /// The files among these that are generated by the attributes of a commit, so that no change excludes itself. A git
    /// before 2.40 has the attributes on disk alone; there they count unless they are among these files.
    #[must_use]
    pub fn generated_files(&self, commit: &str, paths: &[&str]) -> BTreeSet<String> {
        let mut request: Vec<u8> = Vec::new();
        for path in paths {
            request.extend_from_slice(path.as_bytes());
            request.push(0);
        }
        let attributes = |source: Option<&str>| {
            let words = ["check-attr", "-z", "--stdin"].into_iter().chain(source).chain(["linguist-generated"]);
            finish("read attributes", &self.command().args(words).stdin(request.clone()))
        };
        let is_changed = paths.iter().any(|path| path.rsplit('/').next() == Some(ATTRIBUTES_FILE));
        let output = match attributes(Some(&format!("--source={commit}"))) {
            Err(_) if !is_changed => attributes(None),
            output => output,
        };
        let output = output.unwrap_or_default();
        let parts: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
        let set = parts.chunks_exact(3).filter(|part| matches!(part.get(2), Some(&b"set" | &b"true")));
        set.filter_map(|part| Some(String::from_utf8_lossy(part.first()?).into_owned())).collect()
    }

    /// The tracked files that differ from the commit of HEAD.
    #[must_use]
    pub fn uncommitted_files(&self) -> BTreeSet<String> {
        let names = self.ask("find changes", ["diff", "--name-only", "-z", "--relative", "HEAD"]).unwrap_or_default();
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The commits after `base` that changed a file.
    ///
    /// # Errors
    /// When git fails.
    pub fn commits_of(&self, base: &str, path: &str) -> Result<Vec<String>, IntentsError> {
        let range = format!("{base}..HEAD");
        let log = self.text("read commits", &["log", "--format=%H", &range, "--", path])?;
        Ok(log.lines().map(str::to_owned).collect())
    }

    /// The content of a file in a commit, by its path from the workspace's root; `None` if it is not there.
    #[must_use]
    pub fn committed_file(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        self.ask("read a file of a commit", ["cat-file", "blob", &format!("{commit}:./{path}")]).ok()
    }

    /// Whether git stopped in the middle of a merge, rebase, revert or cherry-pick.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let marks = ["MERGE_HEAD", "REVERT_HEAD", "CHERRY_PICK_HEAD", "rebase-merge", "rebase-apply"];
        let arguments = marks.iter().flat_map(|mark| ["--git-path", mark]);
        let places = self.ask("find the git folder", ["rev-parse"].into_iter().chain(arguments)).unwrap_or_default();
        String::from_utf8_lossy(&places).lines().any(|place| dispatch_os::files::exists(self.root.join(place)))
    }

    /// Whether the next commit completes a merge.
    #[must_use]
    pub fn is_merging(&self) -> bool {
        self.ask("look for a merge", ["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).is_ok()
    }

    /// Whether a commit message is empty, so that git will abort the commit.
    ///
    /// # Errors
    /// When the file cannot be read or git fails.
    pub fn is_empty_message(&self, file: &Path) -> Result<bool, IntentsError> {
        let message = read_at_most(file, MAX_MESSAGE_BYTES)?;
        let command = self.command().args(["stripspace", "--strip-comments"]).stdin(message);
        Ok(finish("read the message", &command)?.trim_ascii().is_empty())
    }

    /// The hooks folder of this repository.
    ///
    /// # Errors
    /// When git fails.
    pub fn hooks_folder(&self) -> Result<PathBuf, IntentsError> {
        let folder = self.text("find the hooks", &["rev-parse", "--git-path", "hooks"])?;
        Ok(self.root.join(folder))
    }

    /// The folders of this repository: its working tree and its git folder.
    ///
    /// # Errors
    /// When git fails.
    pub fn own_folders(&self) -> Result<Vec<PathBuf>, IntentsError> {
        let text = self.text("find the repository", &["rev-parse", "--show-toplevel", "--git-common-dir"])?;
        Ok(text.lines().map(|folder| self.root.join(folder)).collect())
    }

    /// The commit of each line of a file on disk, from line 1; uncommitted lines have zeros.
    ///
    /// # Errors
    /// When git fails.
    pub fn line_commits(&self, base: &str, path: &str) -> Result<Vec<String>, IntentsError> {
        let not_base = format!("^{base}");
        let output = self.ask("blame", ["blame", "-w", "--porcelain", &not_base, "--", path])?;
        let mut commits = Vec::new();
        for line in output.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"\t")) {
            let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
            let hash =
                words.next().filter(|word| word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let place = words.nth(1).and_then(|word| word.parse::<usize>().ok());
            if let (Some(hash), Some(place)) = (hash, place) {
                commits.resize(commits.len().max(place), String::new());
                if let Some(slot) = commits.get_mut(place - 1) {
                    hash.clone_into(slot);
                }
            }
        }
        Ok(commits)
    }
}

fn finish(action: &'static str, command: &ChildSpec) -> Result<Vec<u8>, IntentsError> {
    let limit = CaptureLimit { head_bytes: MAX_OUTPUT_BYTES, tail_bytes: 0 };
    let outcome = command.clone().timeout(TIMEOUT).capture(limit).run();
    if !outcome.succeeded() {
        let said = outcome.stderr.text();
        let first = said.lines().find(|line| !line.trim().is_empty()).map(str::to_owned);
        return Err(IntentsError::Git { action, detail: first.unwrap_or_else(|| outcome.end.to_string()) });
    }
    if outcome.stdout.is_truncated() {
        return Err(IntentsError::Git {
            action,
            detail: format!("the output is larger than {MAX_OUTPUT_BYTES} bytes"),
        });
    }
    Ok(outcome.stdout.head)
}

fn messages(log: &[u8]) -> Vec<(String, String)> {
    let commits = log.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let parts = commits.filter_map(|text| text.split_once('\n').map(|(one, rest)| (one.to_owned(), rest.to_owned())));
    parts.collect()
}

/// Pairs of old and new names in the order of the output; names that are not UTF-8 are left out.
fn renames(output: &[u8]) -> Vec<(String, String)> {
    let mut parts = output.split(|byte| *byte == 0).map(|part| part.trim_ascii_start()).filter(|part| !part.is_empty());
    let mut found = Vec::new();
    while let Some(status) = parts.next() {
        if !status.starts_with(b"R") {
            continue;
        }
        let mut name = || parts.next().and_then(|name| String::from_utf8(name.to_vec()).ok());
        if let (Some(old), Some(new)) = (name(), name()) {
            found.push((old, new));
        }
    }
    found
}
