//! Which folder is the workspace, so that every process that hears of the same file means the same queue.

use crate::file_names::{FOLDER, HOOKS_FILE};
use dispatch_os::files;
use dispatch_os::paths::normalise_path;
use std::path::{Path, PathBuf};

const MAX_ANCESTORS: usize = 128;

/// The workspace of a folder, absolute and without links: the nearest one above it with `.akira/hooks.json`, else the
/// nearest repository of git, else the folder itself.
#[must_use]
pub fn workspace_of(start: &Path) -> PathBuf {
    let start = files::canonicalize(start).unwrap_or_else(|_| normalise_path(start));
    let nearest = |is_root: fn(&Path) -> bool| start.ancestors().take(MAX_ANCESTORS).find(|folder| is_root(folder));
    let found = nearest(|folder| files::is_file(folder.join(FOLDER).join(HOOKS_FILE)))
        .or_else(|| nearest(|folder| files::exists(folder.join(".git"))));
    found.map(Path::to_path_buf).unwrap_or_else(|| start.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_count_more_than_a_repository_and_a_repository_more_than_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let deep = root.join("repository/package/src");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(root.join("repository/.git")).unwrap();
        assert_eq!(workspace_of(&deep), root.join("repository"));
        std::fs::create_dir(root.join("repository/package/.akira")).unwrap();
        assert_eq!(workspace_of(&deep), root.join("repository"), "a folder without hooks is no workspace");
        std::fs::write(root.join("repository/package/.akira/hooks.json"), "{}").unwrap();
        assert_eq!(workspace_of(&deep), root.join("repository/package"));
        assert_eq!(workspace_of(&root), root);
    }
}
