//! Tells cheaply whether a file is worth another look.

use super::Refreshed;
use dispatch_os::files::{self, Stamp};
use dispatch_os::time;
use std::path::Path;

/// Two writes within one tick of the file system's clock may leave the same times. A file that was written less than
/// this before the last look is read once more.
const SETTLED_AFTER_NS: i128 = 1_000_000_000;

/// What a file looked like.
#[derive(Debug, Default)]
pub(crate) struct ChangeProbe {
    seen: Option<Option<Stamp>>,
    unsettled: bool,
}

impl ChangeProbe {
    /// Whether the file may have changed since the last time this was asked.
    pub(crate) fn changed(&mut self, path: &Path) -> Refreshed {
        let stamp = files::metadata(path).ok().map(|found| Stamp::of(&found));
        let now_ns = i128::from(time::unix_ms()) * 1_000_000;
        let fresh = |stamp: &Stamp| (now_ns - stamp.modified_ns.max(stamp.changed_ns)).abs() < SETTLED_AFTER_NS;
        let same = self.seen == Some(stamp) && !self.unsettled;
        self.unsettled = stamp.as_ref().is_some_and(fresh);
        self.seen = Some(stamp);
        if same { Refreshed::Same } else { Refreshed::Changed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_file_that_was_just_written_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut probe = ChangeProbe::default();
        assert_eq!(probe.changed(&path), Refreshed::Changed, "the first look");
        assert_eq!(probe.changed(&path), Refreshed::Same, "there is none");
        std::fs::write(&path, "one").unwrap();
        assert_eq!(probe.changed(&path), Refreshed::Changed);
        assert_eq!(probe.changed(&path), Refreshed::Changed, "the same moment may hold another write");
    }

    #[test]
    fn a_file_that_is_old_is_not() {
        let path = std::env::current_exe().unwrap();
        let age = |path: &Path| SystemTime::now().duration_since(path.metadata().unwrap().modified().unwrap());
        if age(&path).is_ok_and(|age| age > Duration::from_secs(1)) {
            let mut probe = ChangeProbe::default();
            probe.changed(&path);
            assert_eq!(probe.changed(&path), Refreshed::Same);
        }
    }
}
