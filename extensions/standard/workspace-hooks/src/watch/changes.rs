//! What became of each file between two looks.
//!
//! Pure.

use super::burst::Burst;
use super::file_fingerprint::FileFingerprint;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DetectedChange {
    Created,
    Changed,
    Deleted,
    Renamed { from: PathBuf, content: RenamedContent },
}

/// Whether a file with a new name has a new content, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RenamedContent {
    Same,
    Changed,
}

/// Judges every path of a burst by what it was `before` and is `after`: a temporary file that was renamed over another
/// is a change of the other, one that came and went is nothing.
pub(super) fn changes(
    burst: &Burst,
    before: impl Fn(&Path) -> Option<FileFingerprint>,
    after: impl Fn(&Path) -> Option<FileFingerprint>,
) -> Vec<(PathBuf, DetectedChange)> {
    let mut renamed: BTreeSet<&Path> = BTreeSet::new();
    let mut found = Vec::new();
    for (to, from) in &burst.origins {
        let (Some(old), None, None, Some(new)) = (before(from), after(from), before(to), after(to)) else { continue };
        renamed.extend([from.as_path(), to.as_path()]);
        let content = if old == new { RenamedContent::Same } else { RenamedContent::Changed };
        found.push((to.clone(), DetectedChange::Renamed { from: from.clone(), content }));
    }
    for path in burst.touched.iter().filter(|path| !renamed.contains(path.as_path())) {
        match (before(path), after(path)) {
            (None, Some(_)) => found.push((path.clone(), DetectedChange::Created)),
            (Some(_), Some(_)) => found.push((path.clone(), DetectedChange::Changed)),
            (Some(_), None) => found.push((path.clone(), DetectedChange::Deleted)),
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn state(files: &[(&str, u64)]) -> HashMap<PathBuf, FileFingerprint> {
        files.iter().map(|(path, print)| (PathBuf::from(path), FileFingerprint::from_number(*print))).collect()
    }

    fn check(
        moves: &[(&str, &str)],
        touched: &[&str],
        before: &[(&str, u64)],
        after: &[(&str, u64)],
        expected: &[&str],
    ) {
        let mut burst = Burst::default();
        moves.iter().for_each(|(from, to)| burst.moved(Path::new(from), Path::new(to)));
        burst.touched.extend(touched.iter().map(PathBuf::from));
        let (before, after) = (state(before), state(after));
        let found = changes(&burst, |path| before.get(path).copied(), |path| after.get(path).copied());
        let words: Vec<String> = found
            .iter()
            .map(|(path, happened)| match happened {
                DetectedChange::Renamed { from, content } => {
                    format!("{} <- {} {content:?}", path.display(), from.display())
                }
                other => format!("{} {other:?}", path.display()),
            })
            .collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn files_come_change_and_go() {
        check(
            &[],
            &["new", "old", "gone", "passing"],
            &[("old", 1), ("gone", 1)],
            &[("new", 2), ("old", 1)],
            &["gone Deleted", "new Created", "old Changed"],
        );
    }

    #[test]
    fn an_atomic_save_is_one_change() {
        check(&[("a.tmp", "a")], &[], &[("a", 1)], &[("a", 2)], &["a Changed"]);
        check(&[("a.tmp", "a")], &[], &[], &[("a", 2)], &["a Created"]);
    }

    #[test]
    fn a_save_by_way_of_a_backup_is_one_change() {
        check(&[("a", "a.bak")], &["a"], &[("a", 1)], &[("a", 2), ("a.bak", 1)], &["a Changed", "a.bak Created"]);
        check(&[("a", "a.bak")], &["a", "a.bak"], &[("a", 1)], &[("a", 2)], &["a Changed"]);
    }

    #[test]
    fn a_new_name_is_a_rename_and_says_whether_the_content_is_new() {
        check(&[("a", "b")], &[], &[("a", 1)], &[("b", 1)], &["b <- a Same"]);
        check(&[("a", "b")], &["b"], &[("a", 1)], &[("b", 2)], &["b <- a Changed"]);
        check(&[("a", "b"), ("b", "c")], &[], &[("a", 1)], &[("c", 1)], &["c <- a Same"]);
        check(&[("a", "b")], &[], &[("a", 1), ("b", 1)], &[("b", 1)], &["a Deleted", "b Changed"]);
        check(&[("a", "b")], &[], &[("a", 1)], &[], &["a Deleted"]);
    }
}
