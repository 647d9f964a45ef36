//! What a script module may import: approved files of its own folder and of `lib`.

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use dispatch_os::files::read_at_most;
use dispatch_os::paths::{normalise_path, resolve_inside};
use dispatch_script::{ModuleSource, Source};
use dispatch_trust::Trust;

pub(super) const SOURCE_LIMIT_BYTES: u64 = 1024 * 1024;

/// Files below `.ai/hooks`, named relative to it.
pub(super) struct ApprovedFiles {
    hooks_root: PathBuf,
    trust: Rc<Trust>,
}

impl ApprovedFiles {
    pub(super) fn new(hooks_root: PathBuf, trust: Rc<Trust>) -> Self {
        Self { hooks_root, trust }
    }
}

impl ModuleSource for ApprovedFiles {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let folder = Path::new(referrer).parent().unwrap_or(Path::new(""));
        let wanted = normalise_path(&folder.join(specifier));
        if !is_open(&wanted, referrer) {
            return Err("only files of the module's own folder and of `lib` can be imported".to_owned());
        }
        let found = resolve_inside(&self.hooks_root, &wanted).map_err(|error| error.to_string())?;
        if !found.is_inside() {
            return Err("the file leads out of the folder of hooks".to_owned());
        }
        let bytes = read_at_most(&found.path, SOURCE_LIMIT_BYTES).map_err(|error| error.to_string())?;
        if !self.trust.is_approved(&bytes) {
            return Err("the file is not approved; look at it, then run `dispatch trust`".to_owned());
        }
        Source::from_bytes(wanted.to_string_lossy(), bytes).map_err(|error| error.to_string())
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
