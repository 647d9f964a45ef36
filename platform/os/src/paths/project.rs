//! Finds the project that a folder belongs to.

use std::path::{Path, PathBuf};

const MAX_ANCESTORS: usize = 256;

/// What made a folder a project root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectMarker {
    /// A `.dispatch` folder.
    Dispatch,
    /// An `.ai/hooks` folder.
    Hooks,
    /// A `.git` folder, or the file that stands for one in a worktree or submodule.
    Git,
}

/// A project root and how it was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRoot {
    /// The folder, absolute.
    pub path: PathBuf,
    /// What was found in it; the first of the three when there are several.
    pub marker: ProjectMarker,
}

/// The nearest folder at or above `start` that holds `.dispatch`, `.ai/hooks` or `.git`.
///
/// Goes up by the text of the path, as a shell's `cd ..` does. An unreadable folder counts as unmarked.
pub fn find_project_root(start: &Path) -> Option<ProjectRoot> {
    let start = super::normalise_path(&std::path::absolute(start).ok()?);
    start
        .ancestors()
        .take(MAX_ANCESTORS)
        .find_map(|folder| marker_of(folder).map(|marker| ProjectRoot { path: folder.to_path_buf(), marker }))
}

fn marker_of(folder: &Path) -> Option<ProjectMarker> {
    if folder.join(".dispatch").is_dir() {
        Some(ProjectMarker::Dispatch)
    } else if folder.join(".ai").join("hooks").is_dir() {
        Some(ProjectMarker::Hooks)
    } else if folder.join(".git").exists() {
        Some(ProjectMarker::Git)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_marked_folder_wins() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        std::fs::create_dir_all(base.join("repo/.git")).unwrap();
        std::fs::create_dir_all(base.join("repo/service/.ai/hooks")).unwrap();
        std::fs::create_dir_all(base.join("repo/service/app/.dispatch")).unwrap();
        std::fs::create_dir_all(base.join("repo/service/app/.git")).unwrap();
        std::fs::create_dir_all(base.join("repo/service/app/src")).unwrap();
        std::fs::create_dir_all(base.join("repo/tree")).unwrap();
        std::fs::write(base.join("repo/tree/.git"), "gitdir: elsewhere").unwrap();
        let cases = [
            ("repo", "repo", ProjectMarker::Git),
            ("repo/other/missing", "repo", ProjectMarker::Git),
            ("repo/service", "repo/service", ProjectMarker::Hooks),
            ("repo/service/.ai", "repo/service", ProjectMarker::Hooks),
            ("repo/service/app/src", "repo/service/app", ProjectMarker::Dispatch),
            ("repo/service/app/src/../..", "repo/service", ProjectMarker::Hooks),
            ("repo/tree", "repo/tree", ProjectMarker::Git),
        ];
        for (start, path, marker) in cases {
            let expected = ProjectRoot { path: base.join(path), marker };
            assert_eq!(find_project_root(&base.join(start)), Some(expected), "{start}");
        }
    }

    #[test]
    fn a_file_called_dispatch_marks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".dispatch"), "").unwrap();
        let found = find_project_root(folder.path());
        assert!(found.is_none_or(|root| root.path != folder.path()));
    }
}
