//! Collects the entries of a file under all of its names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use memchr::memmem;

use crate::ledger::{Ledger, LedgerLine};
use crate::trace_entry::{MutationClass, RecordedChange};

/// The most renames of a file that are followed.
const MAX_MOVES: usize = 16;
/// The most deletions that are kept to find moves.
const MAX_DELETIONS: usize = 200_000;
const PATH_FIELD: &[u8] = b"\"relative_path\":";

/// The entries of the wanted files, oldest first, by each file's present name.
pub(crate) type FileHistories = BTreeMap<String, Vec<RecordedChange>>;

/// Reads the entries of some files. `former` returns the former names of a file, newest first; moves in the ledger (a
/// file is deleted and the same content appears under another name) are followed too.
///
/// # Errors
/// When the ledger cannot be read.
pub(crate) fn histories(
    ledger: &Ledger,
    wanted: &BTreeSet<String>,
    former: &dyn Fn(&str, &[RecordedChange]) -> Vec<String>,
) -> io::Result<FileHistories> {
    let mut collected = CollectedChanges::default();
    collected.read(ledger, wanted)?;
    let mut chains: BTreeMap<&String, Vec<FormerName>> =
        wanted.iter().map(|path| (path, vec![FormerName { path: path.clone(), until: u64::MAX }])).collect();
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
    Ok(chains.into_iter().map(|(path, names)| (path.clone(), collected.of(&names))).collect())
}

/// A former name of a file, and the last line of the ledger with this name.
#[derive(Debug, Clone)]
struct FormerName {
    path: String,
    until: u64,
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
        let changes: Vec<&RecordedChange> = changes.iter().filter(|change| change.number <= oldest.until).collect();
        let first = changes.iter().find_map(|change| change.entry.file.as_ref().map(|file| (change.number, file)));
        if let Some((number, file)) = first
            && file.pre_hash.is_none()
            && let Some(hash) = &file.post_hash
        {
            let gone = self.deletions.as_ref().and_then(|deletions| deletions.get(hash));
            // Both entries of a move are written together, in any order.
            let nearest = gone.into_iter().flatten().filter(|gone| gone.path != oldest.path);
            let nearest = nearest.min_by_key(|gone| gone.number.abs_diff(number));
            return nearest
                .map(|gone| FormerName { path: gone.path.clone(), until: gone.number })
                .into_iter()
                .collect();
        }
        if depth > 1 {
            return Vec::new();
        }
        let until = first.map_or(u64::MAX, |(number, _)| number);
        let own = self.changes.get(&oldest.path).map(Vec::as_slice).unwrap_or_default();
        former(present, own).into_iter().map(|path| FormerName { path, until }).collect()
    }

    fn of(&self, names: &[FormerName]) -> Vec<RecordedChange> {
        let mut all = Vec::new();
        for name in names.iter().rev() {
            let changes = self.changes.get(&name.path).map(Vec::as_slice).unwrap_or_default();
            all.extend(changes.iter().filter(|change| change.number <= name.until).cloned());
        }
        all
    }
}

/// Whether the line may be an entry of one of the files, by its path.
fn may_concern(line: &LedgerLine, wanted: &BTreeSet<String>) -> bool {
    path_in(&line.bytes).is_none_or(|path| wanted.contains(path.as_ref()))
}

/// The path in a line as our writer formats it; `None` if the line is formatted otherwise or has no path.
fn path_in(line: &[u8]) -> Option<Cow<'_, str>> {
    let at = memmem::find(line, PATH_FIELD)? + PATH_FIELD.len();
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
        let found = histories(ledger, &wanted, &former).unwrap();
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
}
