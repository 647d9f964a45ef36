//! Appends entries to the ledger under a lock in one write, then updates the head and the indexes.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use dispatch_os::files::{self, File, OpenOptions};
use dispatch_os::{FileLock, LockKind, OsError};

use super::chain_ends;
use super::index::{self, IndexedEntry};
use super::{RETRY_PAUSE, read_head, tail};
use crate::chain::{self, ChainEnd, LedgerHead};
use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;
use crate::local_folder::create_local_folder;
use crate::trace_entry::TraceEntry;

/// A longer line loses the hashes of the lines it added.
const MAX_ENTRY_BYTES: usize = 2 * 1024 * 1024;
const COUNT_BLOCK_BYTES: usize = 1024 * 1024;
const TOO_MANY_LINES: &str = "too many added lines to store their hashes";

pub(super) fn append(
    layout: &OrchestrationLayout,
    wait: Duration,
    mut entries: Vec<TraceEntry>,
    settle: impl FnMut(&mut TraceEntry) -> bool,
) -> Result<LedgerHead, IntentsError> {
    create_local_folder(layout)?;
    let _held = lock(layout, wait)?;
    let mut file = open(layout)?;
    let before = LedgerEnd::find(layout, &mut file, &entries)?;
    entries.retain_mut(settle);
    if entries.is_empty() {
        return Ok(before.head);
    }
    let unindexed_from = index::unindexed_from(layout, &mut file, before.head.bytes)?;
    let written = write(layout, &mut file, &before, entries)?;
    files::replace(&layout.head_file(), &serde_json::to_vec(&written.head)?)?;
    // A stale index is detected and rebuilt; the entries are in the ledger either way.
    let _ = index::update(layout, &mut file, unindexed_from, before.head.bytes, &written.entries, &written.head);
    Ok(written.head)
}

pub(super) fn lock(layout: &OrchestrationLayout, wait: Duration) -> Result<FileLock, IntentsError> {
    let path = layout.lock_file();
    match FileLock::acquire(&path, LockKind::Exclusive, wait) {
        Err(OsError::LockBusy { .. }) => {}
        other => return Ok(other?),
    }
    dispatch_os::threads::sleep(RETRY_PAUSE);
    match FileLock::acquire(&path, LockKind::Exclusive, wait) {
        Err(OsError::LockBusy { .. }) => Err(IntentsError::Busy),
        other => Ok(other?),
    }
}

pub(super) fn open(layout: &OrchestrationLayout) -> Result<File, IntentsError> {
    let path = layout.ledger_file();
    if files::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(IntentsError::NotAFile { path });
    }
    files::open_with(OpenOptions::new().read(true).append(true).create(true), &path)
        .map_err(|source| IntentsError::io("open for appending", &path, source))
}

/// The end of the ledger as it is on disk; a torn line counts as if it were ended.
struct LedgerEnd {
    head: LedgerHead,
    torn: bool,
}

impl LedgerEnd {
    fn find(layout: &OrchestrationLayout, file: &mut File, entries: &[TraceEntry]) -> Result<Self, IntentsError> {
        Self::read(layout, file, entries).map_err(|source| IntentsError::io("read", &layout.ledger_file(), source))
    }

    fn read(layout: &OrchestrationLayout, file: &mut File, entries: &[TraceEntry]) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let torn = length > 0 && tail::read_range(file, length - 1, length)? != b"\n";
        // When the head is missing, the indexes still know the end.
        let known = read_head(layout).or_else(|| index::known_end(layout));
        let unchanged = known.as_ref().is_some_and(|head| head.bytes == length);
        let mut head = match known {
            // The next entry follows the head even if the last line does not match it: so an edited line is found.
            Some(head) if unchanged => head,
            Some(head) => LedgerHead { entries: count(file, 0)?, last: continued_link(file, &head, length)?, ..head },
            None => LedgerHead { entries: count(file, 0)?, last: last_link(file, length)?, ..LedgerHead::default() },
        };
        let sessions: BTreeSet<&str> = entries.iter().map(|entry| entry.session_id.as_str()).collect();
        match unchanged {
            true => chain_ends::add_sessions(file, length, &mut head, &sessions)?,
            false if length == 0 => chain_ends::clear(layout, &mut head),
            false => chain_ends::refresh(layout, &mut head, &sessions)?,
        }
        Ok(Self { head: LedgerHead { bytes: length + u64::from(torn), ..head }, torn })
    }
}

/// The link of the last line, or what the head expects if lines were removed from the end.
fn continued_link(file: &mut File, head: &LedgerHead, length: u64) -> io::Result<String> {
    if head.bytes > length && head.chains.is_none() { Ok(head.last.clone()) } else { last_link(file, length) }
}

fn last_link(file: &mut File, length: u64) -> io::Result<String> {
    let mut window = 64 * 1024;
    loop {
        let start = length.saturating_sub(window);
        let bytes = tail::read_range(file, start, length)?;
        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        match memchr::memrchr(b'\n', body) {
            Some(at) => return Ok(chain::link(body.get(at + 1..).unwrap_or_default())),
            None if bytes.is_empty() => return Ok(chain::START.to_owned()),
            None if start == 0 => return Ok(chain::link(body)),
            None => window *= 8,
        }
    }
}

/// The number of lines from an offset to the end; one without a line feed counts.
fn count(file: &mut File, offset: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(offset))?;
    let mut block = vec![0; COUNT_BLOCK_BYTES];
    let mut lines = 0;
    let mut last = b'\n';
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(lines + u64::from(last != b'\n')),
            Ok(count) => {
                let bytes = block.get(..count).unwrap_or_default();
                lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
                last = bytes.last().copied().unwrap_or(last);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

struct WrittenEntries {
    head: LedgerHead,
    entries: Vec<IndexedEntry>,
}

fn write(
    layout: &OrchestrationLayout,
    file: &mut File,
    before: &LedgerEnd,
    entries: Vec<TraceEntry>,
) -> Result<WrittenEntries, IntentsError> {
    let mut bytes = if before.torn { b"\n".to_vec() } else { Vec::new() };
    let mut head = before.head.clone();
    let mut placed = Vec::with_capacity(entries.len());
    for mut entry in entries {
        entry.prev = head.next_prev(&entry.session_id);
        let line = spell(&mut entry)?;
        head.last = chain::link(&line);
        placed.push(IndexedEntry::of(&entry, head.bytes));
        head.entries += 1;
        let end = ChainEnd::of(&entry, head.last.clone(), head.entries);
        head.set_end(&entry.session_id, end);
        head.bytes += line.len() as u64 + 1;
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    let path = layout.ledger_file();
    file.write_all(&bytes).map_err(|source| IntentsError::io("append to", &path, source))?;
    Ok(WrittenEntries { head, entries: placed })
}

fn spell(entry: &mut TraceEntry) -> Result<Vec<u8>, serde_json::Error> {
    let line = serde_json::to_vec(entry)?;
    if line.len() <= MAX_ENTRY_BYTES {
        return Ok(line);
    }
    entry.added.clear();
    entry.removed = None;
    entry.note.get_or_insert_with(|| TOO_MANY_LINES.to_owned());
    serde_json::to_vec(entry)
}
