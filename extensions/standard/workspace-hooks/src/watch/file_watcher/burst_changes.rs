//! What the file_watcher makes of a burst: which folders came and went, what became of each file.

use super::super::burst::Burst;
use super::super::changes::{DetectedChange, changes};
use super::super::events::{ChangedFile, events, slashed};
use super::super::file_fingerprint::FileFingerprint;
use super::super::ignore_rules::{IgnoreRules, is_ignore_file};
use super::super::tree_scan::{fingerprint_of, scan_tree};
use super::{FileWatcher, POLL_MS, WatchBatch};
use crate::content::content_hash;
use crate::contract::{ContentHash, Event};
use crate::file_names::FOLDER;
use dispatch_os::time::monotonic_ms;
use dispatch_os::{files, threads};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Fewer files than this are hashed faster than threads are started.
const MIN_FILES_PER_THREAD: usize = 32;
const MAX_HASHING_THREADS: usize = 4;

impl FileWatcher {
    /// Judges everything that settled.
    pub(super) fn look(&mut self) -> WatchBatch {
        let now_ms = monotonic_ms();
        let mut burst = self.gathering.settled(now_ms);
        burst.lost |= self.overflowed.swap(false, Ordering::AcqRel);
        if burst.lost {
            self.look_through(&mut burst);
        } else if self.polled > 0 && now_ms >= self.next_poll_ms {
            self.next_poll_ms = now_ms + POLL_MS;
            self.read_polled(&mut burst);
        }
        if burst.is_empty() {
            return self.batch(Vec::new(), Vec::new());
        }
        let new_repository = burst.arrived.contains(Path::new(".git"));
        let gone = self.follow_folders(&mut burst);
        let (judged, notes) = self.judge(&burst);
        gone.iter().for_each(|folder| self.known.drop_empty_below(folder));
        let events = events(&self.root, &judged);
        if new_repository || judged.iter().any(|one| is_ignore_file(Path::new(&one.path))) {
            self.reload_ignore_rules();
        }
        self.batch(events, notes)
    }

    fn batch(&mut self, events: Vec<Event>, mut notes: Vec<String>) -> WatchBatch {
        notes.extend(self.polling_note());
        WatchBatch { events, notes, configuration: std::mem::take(&mut self.configuration), ended: self.root_is_gone }
    }

    /// Compares the whole tree with what is known: notices were lost.
    fn look_through(&mut self, burst: &mut Burst) {
        self.watches.begin_anew();
        self.watches.add_root(&self.root);
        let found = scan_tree(&self.root, Path::new(""), &self.watches);
        let here: HashSet<&Path> = found.files.iter().map(|(path, _)| path.as_path()).collect();
        let missing = self.known.files_below(Path::new("")).into_iter().filter(|path| !here.contains(path.as_path()));
        burst.touched.extend(missing);
        let differs = |(path, print): &&(PathBuf, FileFingerprint)| self.known.get(path) != Some(*print);
        burst.touched.extend(found.files.iter().filter(differs).map(|(path, _)| path.clone()));
        let folders: HashSet<&Path> = found.folders.iter().map(PathBuf::as_path).collect();
        let left: Vec<PathBuf> =
            self.known.folders().filter(|folder| !folders.contains(folder)).map(Path::to_owned).collect();
        burst.touched.extend(left);
        found.folders.iter().for_each(|folder| self.known.add_folder(folder));
        self.watch_configuration();
        self.configuration = true;
    }

    /// Reads the folders that the system has no watch for.
    fn read_polled(&mut self, burst: &mut Burst) {
        for folder in self.watches.polled() {
            let Ok(inside) = folder.strip_prefix(&self.root).map(Path::to_owned) else {
                // The one folder outside is that of the user's hooks.
                self.configuration = true;
                continue;
            };
            let mut here = HashSet::new();
            for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(found) = entry.metadata() else { continue };
                let path = inside.join(entry.file_name());
                if found.is_dir() && !self.known.has_folder(&path) {
                    burst.arrived.insert(path);
                } else if found.is_file() {
                    if self.known.get(&path) != Some(fingerprint_of(&found)) {
                        self.configuration |= path.starts_with(FOLDER);
                        burst.touched.insert(path.clone());
                    }
                    here.insert(path);
                }
            }
            let gone = self.known.files_in(&inside).into_iter().filter(|path| !here.contains(path));
            burst.touched.extend(gone);
            if !files::is_dir(&folder) {
                burst.touched.insert(inside);
            }
        }
    }

    /// Watches folders that came and forgets those that went; what is in them is part of the burst. Gives those that
    /// went.
    fn follow_folders(&mut self, burst: &mut Burst) -> Vec<PathBuf> {
        let moved: Vec<(PathBuf, PathBuf)> = burst
            .origins
            .iter()
            .filter(|(to, from)| self.known.has_folder(from) && !self.is_folder(from) && self.is_folder(to))
            .map(|(to, from)| (to.clone(), from.clone()))
            .collect();
        for (to, from) in moved {
            burst.origins.remove(&to);
            for file in self.known.files_below(&from) {
                if let Ok(rest) = file.strip_prefix(&from) {
                    burst.moved(&file, &to.join(rest));
                }
            }
        }
        let gone = self.gone_folders(burst);
        for folder in &gone {
            burst.touched.extend(self.known.files_below(folder));
            let below = self.known.folders_below(folder);
            below.iter().for_each(|folder| self.watches.remove(&self.root.join(folder)));
        }
        let mut done: Option<PathBuf> = None;
        for folder in std::mem::take(&mut burst.arrived) {
            let seen = done.as_ref().is_some_and(|done| folder.starts_with(done));
            if !seen && self.is_folder(&folder) {
                self.enter(&folder, burst);
                done = Some(folder);
            }
        }
        gone
    }

    /// The outermost folders that went.
    fn gone_folders(&self, burst: &Burst) -> Vec<PathBuf> {
        let mut gone: Vec<PathBuf> = Vec::new();
        for path in &burst.touched {
            let inner = gone.last().is_some_and(|outer| path.starts_with(outer));
            if !inner && self.known.has_folder(path) && !self.is_folder(path) {
                gone.push(path.clone());
            }
        }
        gone
    }

    /// Watches a folder that was not here before, with all that is in it.
    fn enter(&mut self, folder: &Path, burst: &mut Burst) {
        if !self.ignore_rules.keeps_folder(folder) {
            if folder == Path::new(FOLDER) {
                self.watch_configuration();
            }
            return;
        }
        self.watches.add(&self.root.join(folder));
        let found = scan_tree(&self.root, folder, &self.watches);
        // A folder of this name may have been here, too.
        burst.touched.extend(self.known.files_below(folder));
        burst.touched.extend(found.files.into_iter().map(|(path, _)| path));
        found.folders.iter().for_each(|folder| self.known.add_folder(folder));
    }

    /// What became of each file, and what is to be said about it.
    fn judge(&mut self, burst: &Burst) -> (Vec<ChangedFile>, Vec<String>) {
        let mut now: HashMap<PathBuf, FileFingerprint> = HashMap::new();
        for path in &burst.touched {
            let found = files::symlink_metadata(self.root.join(path)).ok().filter(files::Metadata::is_file);
            if let Some(found) = found.filter(|_| self.ignore_rules.keeps_file(path)) {
                now.insert(path.clone(), fingerprint_of(&found));
            }
        }
        let found = changes(burst, |path| self.known.get(path), |path| now.get(path).copied());
        let hashes = hashes(&self.root, &found);
        let mut notes = Vec::new();
        let mut judged = Vec::new();
        for ((path, happened), hash) in found.into_iter().zip(hashes) {
            // It went while it was looked at; that will be noticed, too.
            if happened != DetectedChange::Deleted && hash.is_none() && !files::exists(self.root.join(&path)) {
                continue;
            }
            self.remember(&path, &happened, now.get(&path).copied());
            match slashed(&path) {
                Some(path) => judged.push(ChangedFile { path, happened, hash }),
                None if !self.odd_name_told => {
                    self.odd_name_told = true;
                    notes.push("skipping files whose names are not valid UTF-8".to_owned());
                }
                None => {}
            }
        }
        (judged, notes)
    }

    fn remember(&mut self, path: &Path, happened: &DetectedChange, now: Option<FileFingerprint>) {
        if let DetectedChange::Renamed { from, .. } = happened {
            self.known.take(from);
        }
        match now {
            Some(print) => self.known.put(path, print),
            None => drop(self.known.take(path)),
        }
    }

    /// Applies rules that have changed. A file that they let in or shut out has not changed by that. (One that was made
    /// at the same moment is taken for one that was let in; the notice of it then tells of a change.)
    fn reload_ignore_rules(&mut self) {
        self.ignore_rules = IgnoreRules::new(&self.root);
        let found = scan_tree(&self.root, Path::new(""), &self.watches);
        let files: HashSet<&Path> = found.files.iter().map(|(path, _)| path.as_path()).collect();
        for path in self.known.files_below(Path::new("")) {
            if !files.contains(path.as_path()) && files::exists(self.root.join(&path)) {
                self.known.take(&path);
            }
        }
        for (path, print) in &found.files {
            if self.known.get(path).is_none() {
                self.known.put(path, *print);
            }
        }
        let folders: HashSet<&Path> = found.folders.iter().map(PathBuf::as_path).collect();
        let left: Vec<PathBuf> =
            self.known.folders().filter(|folder| !folders.contains(folder)).map(Path::to_owned).collect();
        for folder in left {
            self.watches.remove(&self.root.join(&folder));
            self.known.drop_empty_below(&folder);
        }
        found.folders.iter().for_each(|folder| self.known.add_folder(folder));
        self.watch_configuration();
    }

    fn is_folder(&self, path: &Path) -> bool {
        files::symlink_metadata(self.root.join(path)).is_ok_and(|found| found.is_dir())
    }
}

/// The content of each file that is still here, in the same order.
fn hashes(root: &Path, found: &[(PathBuf, DetectedChange)]) -> Vec<Option<ContentHash>> {
    let hash = |(path, happened): &(PathBuf, DetectedChange)| match happened {
        DetectedChange::Deleted => None,
        _ => content_hash(&root.join(path)),
    };
    let threads = (found.len() / MIN_FILES_PER_THREAD).clamp(1, MAX_HASHING_THREADS);
    if threads == 1 {
        return found.iter().map(hash).collect();
    }
    let part = found.len().div_ceil(threads);
    threads::scope(|scope| {
        let parts: Vec<_> = found
            .chunks(part)
            .map(|part| (part.len(), scope.spawn(move || part.iter().map(hash).collect::<Vec<_>>())))
            .collect();
        let joined = parts.into_iter().flat_map(|(count, part)| part.join().unwrap_or_else(|_| vec![None; count]));
        joined.collect()
    })
}
