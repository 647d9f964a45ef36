//! Files that need no intent and are not recorded: temporary folders, caches, build results, and what git ignores.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dispatch_glob::Glob;
use dispatch_os::{environment, files};

use crate::gate::CallTarget;
use crate::layout::OrchestrationLayout;
use crate::working_tree;

/// Folders of build results and caches, unless git tracks files in them.
const BUILD_FOLDERS: [&str; 17] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    "coverage",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".cache",
    ".next",
    ".nuxt",
    ".turbo",
    ".gradle",
    ".venv",
    "tmp",
];
/// Temporary folders.
const TEMPORARY: [&str; 6] = ["/tmp", "/var/tmp", "/private/tmp", "/private/var/folders", "/dev/shm", "/run/user"];
/// Caches below the home folder.
const HOME_CACHES: [&str; 10] = [
    ".cache",
    ".npm",
    ".cargo",
    ".rustup",
    ".m2",
    ".gradle",
    ".nuget",
    "go/pkg",
    "Library/Caches",
    ".local/share/pnpm",
];

/// Which files are free in a workspace.
pub(crate) struct FreePaths<'a> {
    pub(crate) layout: &'a OrchestrationLayout,
    /// Further globs of free files.
    pub(crate) globs: &'a [String],
    /// The time that git may take.
    pub(crate) time: Duration,
}

impl FreePaths<'_> {
    /// The free ones among paths from the workspace's root or absolute ones.
    #[must_use]
    pub(crate) fn among(&self, paths: &[&str]) -> BTreeSet<String> {
        let (outside, inside): (Vec<&str>, Vec<&str>) = paths.iter().partition(|path| Path::new(path).is_absolute());
        let mut free: BTreeSet<String> = outside
            .into_iter()
            .filter(|path| is_temporary(&self.layout.root, Path::new(path)))
            .map(str::to_owned)
            .collect();
        let is_listed =
            |path: &&str| self.globs.iter().any(|glob| Glob::new(glob).is_ok_and(|glob| glob.is_match(path)));
        let (listed, rest): (Vec<&str>, Vec<&str>) = inside.into_iter().partition(is_listed);
        free.extend(listed.into_iter().map(str::to_owned));
        let rest: Vec<&str> = rest.into_iter().filter(|path| !path.starts_with(".orchestration/")).collect();
        free.extend(working_tree::ignored(self.layout, &rest, self.time));
        let built: Vec<&str> =
            rest.into_iter().filter(|path| !free.contains(*path) && is_build_result(&self.layout.root, path)).collect();
        let tracked = working_tree::tracked(self.layout, &built, self.time);
        free.extend(built.into_iter().filter(|path| !tracked.contains(*path)).map(str::to_owned));
        free
    }

    /// The targets that are not free.
    #[must_use]
    pub(crate) fn without(&self, targets: &[CallTarget]) -> Vec<CallTarget> {
        let paths: Vec<&str> = targets.iter().map(CallTarget::path).collect();
        let free = self.among(&paths);
        targets.iter().filter(|target| !free.contains(target.path())).cloned().collect()
    }
}

/// Whether folders of this name contain build results or caches.
pub(crate) fn is_build_folder(name: &str) -> bool {
    BUILD_FOLDERS.contains(&name)
}

/// Whether a path is a build folder or below one. A file with the name of such a folder is none.
fn is_build_result(root: &Path, path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_folder = BUILD_FOLDERS.contains(&name) && files::is_dir(root.join(path));
    is_folder || folder.split('/').any(|part| BUILD_FOLDERS.contains(&part))
}

fn is_temporary(root: &Path, path: &Path) -> bool {
    let home = environment::variable_path("HOME");
    let own = ["TMPDIR", "TEMP", "TMP"].into_iter().filter_map(environment::variable_path);
    let caches = home.iter().flat_map(|home| HOME_CACHES.iter().map(|cache| home.join(cache)));
    let caches = caches.chain(environment::variable_path("XDG_CACHE_HOME"));
    let temporary: Vec<PathBuf> = TEMPORARY.iter().map(PathBuf::from).chain(own).chain(caches).collect();
    let below = |path: &Path, folder: &Path| {
        path.strip_prefix(folder).ok()?.components().next().map(|part| part.as_os_str().to_owned())
    };
    // A project may itself be in a temporary folder; what is beside it there is not free.
    let is_free = |folder: &PathBuf| {
        let first = below(path, folder);
        first.is_some() && first != below(root, folder) && folder.parent().is_some()
    };
    temporary.iter().any(is_free)
}
