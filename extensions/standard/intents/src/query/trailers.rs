//! The trailers of a commit message: the intents of its changes, and an anchor of the ledger.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::Path;

use dispatch_os::files::{self, read_at_most};
use dispatch_os::time::parse_rfc3339;
use memchr::memmem;

use crate::chain;
use crate::error::IntentsError;
use crate::layout::{FOLDER, LEDGER_FILE, OrchestrationLayout};
use crate::query::anchor::{ANCHOR_KEY, LedgerAnchor};
use crate::query::blame::FileBlame;
use crate::query::check::{DIFF, is_record, read_histories};
use crate::query::git_diff::{self, DiffContent, FileDiff};
use crate::query::git_repository::{GitRepository, HEAD, INTENT_KEY, MAX_MESSAGE_BYTES};
use crate::query::stored_content;
use crate::trace_entry::{RecordedChange, TraceEntry};

/// A commit with more files gets no intents, so that it is not delayed.
const MAX_STAGED_FILES: usize = 2_000;

/// The most anchors in one commit; the newest chains are named.
const MAX_ANCHORS: usize = 8;
const MAX_LEDGER_BYTES: u64 = 512 * 1024 * 1024;

/// The trailers of the next commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommitTrailers {
    /// The intents of the staged changes.
    pub intents: BTreeSet<String>,
    /// The ends of the chains that the commit adds lines to.
    pub anchors: Vec<LedgerAnchor>,
    /// The links that its new lines follow; an anchor of one of them is replaced.
    followed: HashSet<String>,
}

impl CommitTrailers {
    /// Finds the trailers of the staged changes since `base`, the parent of the commit that is made.
    ///
    /// # Errors
    /// When git or the ledger fails.
    pub(crate) fn of_staged(
        layout: &OrchestrationLayout,
        git: &GitRepository,
        base: &str,
    ) -> Result<Self, IntentsError> {
        // The first commit of a repository has no HEAD to compare with.
        let compared = Some(base).filter(|base| *base != HEAD);
        let arguments = DIFF.iter().copied().chain(["--cached"]).chain(compared).chain(["--"]);
        let mut files = git_diff::parse(&git.ask("diff", arguments)?);
        files.retain(|file| !is_record(file.name()));
        let (staged, added) = staged_lines(layout, git, base);
        let (anchors, followed) = chain_ends(&staged, &added);
        if files.len() > MAX_STAGED_FILES {
            return Ok(Self { intents: BTreeSet::new(), anchors, followed });
        }
        // If git tracks the ledger, its new lines are the changes of this commit.
        let tracked = git.committed_file(base, &format!("{FOLDER}/{LEDGER_FILE}")).is_some();
        let new_ids: Option<HashSet<String>> = tracked.then(|| {
            let entries = added.iter().filter_map(|line| serde_json::from_slice::<TraceEntry>(line).ok());
            entries.map(|entry| entry.id).collect()
        });
        let histories = read_histories(layout, &files)?;
        let staged = StagedChanges { layout, git, base, new_ids };
        let mut intents = BTreeSet::new();
        for file in &files {
            let Ok(name) = std::str::from_utf8(file.name()) else { continue };
            let history = histories.get(name).map(Vec::as_slice).unwrap_or_default();
            if !history.is_empty() {
                intents.extend(staged.intents_of(file, name, history));
            }
        }
        intents.remove("");
        Ok(Self { intents, anchors, followed })
    }

    /// Adds the trailers to the file of a commit message by git's own rules, without duplicates.
    ///
    /// # Errors
    /// When git fails or the file cannot be written.
    pub(crate) fn write(&self, git: &GitRepository, message: &Path) -> Result<(), IntentsError> {
        let mut wanted: Vec<String> = self.intents.iter().map(|intent| format!("{INTENT_KEY}: {intent}")).collect();
        if !self.anchors.is_empty() {
            // Git compares keys by their beginning and would replace an `Intent` trailer by an `Intent-Ledger` trailer.
            let text = read_at_most(message, MAX_MESSAGE_BYTES)?;
            if let Some(rest) = self.without_old_anchors(&text) {
                files::replace(message, &rest)?;
            }
            wanted.extend(self.anchors.iter().map(|anchor| format!("{ANCHOR_KEY}: {}", anchor.value())));
        }
        for trailer in wanted {
            let fixed = ["interpret-trailers", "--in-place", "--no-divider", "--where", "end"];
            let arguments = fixed.into_iter().chain(["--if-exists", "addIfDifferent", "--trailer", &trailer]);
            let arguments = arguments.map(OsString::from).chain([message.as_os_str().to_owned()]);
            git.ask("add a trailer", arguments)?;
        }
        Ok(())
    }

    /// The message without the anchors that the new ones follow; `None` if it has none.
    fn without_old_anchors(&self, message: &[u8]) -> Option<Vec<u8>> {
        let is_old = |line: &&[u8]| {
            let text = std::str::from_utf8(line).unwrap_or_default();
            let anchor = LedgerAnchor::parse("", text).filter(|_| text.starts_with(ANCHOR_KEY));
            anchor.is_some_and(|anchor| {
                self.followed.contains(&anchor.last) || self.anchors.iter().any(|new| new.last == anchor.last)
            })
        };
        let lines: Vec<&[u8]> = message.split_inclusive(|byte| *byte == b'\n').collect();
        lines.iter().any(&is_old).then(|| lines.into_iter().filter(|line| !is_old(line)).flatten().copied().collect())
    }
}

/// The staged changes, and what tells which entries are theirs.
struct StagedChanges<'a> {
    layout: &'a OrchestrationLayout,
    git: &'a GitRepository,
    base: &'a str,
    /// The entries that the commit adds, if git tracks the ledger.
    new_ids: Option<HashSet<String>>,
}

impl StagedChanges<'_> {
    fn intents_of(&self, file: &FileDiff, name: &str, history: &[RecordedChange]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let added: Vec<_> = file.hunks.iter().filter(|hunk| hunk.added > 0).collect();
        if file.content == DiffContent::Text && file.new.is_some() && !added.is_empty() {
            let blob = format!(":./{name}");
            let Ok(staged) = self.git.ask("read what is staged", ["cat-file", "blob", &blob]) else {
                return found;
            };
            let blame = FileBlame::new(history, &|hash| stored_content(self.layout, hash), &staged);
            let lines = added.iter().flat_map(|hunk| hunk.start..hunk.start + hunk.added);
            found.extend(lines.filter_map(|line| blame.change(line)).map(|change| change.entry.intent_id.clone()));
        }
        let removed = file.hunks.iter().any(|hunk| hunk.added == 0);
        if removed || file.content != DiffContent::Text || file.new.is_none() || file.old != file.new {
            let since_ms = last_commit_ms(self.git, self.base, file);
            let recent = |change: &&RecordedChange| match &self.new_ids {
                Some(ids) => ids.contains(&change.entry.id),
                None => parse_rfc3339(&change.entry.timestamp).is_some_and(|ms| ms >= since_ms),
            };
            found.extend(history.iter().filter(recent).map(|change| change.entry.intent_id.clone()));
        }
        found
    }
}

/// The time of the last commit that changed the file.
fn last_commit_ms(git: &GitRepository, base: &str, file: &FileDiff) -> i64 {
    let Some(name) = file.old.as_deref().and_then(|name| std::str::from_utf8(name).ok()) else {
        return 0;
    };
    let log = git.ask("read commits", ["log", "-1", "--format=%ct", base, "--", name]).unwrap_or_default();
    let seconds = std::str::from_utf8(&log).ok().and_then(|text| text.trim().parse::<i64>().ok());
    // A commit has whole seconds: an entry of its second is older than the commit.
    seconds.map_or(0, |seconds| (seconds + 1).saturating_mul(1000))
}

/// The ledger of this commit, and the lines that it adds: of the staged ledger if git tracks it, else of the one on disk.
fn staged_lines(layout: &OrchestrationLayout, git: &GitRepository, base: &str) -> (Vec<u8>, Vec<Vec<u8>>) {
    let ledger = format!("{FOLDER}/{LEDGER_FILE}");
    let staged = git.committed_file("", &ledger);
    let staged = staged.or_else(|| read_at_most(&layout.ledger_file(), MAX_LEDGER_BYTES).ok()).unwrap_or_default();
    let committed = git.committed_file(base, &ledger).unwrap_or_default();
    // Most commits only append, so that nothing has to be compared.
    let rest = staged.strip_prefix(committed.as_slice());
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    };
    let added = match rest {
        Some(rest) => split(rest),
        None => {
            let known: HashSet<Vec<u8>> = split(&committed).into_iter().collect();
            split(&staged).into_iter().filter(|line| !known.contains(line)).collect()
        }
    };
    (staged, added)
}

/// The ends of the chains in some lines, newest last, and the links that the lines follow.
fn chain_ends(staged: &[u8], lines: &[Vec<u8>]) -> (Vec<LedgerAnchor>, HashSet<String>) {
    let entries: Vec<(String, TraceEntry)> =
        lines.iter().filter_map(|line| Some((chain::link(line), serde_json::from_slice(line).ok()?))).collect();
    let followed: HashSet<String> = entries.iter().map(|(_, entry)| entry.prev.clone()).collect();
    let count = |session: &str| memmem::find_iter(staged, &format!("\"session_id\":\"{session}\"")).count() as u64;
    let mut ends: Vec<LedgerAnchor> = Vec::new();
    for (link, entry) in &entries {
        if !followed.contains(link) && !ends.iter().any(|end| end.last == *link) {
            let entries = count(&entry.session_id).max(1);
            ends.push(LedgerAnchor { commit: String::new(), entries, last: link.clone() });
        }
    }
    ends.drain(..ends.len().saturating_sub(MAX_ANCHORS));
    (ends, followed)
}
