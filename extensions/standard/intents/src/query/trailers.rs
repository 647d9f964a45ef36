//! What a commit message says of intents: the intents that its changes belong to, and an anchor of the ledger.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use dispatch_os::files::{self, read_at_most};
use dispatch_os::time::parse_rfc3339;

use crate::chain::Head;
use crate::error::IntentsError;
use crate::layout::{FOLDER, HEAD_FILE, LEDGER_FILE, Layout};
use crate::ledger::Ledger;
use crate::query::anchor::{ANCHOR_KEY, Anchor};
use crate::query::blame::Blame;
use crate::query::check::{DIFF, is_record, read_histories};
use crate::query::git::{Git, INTENT_KEY, MAX_MESSAGE_BYTES};
use crate::query::history::Change;
use crate::query::kept_content;
use crate::query::patch::{self, Content, FileDiff};

/// A commit with more files than this gets no intents, so that it is not held up.
const MAX_STAGED_FILES: usize = 2_000;

/// The trailers of a commit to come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trailers {
    /// The intents whose entries wrote what is staged.
    pub intents: BTreeSet<String>,
    /// The end of the ledger.
    pub anchor: Option<Anchor>,
}

impl Trailers {
    /// Finds the trailers for what is staged.
    ///
    /// # Errors
    /// When git or the ledger cannot be asked.
    pub fn of_staged(layout: &Layout, git: &Git) -> Result<Self, IntentsError> {
        let mut files = patch::parse(&git.ask("diff", DIFF.iter().copied().chain(["--cached", "--"]))?);
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

    /// Adds the trailers to the file of a commit message by git's own rules; what is there stays once.
    ///
    /// # Errors
    /// When git cannot do it.
    pub fn write(&self, git: &Git, message: &Path) -> Result<(), IntentsError> {
        let mut wanted: Vec<String> = self.intents.iter().map(|intent| format!("{INTENT_KEY}: {intent}")).collect();
        if let Some(anchor) = &self.anchor {
            // To git, which compares the beginnings of keys, an anchor is an intent and would replace one.
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

/// The message without the anchors of an earlier version of the commit; nothing if it has none.
fn without_anchors(message: &[u8]) -> Option<Vec<u8>> {
    let is_anchor = |line: &&[u8]| {
        let text = std::str::from_utf8(line).unwrap_or_default();
        text.starts_with(ANCHOR_KEY) && Anchor::parse("", text).is_some()
    };
    let lines: Vec<&[u8]> = message.split_inclusive(|byte| *byte == b'\n').collect();
    lines.iter().any(&is_anchor).then(|| lines.into_iter().filter(|line| !is_anchor(line)).flatten().copied().collect())
}

fn intents_of(layout: &Layout, git: &Git, file: &FileDiff, name: &str, history: &[Change]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let added: Vec<_> = file.hunks.iter().filter(|hunk| hunk.added > 0).collect();
    if file.content == Content::Text && file.new.is_some() && !added.is_empty() {
        let Ok(staged) = git.ask("read what is staged", ["cat-file", "blob", &format!(":./{name}")]) else {
            return found;
        };
        let blame = Blame::new(history, &|hash| kept_content(layout, hash), &staged);
        let lines = added.iter().flat_map(|hunk| hunk.start..hunk.start + hunk.added);
        found.extend(lines.filter_map(|line| blame.change(line)).map(|change| change.entry.intent_id.clone()));
    }
    let removed = file.hunks.iter().any(|hunk| hunk.added == 0);
    if removed || file.content != Content::Text || file.new.is_none() || file.old != file.new {
        let since_ms = last_commit_ms(git, file);
        let recent = |change: &&Change| parse_rfc3339(&change.entry.timestamp).is_some_and(|ms| ms >= since_ms);
        found.extend(history.iter().filter(recent).map(|change| change.entry.intent_id.clone()));
    }
    found
}

/// When a commit last changed the file.
fn last_commit_ms(git: &Git, file: &FileDiff) -> i64 {
    let Some(name) = file.old.as_deref().and_then(|name| std::str::from_utf8(name).ok()) else {
        return 0;
    };
    let log = git.ask("read commits", ["log", "-1", "--format=%ct", "--", name]).unwrap_or_default();
    let seconds = std::str::from_utf8(&log).ok().and_then(|text| text.trim().parse::<i64>().ok());
    seconds.unwrap_or_default().saturating_mul(1000)
}

/// The end of the ledger that goes with the commit: of the staged one if git keeps it, else of the one on disk.
fn anchor(layout: &Layout, git: &Git) -> Option<Anchor> {
    let staged = |file: &str| format!(":./{FOLDER}/{file}");
    let size = git.ask("look at the staged ledger", ["cat-file", "-s", &staged(LEDGER_FILE)]);
    let head: Head = match size {
        Ok(size) => {
            let bytes: u64 = std::str::from_utf8(&size).ok()?.trim().parse().ok()?;
            let head = git.ask("read the staged head", ["cat-file", "blob", &staged(HEAD_FILE)]).ok()?;
            // A head that was staged at another time says nothing about this ledger.
            serde_json::from_slice(&head).ok().filter(|head: &Head| head.bytes == bytes)?
        }
        Err(_) => Ledger::open(layout).head()?,
    };
    (head.entries > 0).then_some(Anchor { commit: String::new(), entries: head.entries, last: head.last })
}
