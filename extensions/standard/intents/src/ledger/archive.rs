//! Moves the chains of ended sessions into files of their own, so that the ledger stays small. The lines are written to the
//! archive before they leave the ledger: whoever is interrupted leaves lines in both, and a repeated line changes nothing.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use dispatch_os::Durability;
use dispatch_os::files::{self, ReplaceOptions};

use super::LedgerLineReader;
use super::append::{lock, open};
use super::{Ledger, read_head};
use crate::chain::{self, LedgerHead};
use crate::error::IntentsError;
use crate::hash::digits_of;
use crate::layout::OrchestrationLayout;
use crate::local_folder::create_local_folder;
use crate::trace_entry::TraceEntry;

/// From this size on, archiving is advised.
pub(crate) const ADVISED_BYTES: u64 = 10 * 1024 * 1024;
const NAME_DIGITS: usize = 12;

/// What was moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedChains {
    /// The new file, if something was moved.
    pub file: Option<PathBuf>,
    /// Sessions whose lines were moved.
    pub sessions: u64,
    /// Lines that were moved.
    pub lines: u64,
    /// Lines that stay.
    pub left: u64,
}

impl Ledger {
    /// Moves the lines of the sessions for which `is_ended` answers `true`, given the session and the time of its last
    /// entry. Lines that are not entries stay.
    ///
    /// # Errors
    /// [`IntentsError::Busy`] when the lock is busy; else when a file cannot be read or written.
    pub(crate) fn archive(&self, is_ended: &dyn Fn(&str, &str) -> bool) -> Result<ArchivedChains, IntentsError> {
        let layout = &self.layout;
        create_local_folder(layout)?;
        let _held = lock(layout, self.lock_wait)?;
        if !files::exists(layout.ledger_file()) {
            return Ok(ArchivedChains::default());
        }
        drop(open(layout)?);
        let split = self.split(is_ended).map_err(|source| IntentsError::io("read", &layout.ledger_file(), source))?;
        if split.moved.is_empty() {
            return Ok(ArchivedChains { left: split.left_lines, ..ArchivedChains::default() });
        }
        let folder = layout.archive_folder();
        files::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
        let digits = digits_of(&split.moved);
        let name = format!("agent_trace-{}.jsonl", digits.get(..NAME_DIGITS).unwrap_or(&digits));
        let file = folder.join(name);
        let durable = ReplaceOptions { durability: Durability::Content, ..ReplaceOptions::default() };
        files::replace_with(&file, &split.moved, durable)?;
        files::replace_with(&layout.ledger_file(), &split.left, durable)?;
        forget_places(layout, &split)?;
        let ArchiveSplit { sessions, moved_lines, left_lines, .. } = split;
        Ok(ArchivedChains { file: Some(file), sessions, lines: moved_lines, left: left_lines })
    }

    /// The archives, in the order of their names.
    pub(crate) fn archives(&self) -> Vec<PathBuf> {
        let entries = files::read_dir(self.layout.archive_folder()).into_iter().flatten().flatten();
        let is_archive = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_archive).collect();
        found.sort();
        found
    }

    fn split(&self, is_ended: &dyn Fn(&str, &str) -> bool) -> io::Result<ArchiveSplit> {
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        for line in self.present_lines()? {
            if let Ok(entry) = line?.entry() {
                let known = last.entry(entry.session_id).or_default();
                *known = entry.timestamp.max(std::mem::take(known));
            }
        }
        last.retain(|session, time| is_ended(session, time));
        let mut split = ArchiveSplit { sessions: last.len() as u64, ..ArchiveSplit::default() };
        for line in self.present_lines()? {
            let line = line?;
            let entry = serde_json::from_slice::<TraceEntry>(&line.bytes).ok();
            // A line that is too long to be held whole stays where it is.
            let is_whole = line.length == line.bytes.len() as u64;
            let moves = is_whole && entry.is_some_and(|entry| last.contains_key(&entry.session_id));
            let (bytes, count) = match moves {
                true => (&mut split.moved, &mut split.moved_lines),
                false => (&mut split.left, &mut split.left_lines),
            };
            if !is_whole {
                return Err(io::Error::other("a line is too long to be moved"));
            }
            bytes.extend_from_slice(&line.bytes);
            if line.ended || moves {
                bytes.push(b'\n');
            }
            *count += 1;
            if !moves {
                split.last_link = chain::link(&line.bytes);
            }
        }
        Ok(split)
    }
}

#[derive(Default)]
struct ArchiveSplit {
    sessions: u64,
    moved: Vec<u8>,
    moved_lines: u64,
    left: Vec<u8>,
    left_lines: u64,
    /// The link of the last line that stays.
    last_link: String,
}

/// The head keeps the ends of all chains, so that a removed archive is found; the indexes are made again.
fn forget_places(layout: &OrchestrationLayout, split: &ArchiveSplit) -> Result<(), IntentsError> {
    if let Some(head) = read_head(layout) {
        let last = if split.left_lines == 0 { chain::START.to_owned() } else { split.last_link.clone() };
        let (entries, bytes) = (split.left_lines, split.left.len() as u64);
        files::replace(&layout.head_file(), &serde_json::to_vec(&LedgerHead { entries, bytes, last, ..head })?)?;
    }
    for folder in [layout.files_folder(), layout.recent_folder()] {
        let _ = files::remove_dir_all(folder);
    }
    Ok(())
}

/// The lines of the archives and then those of the ledger, numbered through.
pub(crate) fn chained(files: Vec<PathBuf>) -> io::Result<impl Iterator<Item = io::Result<super::LedgerLine>>> {
    let readers = files.iter().map(|file| LedgerLineReader::open(file)).collect::<io::Result<Vec<_>>>()?;
    let numbered = readers.into_iter().flatten().zip(1_u64..);
    Ok(numbered.map(|(line, number)| line.map(|line| line.numbered(number))))
}
