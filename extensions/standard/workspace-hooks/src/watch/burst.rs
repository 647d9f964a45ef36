//! What was noticed since the last look, put together until it settles.
//!
//! Pure.

use super::observation::Observation;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// A file that stays open counts as written after this time without a write.
const OPEN_QUIET_MS: u64 = 1_000;

/// Everything noticed, by relative path.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// What has to be looked at.
    pub(super) touched: BTreeSet<PathBuf>,
    /// What may be a folder that was not here before.
    pub(super) arrived: BTreeSet<PathBuf>,
    /// The name that something had when the burst began, by the name it has now.
    pub(super) origins: BTreeMap<PathBuf, PathBuf>,
    /// Whether notices were lost.
    pub(super) lost: bool,
}

impl Burst {
    pub(super) fn is_empty(&self) -> bool {
        self.touched.is_empty() && self.arrived.is_empty() && self.origins.is_empty() && !self.lost
    }

    /// Takes note that `from` is called `to` now; what moved twice keeps its first name.
    pub(super) fn moved(&mut self, from: &Path, to: &Path) {
        let origin = self.origins.remove(from).unwrap_or_else(|| from.to_owned());
        self.touched.extend([from.to_owned(), to.to_owned()]);
        if origin != to {
            self.origins.insert(to.to_owned(), origin);
        }
    }
}

/// Gathers observations into bursts, and remembers over bursts who is still writing.
#[derive(Debug, Default)]
pub(super) struct BurstGatherer {
    burst: Burst,
    /// Files that are being written, with the moment of the last write.
    open: HashMap<PathBuf, u64>,
}

impl BurstGatherer {
    /// Takes an observation in; its paths are made relative by `relative`, and others than those are dropped.
    pub(super) fn add(&mut self, observation: Observation, now_ms: u64, relative: impl Fn(&Path) -> Option<PathBuf>) {
        match observation {
            Observation::Written(path) => {
                if let Some(path) = relative(&path) {
                    self.open.remove(&path);
                    self.burst.touched.insert(path);
                }
            }
            Observation::Writing(path) => {
                if let Some(path) = relative(&path) {
                    // Half of a content does not count: the end of the writing is reported, too.
                    self.burst.touched.remove(&path);
                    self.open.insert(path, now_ms);
                }
            }
            Observation::Folder(path) => self.burst.arrived.extend(relative(&path)),
            Observation::Arrived(path) => {
                if let Some(path) = relative(&path) {
                    self.burst.touched.insert(path.clone());
                    self.burst.arrived.insert(path);
                }
            }
            Observation::Gone(path) => {
                if let Some(path) = relative(&path) {
                    self.open.remove(&path);
                    self.burst.touched.insert(path);
                }
            }
            Observation::Moved(from, to) => match (relative(&from), relative(&to)) {
                (Some(from), Some(to)) => {
                    self.open.remove(&from);
                    self.burst.moved(&from, &to);
                    self.burst.arrived.insert(to);
                }
                (one, other) => self.burst.touched.extend(one.into_iter().chain(other)),
            },
            Observation::Lost => self.burst.lost = true,
            Observation::Stop => {}
        }
    }

    /// What settled: the burst, with the open files that were not written to for a while.
    pub(super) fn settled(&mut self, now_ms: u64) -> Burst {
        let quiet = |_: &PathBuf, last: &mut u64| now_ms.saturating_sub(*last) >= OPEN_QUIET_MS;
        let quiet: Vec<PathBuf> = self.open.extract_if(quiet).map(|(path, _)| path).collect();
        self.burst.touched.extend(quiet);
        std::mem::take(&mut self.burst)
    }

    /// When an open file will count as written, if there is one.
    pub(super) fn next_ms(&self) -> Option<u64> {
        self.open.values().min().map(|last| last + OPEN_QUIET_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(path: &Path) -> Option<PathBuf> {
        path.strip_prefix("/w").ok().map(Path::to_owned)
    }

    fn gathered(observations: &[Observation]) -> BurstGatherer {
        let mut gathering = BurstGatherer::default();
        observations.iter().for_each(|one| gathering.add(one.clone(), 10, inside));
        gathering
    }

    fn path(name: &str) -> PathBuf {
        PathBuf::from(format!("/w/{name}"))
    }

    #[test]
    fn a_file_counts_when_its_writer_is_done() {
        let mut gathering = gathered(&[
            Observation::Writing(path("a")),
            Observation::Written(path("a")),
            Observation::Writing(path("b")),
        ]);
        assert_eq!(gathering.settled(11).touched, BTreeSet::from([PathBuf::from("a")]));
        assert!(gathering.settled(12).is_empty());
        assert_eq!(gathering.next_ms(), Some(10 + OPEN_QUIET_MS));
        assert_eq!(gathering.settled(10 + OPEN_QUIET_MS).touched, BTreeSet::from([PathBuf::from("b")]));
        assert_eq!(gathering.next_ms(), None);
    }

    #[test]
    fn who_writes_again_is_waited_for() {
        let mut gathering = gathered(&[
            Observation::Written(path("a")),
            Observation::Writing(path("a")),
            Observation::Writing(path("b")),
            Observation::Gone(path("b")),
        ]);
        assert_eq!(gathering.settled(11).touched, BTreeSet::from([PathBuf::from("b")]));
        assert_eq!(gathering.next_ms(), Some(10 + OPEN_QUIET_MS));
    }

    #[test]
    fn a_chain_of_names_is_one_move() {
        let moved = |from, to| Observation::Moved(path(from), path(to));
        let mut gathering = gathered(&[moved("a", "b"), moved("b", "c"), moved("x", "y"), moved("y", "x")]);
        let burst = gathering.settled(11);
        assert_eq!(burst.origins, BTreeMap::from([(PathBuf::from("c"), PathBuf::from("a"))]));
        assert_eq!(burst.touched.len(), 5);
        let mut outside = gathered(&[Observation::Moved(PathBuf::from("/elsewhere"), path("in"))]);
        assert_eq!(outside.settled(11).touched, BTreeSet::from([PathBuf::from("in")]));
    }
}
