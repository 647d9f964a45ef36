//! Where the newest entries of an intent and the newest entry of a file are, so that asking for them
//! costs the same whatever the ledger's size. Everything here can be made again from the ledger and is
//! believed only after looking at the line it points to.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use dispatch_os::files::read_at_most;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{MAX_SEARCH_BYTES, RECENT_ENTRIES, tail};
use crate::chain::Head;
use crate::entry::TraceEntry;
use crate::error::IntentsError;
use crate::layout::Layout;

const MAX_INDEX_BYTES: u64 = 64 * 1024;

/// What the indexes need to know of an entry.
pub(super) struct Placed {
    intent: String,
    path: Option<String>,
    offset: u64,
}

impl Placed {
    pub(super) fn of(entry: &TraceEntry, offset: u64) -> Self {
        Self { intent: entry.intent_id.clone(), path: entry.path().map(str::to_owned), offset }
    }
}

#[derive(Serialize, Deserialize)]
struct Recent {
    intent: String,
    /// Oldest first.
    offsets: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct Last {
    path: String,
    offset: u64,
}

/// How much of the ledger the indexes cover.
enum Cover {
    /// All of it.
    All,
    /// The lines before this offset.
    Until(u64),
    /// Another ledger, or none.
    Nothing,
}

fn cover(layout: &Layout, file: &mut File, length: u64) -> io::Result<Cover> {
    let Some(marker) = load::<Head>(&layout.indexed_file()) else {
        return Ok(Cover::Nothing);
    };
    if marker.bytes > length || length - marker.bytes > MAX_SEARCH_BYTES {
        return Ok(Cover::Nothing);
    }
    if marker.bytes == length && super::read_head(layout).is_some_and(|head| head == marker) {
        return Ok(Cover::All);
    }
    let mut same = marker.bytes == 0;
    tail::walk_back(file, marker.bytes, MAX_SEARCH_BYTES, |_, line| {
        same = crate::chain::link(line) == marker.last;
        ControlFlow::Break(())
    })?;
    Ok(match same {
        true if marker.bytes == length => Cover::All,
        true => Cover::Until(marker.bytes),
        false => Cover::Nothing,
    })
}

/// The end of the ledger that the indexes know.
pub(super) fn known_end(layout: &Layout) -> Option<Head> {
    load(&layout.indexed_file())
}

/// From where on lines must be indexed before new ones are. Indexes of another ledger are removed.
pub(super) fn unindexed_from(layout: &Layout, file: &mut File, end: u64) -> Result<u64, IntentsError> {
    let inner = |file: &mut File| match cover(layout, file, end)? {
        Cover::All => Ok(end),
        Cover::Until(offset) => Ok(offset),
        Cover::Nothing => {
            for folder in [layout.recent_folder(), layout.files_folder()] {
                match fs::remove_dir_all(&folder) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            tail::first_line_within(file, end, MAX_SEARCH_BYTES)
        }
    };
    inner(file).map_err(|source| IntentsError::io("index", &layout.ledger_file(), source))
}

/// Takes the lines from `from` to `until`, then the entries that were just written, into the indexes.
pub(super) fn update(
    layout: &Layout,
    file: &mut File,
    from: u64,
    until: u64,
    entries: &[Placed],
    head: &Head,
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
        let known = load::<Recent>(&path).filter(|known| known.intent == intent);
        let mut offsets = match known {
            Some(known) => known.offsets,
            None => earlier(file, from, intent).map_err(|source| IntentsError::io("read", &path, source))?,
        };
        offsets.extend(more);
        offsets.drain(..offsets.len().saturating_sub(RECENT_ENTRIES));
        store(&path, &Recent { intent: intent.to_owned(), offsets })?;
    }
    for (path, offset) in by_path {
        store(&layout.file_index(path), &Last { path: path.to_owned(), offset })?;
    }
    store(&layout.indexed_file(), head)
}

/// The places of an intent's entries before `end`, for an intent that has no index yet.
fn earlier(file: &mut File, end: u64, intent: &str) -> io::Result<Vec<u64>> {
    let mine = |entry: &TraceEntry| entry.intent_id == intent;
    let found = search(file, end, MAX_SEARCH_BYTES, "intent_id", intent, RECENT_ENTRIES, &mine)?;
    Ok(found.into_iter().rev().map(|(offset, _)| offset).collect())
}

fn placed_between(file: &mut File, from: u64, until: u64) -> io::Result<Vec<Placed>> {
    let mut found = Vec::new();
    if from < until {
        tail::walk_back(file, until, until - from, |offset, line| {
            if let Ok(entry) = serde_json::from_slice::<TraceEntry>(line) {
                found.push(Placed::of(&entry, offset));
            }
            ControlFlow::Continue(())
        })?;
        found.reverse();
    }
    Ok(found)
}

/// The newest entries of an intent, newest first.
pub(super) fn recent(layout: &Layout, file: &mut File, intent: &str, limit: usize) -> io::Result<Vec<TraceEntry>> {
    let end = whole_length(file)?;
    let mine = |entry: &TraceEntry| entry.intent_id == intent;
    let find = |file: &mut File, bytes: u64| {
        let found = search(file, end, bytes, "intent_id", intent, limit, &mine)?;
        Ok::<_, io::Error>(found.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>())
    };
    let (mut found, index) = match cover(layout, file, end)? {
        Cover::All => (Vec::new(), true),
        Cover::Until(offset) => (find(file, end - offset)?, true),
        Cover::Nothing => (Vec::new(), false),
    };
    let known = load::<Recent>(&layout.recent_file(intent)).filter(|known| index && known.intent == intent);
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
pub(super) fn last_of(layout: &Layout, file: &mut File, path: &str) -> io::Result<Option<(u64, TraceEntry)>> {
    let end = whole_length(file)?;
    let mine = |entry: &TraceEntry| entry.path() == Some(path);
    let find = |file: &mut File, limit: u64| {
        search(file, end, limit, "relative_path", path, 1, &mine).map(|mut found| found.pop())
    };
    match cover(layout, file, end)? {
        Cover::Nothing => return find(file, MAX_SEARCH_BYTES),
        Cover::Until(offset) => {
            if let Some(entry) = find(file, end - offset)? {
                return Ok(Some(entry));
            }
        }
        Cover::All => {}
    }
    let index = layout.file_index(path);
    let known = load::<Last>(&index).filter(|known| known.path == path);
    let entry = match &known {
        Some(known) => entry_at(file, known.offset)?.filter(mine).map(|entry| (known.offset, entry)),
        None if !index.exists() => return Ok(None),
        None => None,
    };
    match entry {
        Some(found) => Ok(Some(found)),
        None => find(file, MAX_SEARCH_BYTES),
    }
}

/// The newest entry of each file that the index knows, at most `limit` of them, in no order.
pub(super) fn last_of_all(layout: &Layout, file: &mut File, limit: usize) -> io::Result<Vec<TraceEntry>> {
    let mut found = Vec::new();
    for name in fs::read_dir(layout.files_folder())?.flatten().take(limit) {
        let Some(known) = load::<Last>(&name.path()) else { continue };
        let entry = entry_at(file, known.offset)?;
        found.extend(entry.filter(|entry| entry.path() == Some(known.path.as_str())));
    }
    Ok(found)
}

/// The length without a line that has no end yet.
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

fn search(
    file: &mut File,
    end: u64,
    bytes: u64,
    field: &str,
    value: &str,
    limit: usize,
    mine: &dyn Fn(&TraceEntry) -> bool,
) -> io::Result<Vec<(u64, TraceEntry)>> {
    // Parsing every line would take a hundred times as long as looking for the text of the field.
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

/// Written in place: whoever reads half of it finds no JSON and searches the ledger instead. What was
/// longer is overwritten with spaces, because some file systems sync a file that is cut and written.
fn store(path: &Path, value: &impl Serialize) -> Result<(), IntentsError> {
    let mut bytes = serde_json::to_vec(value)?;
    let mut open = || {
        let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
        let length = usize::try_from(file.metadata()?.len().min(MAX_INDEX_BYTES)).unwrap_or(0);
        bytes.resize(bytes.len().max(length), b' ');
        file.write_all(&bytes)
    };
    let written = open().or_else(|error| match (error.kind(), path.parent()) {
        (io::ErrorKind::NotFound, Some(folder)) => fs::create_dir_all(folder).and_then(|()| open()),
        _ => Err(error),
    });
    written.map_err(|source| IntentsError::io("write", path, source))
}
