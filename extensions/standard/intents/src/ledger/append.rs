//! Adds entries to the ledger: one writer at a time, one write, then the head and the indexes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use dispatch_os::{FileLock, LockKind, OsError, files};

use super::index::{self, Placed};
use super::{RETRY_PAUSE, read_head, tail};
use crate::chain::{self, Head};
use crate::entry::TraceEntry;
use crate::error::IntentsError;
use crate::layout::Layout;
use crate::local::make_local_folder;

/// A longer line loses the hashes of the lines it added.
const MAX_ENTRY_BYTES: usize = 2 * 1024 * 1024;
const COUNT_BLOCK_BYTES: usize = 1024 * 1024;
const TOO_MANY_LINES: &str = "the added lines are too many to be kept";

pub(super) fn append(
    layout: &Layout,
    wait: Duration,
    mut entries: Vec<TraceEntry>,
    settle: impl FnMut(&mut TraceEntry),
) -> Result<Head, IntentsError> {
    make_local_folder(layout)?;
    let _held = lock(layout, wait)?;
    let mut file = open(layout)?;
    let before = End::find(layout, &mut file)?;
    if entries.is_empty() {
        return Ok(before.head);
    }
    entries.iter_mut().for_each(settle);
    let unindexed_from = index::unindexed_from(layout, &mut file, before.head.bytes)?;
    let written = write(layout, &mut file, &before, entries)?;
    files::replace(&layout.head_file(), &serde_json::to_vec(&written.head)?)?;
    // An index that cannot be written is noticed and made again; the entries are kept either way.
    let _ = index::update(layout, &mut file, unindexed_from, before.head.bytes, &written.entries, &written.head);
    Ok(written.head)
}

fn lock(layout: &Layout, wait: Duration) -> Result<FileLock, IntentsError> {
    let path = layout.lock_file();
    match FileLock::acquire(&path, LockKind::Exclusive, wait) {
        Err(OsError::LockBusy { .. }) => {}
        other => return Ok(other?),
    }
    std::thread::sleep(RETRY_PAUSE);
    match FileLock::acquire(&path, LockKind::Exclusive, wait) {
        Err(OsError::LockBusy { .. }) => Err(IntentsError::Busy),
        other => Ok(other?),
    }
}

fn open(layout: &Layout) -> Result<File, IntentsError> {
    let path = layout.ledger_file();
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(IntentsError::NotAFile { path });
    }
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .open(&path)
        .map_err(|source| IntentsError::io("open for appending", &path, source))
}

/// The end of the ledger as it is found, with a torn line counted as if it were ended.
struct End {
    head: Head,
    torn: bool,
}

impl End {
    fn find(layout: &Layout, file: &mut File) -> Result<Self, IntentsError> {
        Self::look(layout, file).map_err(|source| IntentsError::io("read", &layout.ledger_file(), source))
    }

    fn look(layout: &Layout, file: &mut File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let torn = length > 0 && tail::read_range(file, length - 1, length)? != b"\n";
        let head = match read_head(layout) {
            // The next entry names what the head knows, even if the last line says otherwise by now:
            // so a line that was edited or removed at the end leaves a gap that can be found.
            Some(head) if head.bytes == length => head,
            Some(head) if head.bytes > length => Head { entries: count(file, 0)?, bytes: length, last: head.last },
            Some(head) if starts_line(file, head.bytes)? => go_on(file, head, length)?,
            _ => Head { entries: count(file, 0)?, bytes: length, last: last_link(file, length)? },
        };
        Ok(Self { head: Head { bytes: length + u64::from(torn), ..head }, torn })
    }
}

fn starts_line(file: &mut File, offset: u64) -> io::Result<bool> {
    Ok(offset == 0 || tail::read_range(file, offset - 1, offset)? == b"\n")
}

/// The end when lines follow the one that the head knows.
fn go_on(file: &mut File, head: Head, length: u64) -> io::Result<Head> {
    let more = count(file, head.bytes)?;
    Ok(Head { entries: head.entries + more, bytes: length, last: last_link(file, length)? })
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

/// Lines from an offset to the end; one without a line feed counts.
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

struct Written {
    head: Head,
    entries: Vec<Placed>,
}

fn write(layout: &Layout, file: &mut File, before: &End, entries: Vec<TraceEntry>) -> Result<Written, IntentsError> {
    let mut bytes = if before.torn { b"\n".to_vec() } else { Vec::new() };
    let mut head = before.head.clone();
    let mut placed = Vec::with_capacity(entries.len());
    for mut entry in entries {
        entry.prev = std::mem::take(&mut head.last);
        let line = spell(&mut entry)?;
        head.last = chain::link(&line);
        placed.push(Placed::of(&entry, head.bytes));
        head.entries += 1;
        head.bytes += line.len() as u64 + 1;
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    let path = layout.ledger_file();
    file.write_all(&bytes).map_err(|source| IntentsError::io("append to", &path, source))?;
    Ok(Written { head, entries: placed })
}

fn spell(entry: &mut TraceEntry) -> Result<Vec<u8>, serde_json::Error> {
    let line = serde_json::to_vec(entry)?;
    if line.len() <= MAX_ENTRY_BYTES {
        return Ok(line);
    }
    entry.added.clear();
    entry.note.get_or_insert_with(|| TOO_MANY_LINES.to_owned());
    serde_json::to_vec(entry)
}
