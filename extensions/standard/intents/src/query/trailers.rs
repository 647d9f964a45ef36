//! The trailers of a commit message: the intents of its changes, and an anchor of the ledger.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use dispatch_os::files::{self, read_at_most};
use dispatch_os::time::parse_rfc3339;

use crate::chain::LedgerHead;
use crate::error::IntentsError;
use crate::layout::{FOLDER, HEAD_FILE, LEDGER_FILE, OrchestrationLayout};
use crate::ledger::Ledger;
use crate::query::anchor::{ANCHOR_KEY, LedgerAnchor};
use crate::query::blame::FileBlame;
use crate::query::check::{DIFF, is_record, read_histories};
use crate::query::git_diff::{self, DiffContent, FileDiff};
use crate::query::git_repository::{GitRepository, INTENT_KEY, MAX_MESSAGE_BYTES};
use crate::query::stored_content;
use crate::trace_entry::RecordedChange;

/// A commit with more files gets no intents, so that it is not delayed.
const MAX_STAGED_FILES: usize = 2_000;

/// The trailers of the next commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommitTrailers {
    /// The intents of the staged changes.
    pub intents: BTreeSet<String>,
    /// The end of the ledger.
    pub anchor: Option<LedgerAnchor>,
}

impl CommitTrailers {
    /// Finds the trailers of the staged changes.
    ///
    /// # Errors
    /// When git or the ledger fails.
    pub(crate) fn of_staged(layout: &OrchestrationLayout, git: &GitRepository) -> Result<Self, IntentsError> {
        let mut files = git_diff::parse(&git.ask("diff", DIFF.iter().copied().chain(["--cached", "--"]))?);
        files.retain(|file| !is_record(file.name()));
        let anchor = anchor(layout, git);
        if files.len() > MAX_STAGED_FILES {
            return Ok(Self { intents: BTreeSet::new(), anchor });
        }
        let histories = read_histories(layout, &files)?;
        let mut intents = BTreeSet::new();
        for file in &files {
            let Ok(name) = std::str::from_utf8(file.name()) else { continue };
            let history = histories.get(name).map(Vec::as_slice).unwrap_or_default();
            if !history.is_empty() {
                intents.extend(intents_of(layout, git, file, name, history));
            }
        }
        intents.remove("");
        Ok(Self { intents, anchor })
    }

    /// Adds the trailers to the file of a commit message by git's own rules, without duplicates.
    ///
    /// # Errors
    /// When git fails or the file cannot be written.
    pub(crate) fn write(&self, git: &GitRepository, message: &Path) -> Result<(), IntentsError> {
        let mut wanted: Vec<String> = self.intents.iter().map(|intent| format!("{INTENT_KEY}: {intent}")).collect();
        if let Some(anchor) = &self.anchor {
            // Git compares keys by their beginning and would replace an `Intent` trailer by an `Intent-Ledger` trailer.
            let text = read_at_most(message, MAX_MESSAGE_BYTES)?;
            if let Some(rest) = without_anchors(&text) {
                files::replace(message, &rest)?;
            }
            wanted.push(format!("{ANCHOR_KEY}: {}", anchor.value()));
        }
        for trailer in wanted {
            let fixed = ["interpret-trailers", "--in-place", "--no-divider", "--where", "end"];
            let arguments = fixed.into_iter().chain(["--if-exists", "addIfDifferent", "--trailer", &trailer]);
            let arguments = arguments.map(OsString::from).chain([message.as_os_str().to_owned()]);
            git.ask("add a trailer", arguments)?;
        }
        Ok(())
    }
}

/// The message without old anchors; `None` if it has none.
fn without_anchors(message: &[u8]) -> Option<Vec<u8>> {
    let is_anchor = |line: &&[u8]| {
        let text = std::str::from_utf8(line).unwrap_or_default();
        text.starts_with(ANCHOR_KEY) && LedgerAnchor::parse("", text).is_some()
    };
    let lines: Vec<&[u8]> = message.split_inclusive(|byte| *byte == b'\n').collect();
    lines.iter().any(&is_anchor).then(|| lines.into_iter().filter(|line| !is_anchor(line)).flatten().copied().collect())
}

fn intents_of(
    layout: &OrchestrationLayout,
    git: &GitRepository,
    file: &FileDiff,
    name: &str,
    history: &[RecordedChange],
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let added: Vec<_> = file.hunks.iter().filter(|hunk| hunk.added > 0).collect();
    if file.content == DiffContent::Text && file.new.is_some() && !added.is_empty() {
        let Ok(staged) = git.ask("read what is staged", ["cat-file", "blob", &format!(":./{name}")]) else {
            return found;
        };
        let blame = FileBlame::new(history, &|hash| stored_content(layout, hash), &staged);
        let lines = added.iter().flat_map(|hunk| hunk.start..hunk.start + hunk.added);
        found.extend(lines.filter_map(|line| blame.change(line)).map(|change| change.entry.intent_id.clone()));
    }
    let removed = file.hunks.iter().any(|hunk| hunk.added == 0);
    if removed || file.content != DiffContent::Text || file.new.is_none() || file.old != file.new {
        let since_ms = last_commit_ms(git, file);
        let recent = |change: &&RecordedChange| parse_rfc3339(&change.entry.timestamp).is_some_and(|ms| ms >= since_ms);
        found.extend(history.iter().filter(recent).map(|change| change.entry.intent_id.clone()));
    }
    found
}

/// The time of the last commit that changed the file.
fn last_commit_ms(git: &GitRepository, file: &FileDiff) -> i64 {
    let Some(name) = file.old.as_deref().and_then(|name| std::str::from_utf8(name).ok()) else {
        return 0;
    };
    let log = git.ask("read commits", ["log", "-1", "--format=%ct", "--", name]).unwrap_or_default();
    let seconds = std::str::from_utf8(&log).ok().and_then(|text| text.trim().parse::<i64>().ok());
    seconds.unwrap_or_default().saturating_mul(1000)
}

/// The end of the ledger of this commit: of the staged ledger if git tracks it, else of the one on disk.
fn anchor(layout: &OrchestrationLayout, git: &GitRepository) -> Option<LedgerAnchor> {
    let staged = |file: &str| format!(":./{FOLDER}/{file}");
    let size = git.ask("look at the staged ledger", ["cat-file", "-s", &staged(LEDGER_FILE)]);
    let head: LedgerHead = match size {
        Ok(size) => {
            let bytes: u64 = std::str::from_utf8(&size).ok()?.trim().parse().ok()?;
            let head = git.ask("read the staged head", ["cat-file", "blob", &staged(HEAD_FILE)]).ok()?;
            // A head that was staged at another time does not match this ledger.
            serde_json::from_slice(&head).ok().filter(|head: &LedgerHead| head.bytes == bytes)?
        }
        Err(_) => Ledger::open(layout).head()?,
    };
    (head.entries > 0).then_some(LedgerAnchor { commit: String::new(), entries: head.entries, last: head.last })
}
