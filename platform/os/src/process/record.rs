//! Remembers running process groups on disk, so that the next start can end what a crash left running.

use std::path::{Path, PathBuf};

use super::launch::TreeToken;
use crate::OsError;
use crate::files::{self, Access, AppendOptions, TailRepair};

const EXTENSION: &str = "group";
const MAX_RECORD_BYTES: u64 = 4 * 1024;
const MAX_RECORDS: usize = 10_000;

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Processes that were killed.
    pub killed: usize,
    /// Records removed, because nothing of theirs runs any more.
    pub removed: usize,
    /// Records left alone, because the process that wrote them is alive.
    pub in_use: usize,
    /// Records left alone, because they could not be read, or the system cannot verify who is who.
    pub unverified: usize,
}

/// Ends what a crashed run left running, as told by the records in `folder`; a missing folder is an empty one.
///
/// A process is killed only if its start time, or the token in its environment, proves that it belongs
/// to the record, so a reused process id is safe. Records of a process that still runs are left
/// alone, hence any number of runs may share a folder. Needs `/proc`: on other systems nothing is
/// killed and the records are reported as unverified.
pub fn sweep(folder: &Path) -> Result<SweepReport, OsError> {
    let mut report = SweepReport::default();
    for path in record_files(folder)? {
        match RecordFacts::read(&path) {
            Some(facts) => sweep_one(&path, &facts, &mut report),
            None => report.unverified += 1,
        }
    }
    Ok(report)
}

/// The record of one run, removed on drop.
#[derive(Debug)]
pub(super) struct GroupRecord {
    path: PathBuf,
}

impl GroupRecord {
    /// Written before the child starts, so that there is no moment without a record.
    pub(super) fn create(folder: &Path, token: &TreeToken) -> Result<Self, OsError> {
        files::create_dir_owner_only(folder)?;
        let path = folder.join(format!("{}.{EXTENSION}", token.own));
        let record = Self { path };
        let owner = std::process::id().cast_signed();
        record.add("token", &token.own)?;
        record.add("boot", &boot_id())?;
        record.add("owner", &identity(owner))?;
        Ok(record)
    }

    /// Adds the id of the group and the start time of its leader.
    pub(super) fn add_group(&self, leader: i32) -> Result<(), OsError> {
        self.add("group", &identity(leader))
    }

    fn add(&self, key: &str, value: &str) -> Result<(), OsError> {
        let options = AppendOptions { tail: TailRepair::Skip, access: Access::OwnerOnly, ..AppendOptions::default() };
        files::append_line(&self.path, format!("{key} {value}").as_bytes(), options)
    }
}

impl Drop for GroupRecord {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct RecordFacts {
    token: String,
    boot: String,
    owner: Option<(i32, u64)>,
    group: Option<(i32, u64)>,
}

impl RecordFacts {
    /// `None` if the record cannot be read or is not whole enough to tell who wrote it.
    fn read(path: &Path) -> Option<Self> {
        Self::parse(&files::read_text_at_most(path, MAX_RECORD_BYTES).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut facts = Self::default();
        // A last line without its end was torn by the crash.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for (key, value) in whole.lines().filter_map(|line| line.split_once(' ')) {
            match key {
                "token" => value.clone_into(&mut facts.token),
                "boot" => value.clone_into(&mut facts.boot),
                "owner" => facts.owner = parse_identity(value),
                "group" => facts.group = parse_identity(value),
                _ => {}
            }
        }
        let whole = facts.token.parse::<crate::Ulid>().is_ok() && facts.owner.is_some();
        whole.then_some(facts)
    }
}

fn parse_identity(text: &str) -> Option<(i32, u64)> {
    let (pid, start_ticks) = text.split_once(' ')?;
    Some((pid.parse().ok()?, start_ticks.parse().ok()?))
}

fn record_files(folder: &Path) -> Result<Vec<PathBuf>, OsError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(OsError::io("list", folder, source)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|found| found == EXTENSION)).take(MAX_RECORDS).collect())
}

#[cfg(target_os = "linux")]
fn sweep_one(path: &Path, facts: &RecordFacts, report: &mut SweepReport) {
    let same_boot = facts.boot == boot_id();
    if same_boot && find(facts.owner).is_some_and(|owner| !owner.is_dead) {
        report.in_use += 1;
        return;
    }
    if same_boot {
        // A dead leader that nobody has collected yet still keeps its id, so its group is verified too.
        let group = find(facts.group).map(|leader| leader.pid);
        report.killed += kill_all(&facts.token, group);
    }
    if std::fs::remove_file(path).is_ok() {
        report.removed += 1;
    }
}

/// The process with this id and start time.
#[cfg(target_os = "linux")]
fn find(identity: Option<(i32, u64)>) -> Option<super::tree::ProcessFacts> {
    let (pid, start_ticks) = identity?;
    super::tree::facts_of(pid).filter(|found| found.start_ticks == start_ticks)
}

#[cfg(not(target_os = "linux"))]
fn sweep_one(_path: &Path, _facts: &RecordFacts, report: &mut SweepReport) {
    report.unverified += 1;
}

/// Kills whatever carries the token or is in the verified group, until nothing new turns up.
#[cfg(target_os = "linux")]
fn kill_all(token: &str, group: Option<i32>) -> usize {
    use super::tree;
    use rustix::process::Signal;
    use std::collections::BTreeSet;
    const ROUNDS: usize = 5;

    let ourselves = std::process::id().cast_signed();
    let belongs = |facts: &tree::ProcessFacts| {
        let is_ours = Some(facts.group) == group || tree::carries_token(facts.pid, token);
        is_ours && facts.pid != ourselves
    };
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        let found: Vec<_> = tree::scan().into_iter().filter(belongs).collect();
        let before = killed.len();
        let hit = found.iter().filter(|facts| tree::kill_exactly(facts.pid, facts.start_ticks, Signal::KILL));
        killed.extend(hit.map(|facts| (facts.pid, facts.start_ticks)));
        if killed.len() == before {
            break;
        }
    }
    killed.len()
}

#[cfg(target_os = "linux")]
fn identity(pid: i32) -> String {
    let start_ticks = super::tree::facts_of(pid).map_or(0, |facts| facts.start_ticks);
    format!("{pid} {start_ticks}")
}

#[cfg(not(target_os = "linux"))]
fn identity(pid: i32) -> String {
    format!("{pid} 0")
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    super::tree::boot_id().unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_far_as_it_is_whole() {
        let token = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let text = format!("token {token}\nboot b\nowner 12 34\ngroup 56 78\n");
        let facts = RecordFacts::parse(&text).unwrap();
        assert_eq!((facts.owner, facts.group), (Some((12, 34)), Some((56, 78))));
        assert_eq!((facts.token.as_str(), facts.boot.as_str()), (token, "b"));
        // Torn in the middle of the group: the number 5 must not be taken for a process.
        let torn = RecordFacts::parse(&format!("token {token}\nboot b\nowner 12 34\ngroup 5")).unwrap();
        assert_eq!(torn.group, None);
    }

    #[test]
    fn a_record_without_writer_or_token_is_not_trusted() {
        for text in [
            "",
            "token 01ARZ3NDEKTSV4RRFFQ69G5FAV\nboot b\n",
            "token \nboot b\nowner 12 34\n",
            "token x\nboot b\nowner 12 34\n",
            "token 01ARZ3NDEKTSV4RRFFQ69G5FAV\nboot b\nowner 12\n",
            "\0\0\0\0",
        ] {
            assert_eq!(RecordFacts::parse(text), None, "{text:?}");
        }
    }
}
