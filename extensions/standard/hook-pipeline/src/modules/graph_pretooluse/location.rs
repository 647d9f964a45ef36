//! Says where a path lies: in the workspace, at its root, above it, or elsewhere.
//!
//! Pure.

use std::path::Path;

use dispatch_hook_module::SessionView;

/// Where a path or pattern lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathLocation {
    /// Below the root of the workspace.
    Inside,
    /// The root, everything in it, or its history.
    Root,
    /// A folder that holds the workspace.
    Above,
    /// Below a folder for temporary files.
    Scratch,
    /// Anywhere else.
    Outside,
}

/// Folders of a home that hold what programs fetch or make again.
const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    ".gradle/caches",
    ".m2/repository",
    ".cargo/registry",
    ".ivy2/cache",
    ".nuget/packages",
    ".pub-cache",
    "Library/Caches",
    "Library/Developer/Xcode/DerivedData",
    "go/pkg/mod/cache",
];

/// Folders of the system that package managers fill again.
const SYSTEM_CACHES: &[&str] = &[
    "/var/lib/apt/lists",
    "/var/cache/apt",
    "/var/cache/apk",
    "/var/cache/yum",
    "/var/cache/dnf",
    "/var/cache/pacman/pkg",
    "/var/cache/zypp",
];

/// The workspace and the folders around it that matter.
pub(super) struct WorkspaceBounds<'a> {
    root: String,
    home: Option<String>,
    scratch: &'a [String],
    /// Follows links.
    view: &'a dyn SessionView,
}

/// What of git's folder cannot be made again.
const HISTORY: &[&str] = &[".git", ".git/objects", ".git/refs", ".git/logs", ".git/refs/heads"];

impl<'a> WorkspaceBounds<'a> {
    pub(super) fn new(root: &Path, home: Option<&str>, scratch: &'a [String], view: &'a dyn SessionView) -> Self {
        Self { root: plain(&root.to_string_lossy()), home: home.map(plain), scratch, view }
    }

    pub(super) fn locate(&self, path: &str) -> PathLocation {
        let path = plain(path);
        let base = without_wild_end(&path);
        if base == self.root || below(base, &self.root).is_some_and(|rest| HISTORY.contains(&rest)) {
            PathLocation::Root
        } else if below(base, &self.root).is_some() {
            PathLocation::Inside
        } else if holds(base, &self.root) {
            PathLocation::Above
        } else if self.scratch.iter().any(|scratch| below(base, &plain(scratch)).is_some())
            || self.is_in_cache(base)
            || SYSTEM_CACHES.iter().any(|cache| path == *cache || below(&path, cache).is_some())
        {
            PathLocation::Scratch
        } else {
            PathLocation::Outside
        }
    }

    /// Whether a path lies in a folder of the home whose content is fetched or made again when it is gone.
    fn is_in_cache(&self, path: &str) -> bool {
        let rest = self.home.as_deref().and_then(|home| below(path, home));
        // `.cache` as a whole is more than one program's.
        let whole = |rest: &str, cache: &str| rest == cache && cache.contains('/');
        rest.is_some_and(|rest| CACHES.iter().any(|cache| below(rest, cache).is_some() || whole(rest, cache)))
    }

    /// Whether everything below this path may be removed, changed or moved as one.
    pub(super) fn is_bounded_tree(&self, path: &str) -> bool {
        match self.locate(path) {
            PathLocation::Scratch => true,
            PathLocation::Inside => !self.leads_out(path),
            PathLocation::Root | PathLocation::Above | PathLocation::Outside => false,
        }
    }

    /// Whether the folder of a path is reached by a link that leaves the workspace.
    fn leads_out(&self, path: &str) -> bool {
        let path = plain(path);
        let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| *folder != self.root) else {
            return false;
        };
        let real = |path: &str| plain(&self.view.real_path(Path::new(path)).to_string_lossy());
        let (folder, root) = (real(folder), real(&self.root));
        folder != root && below(&folder, &root).is_none() && self.locate(&folder) != PathLocation::Scratch
    }

    /// Whether a walk from here has no useful end: the disk, a home, a parent of the workspace.
    pub(super) fn is_endless_walk(&self, path: &str) -> bool {
        let path = plain(path);
        let base = without_wild_end(&path);
        let at_home = self.home.as_deref().is_some_and(|home| base == home || holds(base, home));
        // A workspace may itself be the home folder or hold it.
        base != self.root && below(base, &self.root).is_none() && (at_home || holds(base, &self.root))
    }

    /// Whether the path is the root of the workspace itself.
    pub(super) fn is_root(&self, path: &str) -> bool {
        plain(path) == self.root
    }

    pub(super) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }
}

/// One spelling for all systems: `/` between the parts, drives in lower case, no slash at the end.
fn plain(path: &str) -> String {
    let windows = path.starts_with("\\\\") || path.as_bytes().get(1) == Some(&b':');
    let path = if windows { path.replace('\\', "/").to_ascii_lowercase() } else { path.to_owned() };
    match path.trim_end_matches('/') {
        "" if path.starts_with('/') => "/".to_owned(),
        trimmed => trimmed.to_owned(),
    }
}

/// Whether `inner` lies below `folder`.
fn holds(folder: &str, inner: &str) -> bool {
    !folder.is_empty() && below(inner, folder).is_some()
}

/// The rest of `path` below `folder`, if it lies there.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    let rest = if folder.ends_with('/') { rest } else { rest.strip_prefix('/')? };
    (!rest.is_empty()).then_some(rest)
}

/// `/a/*` and `/a/**/*` stand for all of `/a`.
fn without_wild_end(path: &str) -> &str {
    let mut base = path;
    while let Some((folder, name)) = base.rsplit_once('/') {
        if !is_wild(name) {
            break;
        }
        base = if folder.is_empty() { "/" } else { folder };
    }
    base
}

/// Whether a part of a pattern matches any name.
pub(super) fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[']) && part.chars().all(|c| "*?.[]!^-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_hook_module::testing::MemoryView;

    fn locate(path: &str) -> PathLocation {
        let scratch = ["/tmp".to_owned()];
        WorkspaceBounds::new(Path::new("/home/dev/repo"), Some("/home/dev"), &scratch, &MemoryView::default())
            .locate(path)
    }

    #[test]
    fn every_path_has_its_location() {
        let table = [
            ("/home/dev/repo", PathLocation::Root),
            ("/home/dev/repo/", PathLocation::Root),
            ("/home/dev/repo/*", PathLocation::Root),
            ("/home/dev/repo/.*", PathLocation::Root),
            ("/home/dev/repo/**/*", PathLocation::Root),
            ("/home/dev/repo/.git", PathLocation::Root),
            ("/home/dev/repo/.git/*", PathLocation::Root),
            ("/home/dev/repo/.github", PathLocation::Inside),
            ("/home/dev/repo/target", PathLocation::Inside),
            ("/home/dev/repo/target/*", PathLocation::Inside),
            ("/home/dev/repo/*/target", PathLocation::Inside),
            ("/home/dev/repo/*.log", PathLocation::Inside),
            ("/home/dev/repository", PathLocation::Outside),
            ("/home/dev", PathLocation::Above),
            ("/home/dev/*", PathLocation::Above),
            ("/", PathLocation::Above),
            ("/*", PathLocation::Above),
            ("/etc", PathLocation::Outside),
            ("/tmp", PathLocation::Outside),
            ("/tmp/*", PathLocation::Outside),
            ("/tmp/build", PathLocation::Scratch),
            ("/home/dev/.cache/pip", PathLocation::Scratch),
            ("/home/dev/.cache", PathLocation::Outside),
            ("/home/dev/.gradle/caches/build-cache-1", PathLocation::Scratch),
            ("/home/dev/.ssh", PathLocation::Outside),
            ("relative", PathLocation::Outside),
            ("", PathLocation::Outside),
        ];
        for (path, expected) in table {
            assert_eq!(locate(path), expected, "{path}");
        }
    }

    #[test]
    fn drives_are_compared_whatever_their_case_and_slashes() {
        let view = MemoryView::default();
        let workspace = WorkspaceBounds::new(Path::new("C:\\Code\\repo"), None, &[], &view);
        assert_eq!(workspace.locate("c:/code/repo/target"), PathLocation::Inside);
        assert_eq!(workspace.locate("C:\\code\\Repo"), PathLocation::Root);
        assert_eq!(workspace.locate("C:\\Code"), PathLocation::Above);
        assert_eq!(workspace.locate("D:\\x"), PathLocation::Outside);
    }

    #[test]
    fn a_walk_is_endless_from_a_home_or_above_the_workspace() {
        let view = MemoryView::default();
        let workspace = WorkspaceBounds::new(Path::new("/srv/repo"), Some("/home/dev"), &[], &view);
        for path in ["/", "/srv", "/home", "/home/dev", "/home/dev/*", "/*"] {
            assert!(workspace.is_endless_walk(path), "{path}");
        }
        for path in ["/srv/repo", "/srv/repo/a", "/usr/include", "/home/dev/other", "/srv/repos"] {
            assert!(!workspace.is_endless_walk(path), "{path}");
        }
        let at_home = WorkspaceBounds::new(Path::new("/home/dev"), Some("/home/dev"), &[], &view);
        assert!(!at_home.is_endless_walk("/home/dev"));
        assert!(at_home.is_endless_walk("/home"));
    }
}
