//! What a script module may be made of: approved files of its own folder and of `lib`.

use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use dispatch_os::files::{read_at_most, read_file_at_most};
use dispatch_os::paths::{Beneath, normalise_path, resolve_inside};
use dispatch_script::{ModuleSource, Source};
use dispatch_trust::{Trust, fingerprint};

const SOURCE_LIMIT_BYTES: u64 = 1024 * 1024;

/// Files below `.ai/hooks`, named relative to it, each read and judged once.
pub(super) struct ApprovedFiles {
    hooks_root: PathBuf,
    folder: Beneath<'static>,
    trust: Rc<Trust>,
    /// A handful, so they are simply searched.
    known: RefCell<Vec<Approved>>,
}

/// A file that the user approved as it is.
#[derive(Clone)]
pub(super) struct Approved {
    pub(super) source: Source,
    /// The SHA-256 of its content.
    pub(super) digest: String,
}

/// Why a file does not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum Denied {
    #[error("{0}")]
    Unreadable(String),
    #[error("the file leads out of the folder of hooks")]
    Outside,
    #[error("the file is not approved; look at it, then run `dispatch trust`")]
    Unapproved,
    #[error("{0}")]
    NotText(String),
}

impl ApprovedFiles {
    pub(super) fn new(hooks_root: PathBuf, trust: Rc<Trust>) -> Self {
        Self { folder: Beneath::new(hooks_root.clone()), hooks_root, trust, known: RefCell::default() }
    }

    /// The file of this name, which is relative to the folder of hooks.
    pub(super) fn source(&self, wanted: &Path) -> Result<Approved, Denied> {
        let name = wanted.to_string_lossy();
        if let Some(known) = self.known.borrow().iter().find(|known| known.source.name == name) {
            return Ok(known.clone());
        }
        let bytes = self.read(wanted)?;
        let digest = fingerprint(&bytes);
        if !self.trust.is_approved_fingerprint(&digest) {
            return Err(Denied::Unapproved);
        }
        let source = Source::from_bytes(name, bytes);
        let source = source.map_err(|error| Denied::NotText(error.to_string()))?.with_digest(&digest);
        let approved = Approved { source, digest };
        self.known.borrow_mut().push(approved.clone());
        Ok(approved)
    }

    fn read(&self, wanted: &Path) -> Result<Vec<u8>, Denied> {
        let unreadable = |error: dispatch_os::OsError| Denied::Unreadable(error.to_string());
        if let Some(file) = self.folder.open(wanted) {
            return read_file_at_most(file, wanted, SOURCE_LIMIT_BYTES).map_err(unreadable);
        }
        let found = resolve_inside(&self.hooks_root, wanted).map_err(unreadable)?;
        let read = read_at_most(&found.path, SOURCE_LIMIT_BYTES).map_err(unreadable)?;
        if found.is_inside() { Ok(read) } else { Err(Denied::Outside) }
    }
}

/// The same, for the imports of scripts.
pub(super) struct Imports(pub(super) Rc<ApprovedFiles>);

impl ModuleSource for Imports {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let folder = Path::new(referrer).parent().unwrap_or(Path::new(""));
        let wanted = normalise_path(&folder.join(specifier));
        if !is_open(&wanted, referrer) {
            return Err("only files of the module's own folder and of `lib` can be imported".to_owned());
        }
        self.0.source(&wanted).map(|approved| approved.source).map_err(|denied| denied.to_string())
    }
}

/// Whether a file is in `lib`, or in the folder of the module that imports it.
fn is_open(wanted: &Path, referrer: &str) -> bool {
    let parts: Vec<&str> = names(wanted);
    let own: Vec<&str> = names(Path::new(referrer));
    match (parts.as_slice(), own.as_slice()) {
        (["lib", ..], _) => true,
        (["features", module, _, ..], ["features", from, ..]) => module == from,
        _ => false,
    }
}

/// The names in a path; a path with anything else in it has none.
fn names(path: &Path) -> Vec<&str> {
    let name = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !path.components().all(name) {
        return Vec::new();
    }
    path.components().filter_map(|part| part.as_os_str().to_str()).collect()
}
