//! Opens a file below a folder in one step that no link can lead out of.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use super::resolve_inside;

/// The file at `path` (relative ones start at `root`) for reading, if links on the way stay in `root`.
///
/// Where the system can do it the check and the opening are one call, so nothing can change in between.
/// `None` when the file does not exist, cannot be opened, or lies elsewhere.
#[must_use]
pub fn open_beneath(root: &Path, path: &Path) -> Option<File> {
    Beneath::new(root).open(path)
}

/// A folder below which several files are opened as [`open_beneath`] does.
#[derive(Debug)]
pub struct Beneath<'a> {
    root: Cow<'a, Path>,
    #[cfg(target_os = "linux")]
    folder: std::cell::OnceCell<Option<std::os::fd::OwnedFd>>,
}

impl<'a> Beneath<'a> {
    /// Opens nothing yet.
    #[must_use]
    pub fn new(root: impl Into<Cow<'a, Path>>) -> Self {
        Self {
            root: root.into(),
            #[cfg(target_os = "linux")]
            folder: std::cell::OnceCell::new(),
        }
    }

    /// The file at `path`, as [`open_beneath`] opens it. The folder is looked up once.
    #[must_use]
    pub fn open(&self, path: &Path) -> Option<File> {
        match self.open_in_one_step(path) {
            Ok(found) => found,
            Err(Undecided) => {
                let found = resolve_inside(&self.root, path).ok()?;
                found.is_inside().then(|| File::open(found.path).ok())?
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn open_in_one_step(&self, path: &Path) -> Result<Option<File>, Undecided> {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
        use rustix::io::Errno;
        let relative = if path.is_absolute() { path.strip_prefix(&self.root).map_err(|_| Undecided)? } else { path };
        let folder = self.folder.get_or_init(|| {
            openat(CWD, &*self.root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
        });
        let Some(folder) = folder else {
            return Ok(None);
        };
        // Without NONBLOCK, a named pipe in this place would never open.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        match openat2(folder, relative, flags, Mode::empty(), resolve) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
            Err(_) => Err(Undecided),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_in_one_step(&self, _: &Path) -> Result<Option<File>, Undecided> {
        Err(Undecided)
    }
}

/// The system cannot tell: an old kernel, or a link that is absolute and may yet lead back inside.
struct Undecided;

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_lies_inside_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/file"), "inside").unwrap();
        std::fs::write(folder.path().join("secret"), "outside").unwrap();
        symlink("sub/file", root.join("near")).unwrap();
        symlink(root.join("sub/file"), root.join("absolute")).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("..", root.join("up")).unwrap();
        let text = |path: &Path| {
            let mut text = String::new();
            open_beneath(&root, path)?.read_to_string(&mut text).ok()?;
            Some(text)
        };
        for inside in ["sub/file", "near", "absolute", "sub/../sub/file"] {
            assert_eq!(text(Path::new(inside)).as_deref(), Some("inside"), "{inside}");
            assert_eq!(text(&root.join(inside)).as_deref(), Some("inside"), "{inside}");
        }
        for outside in ["out", "up/secret", "../secret", "missing", "sub/file/below"] {
            assert_eq!(text(Path::new(outside)), None, "{outside}");
            assert_eq!(text(&root.join(outside)), None, "{outside}");
        }
    }
}
