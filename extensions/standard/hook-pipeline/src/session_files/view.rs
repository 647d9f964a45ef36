//! The session and the workspace as modules read them: from disk, when asked, within bounds.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use dispatch_hook_module::{Effects, Paths, Record, RecordType, RuleException, SessionView};
use dispatch_os::files::{read_at_most, read_file_at_most, tail_lines};
use dispatch_os::paths::{Beneath, RealPaths, resolve_inside, safe_file_name};
use serde_json::Value;

use crate::rule_trust::RuleTrust;

use super::header::Header;
use super::search::Finder;
use super::tail::{TAIL_BYTES, Tail};

const TURN_BYTES: u64 = 1024 * 1024;
const HISTORY_BYTES: u64 = 8 * 1024 * 1024;
const PROMPTS_BYTES: u64 = 2 * 1024 * 1024;
const EXCEPTIONS_LIMIT_BYTES: u64 = 256 * 1024;
/// Which exceptions for one call were used, below the folder of sessions.
const USED_FOLDER: &str = "exceptions-used";

/// Reads from disk.
pub(crate) struct DiskView<'a> {
    paths: &'a Paths,
    trust: RuleTrust<'a>,
    workspace: Beneath<'a>,
    real_paths: RealPaths,
    raw_tail: OnceCell<Tail>,
    tail: OnceCell<Vec<Record>>,
    turn: OnceCell<(u64, Vec<Record>)>,
    history: OnceCell<Vec<Record>>,
    exceptions: OnceCell<Vec<RuleException>>,
    /// Exceptions for one call that this invocation took.
    taken: RefCell<Vec<String>>,
}

impl<'a> DiskView<'a> {
    /// Reads nothing yet.
    #[must_use]
    pub(crate) fn new(paths: &'a Paths) -> Self {
        Self {
            paths,
            trust: RuleTrust::Nothing,
            workspace: Beneath::new(paths.repo_root.as_path()),
            real_paths: RealPaths::default(),
            raw_tail: OnceCell::new(),
            tail: OnceCell::new(),
            turn: OnceCell::new(),
            history: OnceCell::new(),
            exceptions: OnceCell::new(),
            taken: RefCell::default(),
        }
    }

    /// The same, with what the user approved.
    #[must_use]
    pub(crate) fn trusting(self, trust: RuleTrust<'a>) -> Self {
        Self { trust, ..self }
    }

    /// The end of the log, unparsed.
    pub(crate) fn raw_tail(&self) -> &Tail {
        self.raw_tail.get_or_init(|| Tail::read(&self.paths.events_file(), TAIL_BYTES))
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let found = resolve_inside(&self.paths.repo_root, path).ok()?;
        found.is_inside().then_some(found.path)
    }

    fn read_turn(&self, turn_id: u64) -> Vec<Record> {
        let lines = Tail::read(&self.paths.events_file(), TURN_BYTES);
        lines.iter().filter(|line| Header::of(line).turn_id() == Some(turn_id)).filter_map(Record::parse).collect()
    }
}

impl SessionView for DiskView<'_> {
    fn tail(&self) -> &[Record] {
        self.tail.get_or_init(|| self.raw_tail().records())
    }

    fn turn(&self, turn_id: u64) -> Vec<&Record> {
        let (cached, records) = self.turn.get_or_init(|| (turn_id, self.read_turn(turn_id)));
        if *cached == turn_id {
            return records.iter().collect();
        }
        self.history().iter().filter(|record| record.turn_id == turn_id).collect()
    }

    fn history(&self) -> &[Record] {
        self.history.get_or_init(|| Tail::read(&self.paths.events_file(), HISTORY_BYTES).records())
    }

    fn newest(&self, kind: &RecordType, needle: &str) -> Option<Record> {
        if needle.is_empty() {
            return None;
        }
        let finder = Finder::new(needle.as_bytes());
        let newest_first = self.raw_tail().iter_back().filter(|line| finder.find(line).is_some());
        newest_first.filter_map(Record::parse).find(|record| record.kind == *kind)
    }

    fn prompts(&self, count: usize) -> Vec<Value> {
        let lines = tail_lines(&self.paths.prompts_file(), count, PROMPTS_BYTES).unwrap_or_default();
        lines.iter().filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    fn read(&self, path: &Path, limit_bytes: u64) -> Option<Vec<u8>> {
        read_file_at_most(self.workspace.open(path)?, path, limit_bytes).ok()
    }

    fn modified_ms(&self, path: &Path) -> Option<i64> {
        let file = self.workspace.open(path)?;
        let modified = file.metadata().ok()?.modified().ok()?;
        let age = modified.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(age.as_millis()).ok()
    }

    fn is_approved(&self, path: &Path, content: &[u8]) -> bool {
        self.trust.is_approved_at(path, content)
    }

    fn list(&self, folder: &Path, limit: usize) -> Vec<String> {
        let entries = self.inside(folder).and_then(|folder| dispatch_os::files::read_dir(folder).ok());
        let mut names: Vec<String> =
            entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names.truncate(limit);
        names
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        self.real_paths.real_path(&self.paths.repo_root, path)
    }

    fn exceptions(&self) -> &[RuleException] {
        self.exceptions.get_or_init(|| {
            let bytes = read_at_most(&self.paths.exceptions_file(), EXCEPTIONS_LIMIT_BYTES).unwrap_or_default();
            parse_exceptions(&bytes)
        })
    }

    fn take_exception(&self, exception: &RuleException, effects: Effects) -> bool {
        let mark = mark_of(self.paths, exception);
        if self.taken.borrow().contains(&exception.id) {
            return true;
        }
        if effects == Effects::DryRun {
            return !dispatch_os::files::exists(&mark);
        }
        let folder = self.paths.work_root.join(USED_FOLDER);
        let taken = dispatch_os::files::create_dir_all(&folder).is_ok()
            && dispatch_os::files::create_new(&mark, dispatch_os::Access::Usual).is_ok();
        if taken {
            self.taken.borrow_mut().push(exception.id.clone());
        }
        taken
    }
}

/// The mark that an exception for one call was used, whose creation decides who used it.
fn mark_of(paths: &Paths, exception: &RuleException) -> PathBuf {
    paths.work_root.join(USED_FOLDER).join(safe_file_name(&exception.id))
}

/// A list of exceptions, bare or under `exceptions`; entries that are none are left out.
fn parse_exceptions(bytes: &[u8]) -> Vec<RuleException> {
    let list = match serde_json::from_slice(bytes) {
        Ok(Value::Array(list)) => list,
        Ok(Value::Object(mut fields)) => match fields.remove("exceptions") {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    list.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect()
}
