//! Indexes of the newest entries of each intent and the newest entry of each file, so that finding them does not depend
//! on the size of the ledger. The indexes can be rebuilt from the ledger, and each hit is checked against its line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use dispatch_os::files::{self, File, OpenOptions, read_at_most};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{MAX_SEARCH_BYTES, RECENT_ENTRIES, tail};
use crate::chain::LedgerHead;
use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;
use crate::trace_entry::TraceEntry;

const MAX_INDEX_BYTES: u64 = 64 * 1024;

/// The indexed fields of an entry.
pub(super) struct IndexedEntry {
    intent: String,
    path: Option<String>,
    offset: u64,
}

impl IndexedEntry {
    pub(super) fn of(entry: &TraceEntry, offset: u64) -> Self {
        Self { intent: entry.intent_id.clone(), path: entry.path().map(str::to_owned), offset }
    }
}

#[derive(Serialize, Deserialize)]
struct RecentIndex {
    intent: String,
    /// Oldest first.
    offsets: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct LastEntryIndex {
    path: String,
    offset: u64,
}

/// How much of the ledger the indexes cover.
enum IndexCoverage {
    /// All of it.
    All,
    /// The lines before this offset.
    Until(u64),
    /// Another ledger, or none.
    Nothing,
}

fn cover(layout: &OrchestrationLayout, file: &mut File, length: u64) -> io::Result<IndexCoverage> {
    let Some(marker) = load::<LedgerHead>(&layout.indexed_file()) else {
        return Ok(IndexCoverage::Nothing);
    };
    if marker.bytes > length || length - marker.bytes > MAX_SEARCH_BYTES {
        return Ok(IndexCoverage::Nothing);
    }
    if marker.bytes == length && super::read_head(layout).is_some_and(|head| head == marker) {
        return Ok(IndexCoverage::All);
    }
    let mut same = marker.bytes == 0;
    tail::walk_back(file, marker.bytes, MAX_SEARCH_BYTES, |_, line| {
        same = crate::chain::link(line) == marker.last;
        ControlFlow::Break(())
    })?;
    Ok(match same {
        true if marker.bytes == length => IndexCoverage::All,
        true => IndexCoverage::Until(marker.bytes),
        false => IndexCoverage::Nothing,
    })
}

/// The end of the ledger that the indexes know.
pub(super) fn known_end(layout: &OrchestrationLayout) -> Option<LedgerHead> {
    load(&layout.indexed_file())
}

/// The offset of the first line that is not indexed. Indexes of another ledger are removed.
pub(super) fn unindexed_from(layout: &OrchestrationLayout, file: &mut File, end: u64) -> Result<u64, IntentsError> {
    let inner = |file: &mut File| match cover(layout, file, end)? {
        IndexCoverage::All => Ok(end),
        IndexCoverage::Until(offset) => Ok(offset),
        IndexCoverage::Nothing => {
            for folder in [layout.recent_folder(), layout.files_folder()] {
                match files::remove_dir_all(&folder) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            tail::first_line_within(file, end, MAX_SEARCH_BYTES)
        }
    };
    inner(file).map_err(|source| IntentsError::io("index", &layout.ledger_file(), source))
}

/// Adds the lines from `from` to `until` and the entries that were just written to the indexes.
pub(super) fn update(
    layout: &OrchestrationLayout,
    file: &mut File,
    from: u64,
    until: u64,
    entries: &[IndexedEntry],
    head: &LedgerHead,
) -> Result<(), IntentsError> {
    let missed =
        placed_between(file, from, until).map_err(|source| IntentsError::io("read", &layout.ledger_file(), source))?;
    let mut by_intent: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut by_path: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in missed.iter().chain(entries) {
        by_intent.entry(&entry.intent).or_default().push(entry.offset);
        if let Some(path) = &entry.path {
            by_path.insert(path, entry.offset);
        }
    }
    for (intent, more) in by_intent {
        let path = layout.recent_file(intent);
        let known = load::<RecentIndex>(&path).filter(|known| known.intent == intent);
        let mut offsets = match known {
            Some(known) => known.offsets,
            None => earlier(file, from, intent).map_err(|source| IntentsError::io("read", &path, source))?,
        };
        offsets.extend(more);
        offsets.drain(..offsets.len().saturating_sub(RECENT_ENTRIES));
        store(&path, &RecentIndex { intent: intent.to_owned(), offsets })?;
    }
    for (path, offset) in by_path {
        store(&layout.file_index(path), &LastEntryIndex { path: path.to_owned(), offset })?;
    }
    store(&layout.indexed_file(), head)
}

/// The offsets of an intent's entries before `end`, for an intent without an index.
fn earlier(file: &mut File, end: u64, intent: &str) -> io::Result<Vec<u64>> {
    let mine = |entry: &TraceEntry| entry.intent_id == intent;
    let found = search(file, end, MAX_SEARCH_BYTES, "intent_id", intent, RECENT_ENTRIES, &mine)?;
    Ok(found.into_iter().rev().map(|(offset, _)| offset).collect())
}

fn placed_between(file: &mut File, from: u64, until: u64) -> io::Result<Vec<IndexedEntry>> {
    let mut found = Vec::new();
    if from < until {
        tail::walk_back(file, until, until - from, |offset, line| {
            if let Ok(entry) = serde_json::from_slice::<TraceEntry>(line) {
                found.push(IndexedEntry::of(&entry, offset));
            }
            ControlFlow::Continue(())
        })?;
        found.reverse();
    }
    Ok(found)
}

/// The newest entries of an intent, newest first.
pub(super) fn recent(
    layout: &OrchestrationLayout,
    file: &mut File,
    intent: &str,
    limit: usize,
) -> io::Result<Vec<TraceEntry>> {
    let end = whole_length(file)?;
    let mine = |entry: &TraceEntry| entry.intent_id == intent;
    let find = |file: &mut File, bytes: u64| {
        let found = search(file, end, bytes, "intent_id", intent, limit, &mine)?;
        Ok::<_, io::Error>(found.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>())
    };
    let (mut found, index) = match cover(layout, file, end)? {
        IndexCoverage::All => (Vec::new(), true),
        IndexCoverage::Until(offset) => (find(file, end - offset)?, true),
        IndexCoverage::Nothing => (Vec::new(), false),
    };
    let known = load::<RecentIndex>(&layout.recent_file(intent)).filter(|known| index && known.intent == intent);
    let Some(known) = known else {
        return find(file, MAX_SEARCH_BYTES);
    };
    for offset in known.offsets.iter().rev() {
        if found.len() >= limit {
            break;
        }
        match entry_at(file, *offset)?.filter(mine) {
            Some(entry) => found.push(entry),
            None => return find(file, MAX_SEARCH_BYTES),
        }
    }
    Ok(found)
}

/// The newest entry about a path.
pub(super) fn last_of(
    layout: &OrchestrationLayout,
    file: &mut File,
    path: &str,
) -> io::Result<Option<(u64, TraceEntry)>> {
    let end = whole_length(file)?;
    let mine = |entry: &TraceEntry| entry.path() == Some(path);
    let find = |file: &mut File, limit: u64| {
        search(file, end, limit, "relative_path", path, 1, &mine).map(|mut found| found.pop())
    };
    match cover(layout, file, end)? {
        IndexCoverage::Nothing => return find(file, MAX_SEARCH_BYTES),
        IndexCoverage::Until(offset) => {
            if let Some(entry) = find(file, end - offset)? {
                return Ok(Some(entry));
            }
        }
        IndexCoverage::All => {}
    }
    let index = layout.file_index(path);
    let known = load::<LastEntryIndex>(&index).filter(|known| known.path == path);
    let entry = match &known {
        Some(known) => entry_at(file, known.offset)?.filter(mine).map(|entry| (known.offset, entry)),
        None if !files::exists(&index) => return Ok(None),
        None => None,
    };
    match entry {
        Some(found) => Ok(Some(found)),
        None => find(file, MAX_SEARCH_BYTES),
    }
}

/// The newest entry of each file that the index knows, at most `limit` of them, in no order.
#[cfg(feature = "count")]
pub(super) fn last_of_all(layout: &OrchestrationLayout, file: &mut File, limit: usize) -> io::Result<Vec<TraceEntry>> {
    let mut found = Vec::new();
    for name in files::read_dir(layout.files_folder())?.flatten().take(limit) {
        let Some(known) = load::<LastEntryIndex>(&name.path()) else { continue };
        let entry = entry_at(file, known.offset)?;
        found.extend(entry.filter(|entry| entry.path() == Some(known.path.as_str())));
    }
    Ok(found)
}

/// The length without an unfinished last line.
fn whole_length(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    if length == 0 || tail::read_range(file, length - 1, length)? == b"\n" {
        return Ok(length);
    }
    let start = length.saturating_sub(MAX_SEARCH_BYTES);
    let bytes = tail::read_range(file, start, length)?;
    Ok(memchr::memrchr(b'\n', &bytes).map_or(0, |at| start + at as u64 + 1))
}

fn entry_at(file: &mut File, offset: u64) -> io::Result<Option<TraceEntry>> {
    Ok(tail::line_at(file, offset)?.and_then(|line| serde_json::from_slice(&line).ok()))
}

pub(super) fn search(
    file: &mut File,
    end: u64,
    bytes: u64,
    field: &str,
    value: &str,
    limit: usize,
    mine: &dyn Fn(&TraceEntry) -> bool,
) -> io::Result<Vec<(u64, TraceEntry)>> {
    // Parsing every line takes a hundred times as long as searching for the text of the field.
    let text = serde_json::to_string(value)?;
    let needle = format!("\"{field}\":{text}");
    let finder = memchr::memmem::Finder::new(&needle);
    let mut found = Vec::new();
    tail::walk_back(file, end, bytes, |offset, line| {
        if found.len() >= limit {
            return ControlFlow::Break(());
        }
        if finder.find(line).is_some() {
            let entry = serde_json::from_slice::<TraceEntry>(line).ok().filter(|entry| mine(entry));
            found.extend(entry.map(|entry| (offset, entry)));
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn load<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_at_most(path, MAX_INDEX_BYTES).ok()?).ok()
}

/// Written in place: a reader of a half-written file finds invalid JSON and searches the ledger instead. A longer old
/// content is overwritten with spaces, because some file systems sync a file that is truncated and written.
fn store(path: &Path, value: &impl Serialize) -> Result<(), IntentsError> {
    let mut bytes = serde_json::to_vec(value)?;
    let mut open = || {
        let mut file = files::open_with(OpenOptions::new().write(true).create(true).truncate(false), path)?;
        let length = usize::try_from(file.metadata()?.len().min(MAX_INDEX_BYTES)).unwrap_or(0);
        bytes.resize(bytes.len().max(length), b' ');
        file.write_all(&bytes)
    };
    let written = open().or_else(|error| match (error.kind(), path.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => files::create_dir_all(folder).and_then(|()| open()),
        _ => Err(error),
    });
    written.map_err(|source| IntentsError::io("write", path, source))
}
