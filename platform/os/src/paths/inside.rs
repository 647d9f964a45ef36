//! Says where a path really leads and whether that is inside a folder, for files that do not exist yet too.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::OsError;

const MAX_LINKS: usize = 40;

/// Whether a resolved path lies in the folder asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// The folder itself or something below it.
    Inside,
    /// Anywhere else.
    Outside,
}

/// Where a path really leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// The absolute path with every symbolic link of its existing part followed.
    pub path: PathBuf,
    /// Whether that is inside the root.
    pub containment: Containment,
}

impl ResolvedPath {
    /// Whether the path stays in the root.
    pub fn is_inside(&self) -> bool {
        self.containment == Containment::Inside
    }
}

/// Follows every link of `path` (relative ones start at `root`) as far as it exists.
///
/// A link that points to nothing counts as what it points to, because writing through it would
/// create that. A `..` after a part that does not exist is taken by the text. Letter case is
/// compared as Windows does on Windows, exactly elsewhere, so a case-blind disk can only turn an
/// inside path into an outside one. The answer is true for the moment of asking: whoever may change
/// the folders can change the answer.
pub fn resolve_inside(root: &Path, path: &Path) -> Result<ResolvedPath, OsError> {
    let root = absolute(root)?;
    let asked = absolute(&root.join(path))?;
    let real_root = resolve(&root)?;
    let real_path = resolve(&asked)?;
    let containment = if starts_with(&real_path, &real_root) { Containment::Inside } else { Containment::Outside };
    Ok(ResolvedPath { path: real_path, containment })
}

pub(super) fn absolute(path: &Path) -> Result<PathBuf, OsError> {
    std::path::absolute(path).map_err(|source| OsError::io("resolve", path, source))
}

enum PathStep {
    Into(OsString),
    Up,
}

pub(super) fn resolve(path: &Path) -> Result<PathBuf, OsError> {
    let mut resolved = PathBuf::new();
    let mut steps = VecDeque::new();
    let mut links = 0;
    restart_or_prepend(path, &mut resolved, &mut steps);
    while let Some(step) = steps.pop_front() {
        let name = match step {
            PathStep::Up => {
                resolved.pop();
                continue;
            }
            PathStep::Into(name) => name,
        };
        let next = resolved.join(name);
        match link_target(&next)? {
            None => resolved = next,
            Some(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(OsError::TooManySymlinks { path: path.to_path_buf() });
                }
                restart_or_prepend(&target, &mut resolved, &mut steps);
            }
        }
    }
    Ok(resolved)
}

/// Puts the steps of a path before those that remain; an absolute path starts again at its root.
fn restart_or_prepend(path: &Path, resolved: &mut PathBuf, steps: &mut VecDeque<PathStep>) {
    let mut first = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => resolved.push(component),
            Component::CurDir => {}
            Component::ParentDir => first.push(PathStep::Up),
            Component::Normal(name) => first.push(PathStep::Into(name.to_os_string())),
        }
    }
    for step in first.into_iter().rev() {
        steps.push_front(step);
    }
}

/// What the path points at if it is a link; a path that does not exist is not a link.
fn link_target(path: &Path) -> Result<Option<PathBuf>, OsError> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            std::fs::read_link(path).map(Some).map_err(|source| OsError::io("read the link", path, source))
        }
        Ok(_) => Ok(None),
        Err(error) if does_not_exist(&error) => Ok(None),
        Err(source) => Err(OsError::io("resolve", path, source)),
    }
}

pub(super) fn does_not_exist(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    )
}

#[cfg(not(windows))]
fn starts_with(path: &Path, root: &Path) -> bool {
    path.starts_with(root)
}

#[cfg(windows)]
fn starts_with(path: &Path, root: &Path) -> bool {
    let mut names = path.components();
    root.components()
        .all(|wanted| names.next().is_some_and(|name| name.as_os_str().eq_ignore_ascii_case(wanted.as_os_str())))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct LinkedFolders {
        _folder: tempfile::TempDir,
        root: PathBuf,
        outside: PathBuf,
    }

    fn folders() -> LinkedFolders {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, outside) = (base.join("root"), base.join("outside"));
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret"), "").unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("../outside/secret", root.join("out-file")).unwrap();
        symlink("src", root.join("in")).unwrap();
        symlink("../outside/new", root.join("dangling-out")).unwrap();
        symlink("src/new", root.join("dangling-in")).unwrap();
        symlink("loop-b", root.join("loop-a")).unwrap();
        symlink("loop-a", root.join("loop-b")).unwrap();
        symlink("in/../../outside", root.join("zigzag")).unwrap();
        symlink(&root, outside.join("back")).unwrap();
        LinkedFolders { _folder: folder, root, outside }
    }

    #[test]
    fn paths_end_where_their_links_lead() {
        let folders = folders();
        let cases = [
            ("file", "root/file", Containment::Inside),
            ("", "root", Containment::Inside),
            (".", "root", Containment::Inside),
            ("new", "root/new", Containment::Inside),
            ("no/such/dir/file", "root/no/such/dir/file", Containment::Inside),
            ("..", "", Containment::Outside),
            ("../root/file", "root/file", Containment::Inside),
            ("../rooted", "rooted", Containment::Outside),
            ("../outside/new", "outside/new", Containment::Outside),
            ("out", "outside", Containment::Outside),
            ("out/secret", "outside/secret", Containment::Outside),
            ("out/new/file", "outside/new/file", Containment::Outside),
            ("out-file", "outside/secret", Containment::Outside),
            ("out/back/file", "root/file", Containment::Inside),
            ("in/deep", "root/src/deep", Containment::Inside),
            ("in/new", "root/src/new", Containment::Inside),
            ("in/..", "root", Containment::Inside),
            ("out/..", "", Containment::Outside),
            ("out/../root/file", "root/file", Containment::Inside),
            ("dangling-out", "outside/new", Containment::Outside),
            ("dangling-in", "root/src/new", Containment::Inside),
            ("zigzag", "root/../outside", Containment::Outside),
            ("missing/../../outside/new", "outside/new", Containment::Outside),
            ("missing/../file", "root/file", Containment::Inside),
            ("file/below", "root/file/below", Containment::Inside),
        ];
        let base = folders.root.parent().unwrap();
        for (path, end, containment) in cases {
            let resolved = resolve_inside(&folders.root, Path::new(path)).unwrap();
            let end = super::super::normalise_path(&base.join(end));
            assert_eq!((resolved.path.as_path(), resolved.containment), (end.as_path(), containment), "{path}");
        }
    }

    #[test]
    fn absolute_paths_and_linked_roots_are_resolved_too() {
        let folders = folders();
        let secret = folders.outside.join("secret");
        assert!(!resolve_inside(&folders.root, &secret).unwrap().is_inside());
        assert!(resolve_inside(&folders.root, &folders.root.join("x")).unwrap().is_inside());
        // The root is reached through a link: what counts is where it leads.
        let linked_root = folders.outside.join("back");
        assert!(resolve_inside(&linked_root, Path::new("src/x")).unwrap().is_inside());
        assert!(resolve_inside(&linked_root, &folders.root.join("file")).unwrap().is_inside());
    }

    #[test]
    fn loops_end_in_an_error_and_overlong_names_do_not_exist() {
        let folders = folders();
        let error = resolve_inside(&folders.root, Path::new("loop-a/x")).unwrap_err();
        assert!(matches!(error, OsError::TooManySymlinks { .. }), "{error}");
        let long = "n".repeat(5_000);
        assert!(resolve_inside(&folders.root, Path::new(&long)).unwrap().is_inside());
    }
}
