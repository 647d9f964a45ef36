//! Says where a path lies: in the workspace, at its root, above it, or elsewhere.

use std::path::Path;

use dispatch_hook_module::SessionView;

/// Where a path or pattern lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
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

/// The workspace and the folders around it that matter.
pub(super) struct Workspace<'a> {
    root: String,
    home: Option<String>,
    scratch: &'a [String],
    /// Follows links.
    view: &'a dyn SessionView,
}

impl<'a> Workspace<'a> {
    pub(super) fn new(root: &Path, home: Option<&str>, scratch: &'a [String], view: &'a dyn SessionView) -> Self {
        Self { root: plain(&root.to_string_lossy()), home: home.map(plain), scratch, view }
    }

    pub(super) fn place(&self, path: &str) -> Place {
        let path = plain(path);
        let base = without_wild_end(&path);
        if base == self.root || below(base, &self.root) == Some(".git") {
            Place::Root
        } else if below(base, &self.root).is_some() {
            Place::Inside
        } else if holds(base, &self.root) {
            Place::Above
        } else if self.scratch.iter().any(|scratch| below(base, &plain(scratch)).is_some()) {
            Place::Scratch
        } else {
            Place::Outside
        }
    }

    /// Whether everything below this path may be removed, changed or moved as one.
    pub(super) fn is_bounded_tree(&self, path: &str) -> bool {
        match self.place(path) {
            Place::Scratch => true,
            Place::Inside => !self.leads_out(path),
            Place::Root | Place::Above | Place::Outside => false,
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
        folder != root && below(&folder, &root).is_none() && self.place(&folder) != Place::Scratch
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

    fn place(path: &str) -> Place {
        let scratch = ["/tmp".to_owned()];
        Workspace::new(Path::new("/home/dev/repo"), Some("/home/dev"), &scratch, &MemoryView::default()).place(path)
    }

    #[test]
    fn every_path_has_its_place() {
        let table = [
            ("/home/dev/repo", Place::Root),
            ("/home/dev/repo/", Place::Root),
            ("/home/dev/repo/*", Place::Root),
            ("/home/dev/repo/.*", Place::Root),
            ("/home/dev/repo/**/*", Place::Root),
            ("/home/dev/repo/.git", Place::Root),
            ("/home/dev/repo/.git/*", Place::Root),
            ("/home/dev/repo/.github", Place::Inside),
            ("/home/dev/repo/target", Place::Inside),
            ("/home/dev/repo/target/*", Place::Inside),
            ("/home/dev/repo/*/target", Place::Inside),
            ("/home/dev/repo/*.log", Place::Inside),
            ("/home/dev/repository", Place::Outside),
            ("/home/dev", Place::Above),
            ("/home/dev/*", Place::Above),
            ("/", Place::Above),
            ("/*", Place::Above),
            ("/etc", Place::Outside),
            ("/tmp", Place::Outside),
            ("/tmp/*", Place::Outside),
            ("/tmp/build", Place::Scratch),
            ("relative", Place::Outside),
            ("", Place::Outside),
        ];
        for (path, expected) in table {
            assert_eq!(place(path), expected, "{path}");
        }
    }

    #[test]
    fn drives_are_compared_whatever_their_case_and_slashes() {
        let view = MemoryView::default();
        let workspace = Workspace::new(Path::new("C:\\Code\\repo"), None, &[], &view);
        assert_eq!(workspace.place("c:/code/repo/target"), Place::Inside);
        assert_eq!(workspace.place("C:\\code\\Repo"), Place::Root);
        assert_eq!(workspace.place("C:\\Code"), Place::Above);
        assert_eq!(workspace.place("D:\\x"), Place::Outside);
    }

    #[test]
    fn a_walk_is_endless_from_a_home_or_above_the_workspace() {
        let view = MemoryView::default();
        let workspace = Workspace::new(Path::new("/srv/repo"), Some("/home/dev"), &[], &view);
        for path in ["/", "/srv", "/home", "/home/dev", "/home/dev/*", "/*"] {
            assert!(workspace.is_endless_walk(path), "{path}");
        }
        for path in ["/srv/repo", "/srv/repo/a", "/usr/include", "/home/dev/other", "/srv/repos"] {
            assert!(!workspace.is_endless_walk(path), "{path}");
        }
        let at_home = Workspace::new(Path::new("/home/dev"), Some("/home/dev"), &[], &view);
        assert!(!at_home.is_endless_walk("/home/dev"));
        assert!(at_home.is_endless_walk("/home"));
    }
}
