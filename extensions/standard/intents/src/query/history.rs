//! Collects the entries of a file under all of its names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

use memchr::memmem;

use crate::hash::{PREFIX, content_hash};
use crate::ledger::{Ledger, LedgerLine};
use crate::trace_entry::{MutationClass, RecordedChange};

/// The most renames of a file that are followed.
const MAX_MOVES: usize = 16;
/// The most deletions that are kept to find moves.
const MAX_DELETIONS: usize = 200_000;
const PATH_FIELD: &[u8] = b"\"relative_path\":";
const PRE_FIELD: &[u8] = b"\"pre_hash\":";
const POST_FIELD: &[u8] = b"\"post_hash\":";

/// The first digits of a hash: equal hashes have equal ones, and other hashes hardly ever.
type HashBeginning = [u8; 12];

/// The entries of the wanted files, oldest first, by each file's present name.
pub(crate) type FileHistories = BTreeMap<String, Vec<RecordedChange>>;

/// Reads the entries of some files. `former` returns the former names of a file, newest first, and `present` the
/// hash of a file as it is now. Moves in the ledger (a file is deleted and the same content appears under another name)
/// are followed too, and names without a file whose last content is found under another name.
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn histories(
    ledger: &Ledger,
    wanted: &BTreeSet<String>,
    former: &dyn Fn(&str, &[RecordedChange]) -> Vec<String>,
    present: &dyn Fn(&str) -> Option<String>,
) -> io::Result<FileHistories> {
    let mut collected = CollectedChanges::default();
    collected.read(ledger, wanted)?;
    let mut chains: BTreeMap<&String, Vec<FormerName>> =
        wanted.iter().map(|path| (path, vec![FormerName { path: path.clone(), until: Some(u64::MAX) }])).collect();
    for _ in 0..MAX_MOVES {
        let mut missing = BTreeSet::new();
        for (path, names) in &mut chains {
            let Some(oldest) = names.last().cloned() else { continue };
            for older in collected.older_names(path, &oldest, names.len(), former) {
                if !names.iter().any(|name| name.path == older.path) {
                    if !collected.changes.contains_key(&older.path) {
                        missing.insert(older.path.clone());
                    }
                    names.push(older);
                }
            }
        }
        if missing.is_empty() {
            break;
        }
        collected.read(ledger, &missing)?;
    }
    collected.follow_contents(ledger, &mut chains, present)?;
    Ok(chains.into_iter().map(|(path, names)| (path.clone(), in_order(collected.of(&names)))).collect())
}

/// The changes without repetitions, each after the change whose result it found. A merge of two ledgers may have put
/// them in another order; where the contents do not tell, the order of the ledger holds.
fn in_order(changes: Vec<RecordedChange>) -> Vec<RecordedChange> {
    let mut ids = HashSet::new();
    let changes: Vec<RecordedChange> =
        changes.into_iter().filter(|change| ids.insert(change.entry.id.clone())).collect();
    let mut order = ChangeOrder::default();
    for hash in changes.iter().filter_map(result) {
        *order.open.entry(hash.to_owned()).or_default() += 1;
    }
    changes.into_iter().for_each(|change| order.add(change));
    order.finish()
}

#[derive(Default)]
struct ChangeOrder {
    /// How many changes that are not placed yet leave a content.
    open: HashMap<String, usize>,
    known: HashSet<String>,
    /// Changes that wait for a content.
    waiting: BTreeMap<String, Vec<RecordedChange>>,
    placed: Vec<RecordedChange>,
}

impl ChangeOrder {
    fn add(&mut self, change: RecordedChange) {
        let found = found(&change).map(str::to_owned);
        let own = usize::from(result(&change) == found.as_deref());
        match found.filter(|found| !self.known.contains(found)) {
            Some(found) if self.open.get(&found).is_some_and(|count| *count > own) => {
                self.waiting.entry(found).or_default().push(change);
            }
            _ => self.place(change),
        }
    }

    fn place(&mut self, change: RecordedChange) {
        let mut next = vec![change];
        while let Some(change) = next.pop() {
            if let Some(hash) = result(&change).map(str::to_owned) {
                self.open.entry(hash.clone()).and_modify(|count| *count = count.saturating_sub(1));
                next.extend(self.waiting.remove(&hash).into_iter().flatten().rev());
                self.known.insert(hash);
            }
            self.placed.push(change);
        }
    }

    /// What waits for itself is placed in the order of the ledger.
    fn finish(mut self) -> Vec<RecordedChange> {
        let mut left: Vec<RecordedChange> = std::mem::take(&mut self.waiting).into_values().flatten().collect();
        left.sort_by_key(|change| change.number);
        self.placed.extend(left);
        self.placed
    }
}

fn result(change: &RecordedChange) -> Option<&str> {
    change.entry.file.as_ref().and_then(|file| file.post_hash.as_deref())
}

fn found(change: &RecordedChange) -> Option<&str> {
    change.entry.file.as_ref().and_then(|file| file.pre_hash.as_deref())
}

/// A former name of a file.
#[derive(Debug, Clone)]
struct FormerName {
    path: String,
    /// The last line of the ledger with this name; `None` until the file appears again under it.
    until: Option<u64>,
}

struct RecordedDeletion {
    number: u64,
    path: String,
}

#[derive(Default)]
struct CollectedChanges {
    changes: HashMap<String, Vec<RecordedChange>>,
    /// By the hash of what was deleted.
    deletions: Option<HashMap<String, Vec<RecordedDeletion>>>,
    /// The beginning of every content's hash that a change left, so that the ledger is read again only for those.
    left: Vec<HashBeginning>,
}

impl CollectedChanges {
    fn read(&mut self, ledger: &Ledger, wanted: &BTreeSet<String>) -> io::Result<()> {
        for path in wanted {
            self.changes.entry(path.clone()).or_default();
        }
        let mut deletions = HashMap::new();
        let mut count = 0;
        let first_pass = self.deletions.is_none();
        let deletion = memmem::Finder::new("\"FILE_DELETION\"");
        for line in ledger.lines()? {
            let line = line?;
            if first_pass {
                self.left.extend(text_in(&line.bytes, POST_FIELD).and_then(|hash| beginning(&hash)));
            }
            let deletes = first_pass && count < MAX_DELETIONS && deletion.find(&line.bytes).is_some();
            if !deletes && !may_concern(&line, wanted) {
                continue;
            }
            let Ok(entry) = line.entry() else { continue };
            let Some(file) = &entry.file else { continue };
            if deletes
                && entry.mutation_class == MutationClass::FileDeletion
                && let Some(hash) = &file.pre_hash
            {
                count += 1;
                let found = RecordedDeletion { number: line.number, path: file.relative_path.clone() };
                deletions.entry(hash.clone()).or_insert_with(Vec::new).push(found);
            }
            if wanted.contains(&file.relative_path) {
                let path = file.relative_path.clone();
                self.changes.entry(path).or_default().push(RecordedChange { number: line.number, entry });
            }
        }
        self.deletions.get_or_insert(deletions);
        Ok(())
    }

    /// The names before the oldest known one.
    fn older_names(
        &self,
        present: &str,
        oldest: &FormerName,
        depth: usize,
        former: &dyn Fn(&str, &[RecordedChange]) -> Vec<String>,
    ) -> Vec<FormerName> {
        let changes = self.changes.get(&oldest.path).map(Vec::as_slice).unwrap_or_default();
        let first = until(changes, oldest.until)
            .iter()
            .find_map(|change| change.entry.file.as_ref().map(|file| (change.number, file)));
        if let Some((number, file)) = first
            && file.pre_hash.is_none()
            && let Some(hash) = &file.post_hash
        {
            let gone = self.deletions.as_ref().and_then(|deletions| deletions.get(hash));
            // Both entries of a move are written together, in any order.
            let nearest = gone.into_iter().flatten().filter(|gone| gone.path != oldest.path);
            let nearest = nearest.min_by_key(|gone| gone.number.abs_diff(number));
            return nearest
                .map(|gone| FormerName { path: gone.path.clone(), until: Some(gone.number) })
                .into_iter()
                .collect();
        }
        if depth > 1 {
            return Vec::new();
        }
        let own = self.changes.get(&oldest.path).map(Vec::as_slice).unwrap_or_default();
        former(present, own).into_iter().map(|path| FormerName { path, until: None }).collect()
    }

    /// Adds the names of files that no longer exist and share a content with a chain: a squash keeps the entries of a name
    /// that was given and taken again in between, and git knows nothing of that name.
    fn follow_contents(
        &mut self,
        ledger: &Ledger,
        chains: &mut BTreeMap<&String, Vec<FormerName>>,
        present: &dyn Fn(&str) -> Option<String>,
    ) -> io::Result<()> {
        let ends: BTreeMap<&String, String> =
            chains.keys().filter_map(|file| Some((*file, present(file.as_str())?))).collect();
        for _ in 0..MAX_MOVES {
            let contents = self.open_contents(chains, &ends);
            if !contents.may_be_in(&self.left) {
                return Ok(());
            }
            let mut linked: BTreeMap<String, HashSet<&String>> = BTreeMap::new();
            for line in ledger.lines()? {
                let line = line?;
                let files: Vec<&String> = contents.files_of(&line.bytes).collect();
                if files.is_empty() {
                    continue;
                }
                let Some(path) = path_in(&line.bytes) else { continue };
                let is_known = |file: &String| chains[file].iter().any(|name| name.path == path);
                let new = files.into_iter().filter(|file| !is_known(file)).collect::<Vec<_>>();
                if !new.is_empty() && present(&path).is_none() {
                    linked.entry(path.into_owned()).or_default().extend(new);
                }
            }
            if linked.is_empty() {
                return Ok(());
            }
            let unread: BTreeSet<String> =
                linked.keys().filter(|path| !self.changes.contains_key(*path)).cloned().collect();
            if !unread.is_empty() {
                self.read(ledger, &unread)?;
            }
            for (path, files) in linked {
                for file in files {
                    let names = chains.entry(file).or_default();
                    names.push(FormerName { path: path.clone(), until: None });
                }
            }
        }
        Ok(())
    }

    fn open_contents<'f>(
        &self,
        chains: &BTreeMap<&'f String, Vec<FormerName>>,
        ends: &BTreeMap<&String, String>,
    ) -> OpenContents<'f> {
        let mut open = OpenContents::default();
        let nothing = content_hash(b"");
        for (&file, names) in chains {
            let changes = self.of(names);
            let left: HashSet<&str> = changes.iter().filter_map(result).collect();
            let end = ends.get(file).map(String::as_str);
            let found = changes.iter().filter_map(found).chain(end);
            for found in found.filter(|hash| !left.contains(hash) && **hash != nothing) {
                open.found.entry(found.to_owned()).or_default().insert(file);
            }
            for hash in left.iter().filter(|_| names.len() > 1) {
                open.left.entry((*hash).to_owned()).or_default().insert(file);
            }
        }
        open
    }

    fn of(&self, names: &[FormerName]) -> Vec<RecordedChange> {
        let mut all = Vec::new();
        for name in names.iter().rev() {
            let changes = self.changes.get(&name.path).map(Vec::as_slice).unwrap_or_default();
            all.extend(until(changes, name.until).into_iter().cloned());
        }
        all
    }
}

/// Contents through which the entries of another name may belong to a file, with the present names of those files.
#[derive(Default)]
struct OpenContents<'f> {
    /// What a change found, or the file has at present, although no known change left it.
    found: HashMap<String, HashSet<&'f String>>,
    /// What the changes of a file of several names left.
    left: HashMap<String, HashSet<&'f String>>,
}

impl<'f> OpenContents<'f> {
    /// Whether an entry may concern one of them, by the hashes of what changes left.
    fn may_be_in(&self, left: &[HashBeginning]) -> bool {
        let wanted: HashSet<HashBeginning> = self.found.keys().filter_map(|hash| beginning(hash)).collect();
        !self.left.is_empty() || left.iter().any(|hash| wanted.contains(hash))
    }

    fn files_of(&self, line: &[u8]) -> impl Iterator<Item = &'f String> {
        let of = |field, contents: &HashMap<String, HashSet<&'f String>>| {
            let hash = if contents.is_empty() { None } else { text_in(line, field) };
            hash.and_then(|hash| contents.get(hash.as_ref())).into_iter().flatten().copied().collect::<Vec<_>>()
        };
        of(POST_FIELD, &self.found).into_iter().chain(of(PRE_FIELD, &self.left))
    }
}

/// The changes up to a line, or before the file appears a second time.
fn until(changes: &[RecordedChange], line: Option<u64>) -> Vec<&RecordedChange> {
    let is_new = |change: &RecordedChange| change.entry.file.as_ref().is_some_and(|file| file.pre_hash.is_none());
    let end = match line {
        Some(line) => return changes.iter().filter(|change| change.number <= line).collect(),
        None => changes.iter().skip(1).position(is_new).map_or(changes.len(), |at| at + 1),
    };
    changes.iter().take(end).collect()
}

/// Whether the line may be an entry of one of the files, by its path.
fn may_concern(line: &LedgerLine, wanted: &BTreeSet<String>) -> bool {
    path_in(&line.bytes).is_none_or(|path| wanted.contains(path.as_ref()))
}

/// The path in a line as our writer formats it; `None` if the line is formatted otherwise or has no path.
fn path_in(line: &[u8]) -> Option<Cow<'_, str>> {
    text_in(line, PATH_FIELD)
}

fn beginning(hash: &str) -> Option<HashBeginning> {
    hash.strip_prefix(PREFIX)?.as_bytes().first_chunk().copied()
}

/// The text of a field as our writer formats it.
fn text_in<'l>(line: &'l [u8], field: &[u8]) -> Option<Cow<'l, str>> {
    let at = memmem::find(line, field)? + field.len();
    let rest = line.get(at..)?.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest)?;
    if rest.get(end) == Some(&b'"') {
        return std::str::from_utf8(rest.get(..end)?).ok().map(Cow::Borrowed);
    }
    let mut texts = serde_json::Deserializer::from_slice(line.get(at..)?).into_iter::<String>();
    texts.next()?.ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::OrchestrationLayout;
    use crate::query::samples;
    use crate::trace_entry::TraceEntry;

    fn ledger(entries: Vec<TraceEntry>) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        std::fs::create_dir_all(layout.folder()).unwrap();
        let ledger = Ledger::open(&layout);
        ledger.append(entries).unwrap();
        (folder, ledger)
    }

    fn numbers(ledger: &Ledger, path: &str, former: &[&str]) -> Vec<u64> {
        let wanted = BTreeSet::from([path.to_owned()]);
        let former = |_: &str, _: &[RecordedChange]| former.iter().map(|name| (*name).to_owned()).collect();
        let found = histories(ledger, &wanted, &former, &|_| None).unwrap();
        found[path].iter().map(|change| change.number).collect()
    }

    #[test]
    fn only_entries_of_the_file_are_read_whatever_its_name() {
        let odd = "a \"b\"\\ü\n.rs";
        let entries = vec![samples::entry(1, odd), samples::entry(2, "other.rs"), samples::entry(3, odd)];
        let (_folder, ledger) = ledger(entries);
        assert_eq!(numbers(&ledger, odd, &[]), [1, 3]);
        assert_eq!(numbers(&ledger, "absent.rs", &[]), Vec::<u64>::new());
    }

    #[test]
    fn a_move_in_the_ledger_is_followed_more_than_once() {
        let text: Option<&[u8]> = Some(b"x\n");
        let (_folder, ledger) = ledger(vec![
            samples::change(1, "a.rs", None, text),
            samples::change(2, "b.rs", None, text),
            samples::change(3, "a.rs", text, None),
            samples::change(4, "b.rs", text, None),
            samples::change(5, "c.rs", None, text),
            samples::change(6, "a.rs", None, Some(b"another file\n")),
        ]);
        assert_eq!(numbers(&ledger, "c.rs", &[]), [1, 3, 2, 4, 5]);
    }

    #[test]
    fn former_names_are_asked_for_when_the_ledger_does_not_know_the_beginning() {
        let (_folder, ledger) = ledger(vec![
            samples::change(1, "old.rs", None, Some(b"x\n")),
            samples::change(2, "new.rs", Some(b"x\n"), Some(b"y\n")),
            samples::change(3, "old.rs", None, Some(b"unrelated\n")),
        ]);
        assert_eq!(numbers(&ledger, "new.rs", &["old.rs"]), [1, 2]);
    }

    #[test]
    fn a_name_that_git_forgot_is_found_by_the_content_it_left() {
        let text: Option<&[u8]> = Some(b"x\n");
        let (_folder, ledger) = ledger(vec![
            samples::change(1, "first.rs", None, text),
            samples::change(2, "empty.rs", None, Some(b"")),
            samples::change(3, "second.rs", text, Some(b"y\n")),
            samples::change(4, "filled.rs", Some(b""), Some(b"z\n")),
        ]);
        assert_eq!(numbers(&ledger, "second.rs", &[]), [1, 3]);
        assert_eq!(numbers(&ledger, "filled.rs", &[]), [4], "empty files have nothing in common");
        let of = |path: &str, present: &[(&str, &[u8])]| {
            let present = |path: &str| present.iter().find(|file| file.0 == path).map(|file| content_hash(file.1));
            let found = histories(&ledger, &BTreeSet::from([path.to_owned()]), &|_, _| Vec::new(), &present);
            found.unwrap()[path].iter().map(|change| change.number).collect::<Vec<u64>>()
        };
        assert_eq!(of("second.rs", &[("first.rs", b"x\n")]), [3], "a file that is still there was copied, not moved");
        assert_eq!(of("moved.rs", &[("moved.rs", b"y\n")]), [1, 3], "a file without an entry of its own");
    }
}
