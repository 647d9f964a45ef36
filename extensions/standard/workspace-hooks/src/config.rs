//! The hooks of a workspace as they are written down: read, judged, and read again when somebody edits them.

mod canonical;
mod fields;
pub(crate) mod file;
mod findings;
mod glance;
mod hook;
mod json;
pub(crate) mod limits;
mod migrate;
mod regexes;
mod runner;
mod schema;
#[cfg(test)]
mod tests;
mod trigger;

use crate::contract::{Hook, HookLimits, Problem};
use crate::root::{FOLDER, HOOKS_FILE};
use dispatch_os::files::read_at_most;
use file::{Contents, Surroundings};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use glance::Glance;
pub use schema::schema;

/// How problems call the file of the workspace.
pub const SHOWN: &str = ".akira/hooks.json";

/// Where a hook is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the user's own file, for all workspaces.
    Global,
    /// In the file of the workspace, which may have come with it.
    Workspace,
}

/// A hook and where it is written down.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenHook {
    /// The hook.
    pub hook: Arc<Hook>,
    /// Where it is written down.
    pub origin: Origin,
}

/// The hooks that are written down, whether they may run or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Those of the last valid files, the global one first.
    pub hooks: Vec<WrittenHook>,
    /// What is wrong with the files as they are now.
    pub problems: Vec<Problem>,
    /// How many hooks of the files as they are now keep every rule.
    pub valid: usize,
    /// How many hooks the files as they are now hold.
    pub counted: usize,
    /// The files that exist.
    pub files: Vec<String>,
    /// Limits of the user's own file.
    pub(crate) global_limits: Option<HookLimits>,
    /// Limits of the file of the workspace.
    pub(crate) workspace_limits: Option<HookLimits>,
    /// SHA-256 of the last valid file of the workspace.
    pub(crate) workspace_content: Option<String>,
}

/// Whether a look found anything new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// Nothing has changed.
    Same,
    /// Something has.
    Changed,
}

/// The files of hooks of one workspace.
#[derive(Debug)]
pub struct Config {
    workspace: PathBuf,
    global: Kept,
    local: Kept,
    written: Arc<Written>,
}

/// A file and the last valid thing it said.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    shown: String,
    glance: Glance,
    /// What was read last, so that the same thing again is not judged anew.
    read: Option<Read>,
    valid: Contents,
    valid_content: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Read {
    Absent,
    Unreadable(String),
    Content(String),
}

impl Config {
    /// The hooks of a workspace, beside those in `hooks.json` of the user's folder of settings.
    pub fn new(workspace: &Path, config_folder: &Path) -> Self {
        let global = config_folder.join(HOOKS_FILE);
        Self {
            global: Kept::new(global.clone(), global.display().to_string()),
            local: Kept::new(workspace.join(FOLDER).join(HOOKS_FILE), SHOWN.to_owned()),
            workspace: workspace.to_path_buf(),
            written: Arc::default(),
        }
    }

    /// The file of the workspace.
    pub fn workspace_file(&self) -> &Path {
        &self.local.path
    }

    /// What is written down, as of the last look.
    pub fn written(&self) -> &Arc<Written> {
        &self.written
    }

    /// Looks whether the files have changed and reads them anew if so. A file with something wrong in it leaves the
    /// hooks of its last valid state in place.
    pub fn refresh(&mut self) -> Refreshed {
        let glanced = [self.global.glance.changed(&self.global.path), self.local.glance.changed(&self.local.path)];
        if glanced == [Refreshed::Same; 2] {
            return Refreshed::Same;
        }
        let (global_read, global_bytes) = self.global.look();
        let (local_read, local_bytes) = self.local.look();
        if self.global.read.as_ref() == Some(&global_read) && self.local.read.as_ref() == Some(&local_read) {
            return Refreshed::Same;
        }
        let mut written = Written::default();
        let nothing = BTreeSet::new();
        self.global.take(&self.workspace, global_read, &global_bytes, (&nothing, &[]), &mut written);
        let taken = self.global.valid.hooks.iter().map(|hook| hook.id.clone()).collect();
        let patterns = self.global.valid.secret_patterns.clone();
        self.local.take(&self.workspace, local_read, &local_bytes, (&taken, &patterns), &mut written);
        self.global.tell(Origin::Global, &mut written);
        self.local.tell(Origin::Workspace, &mut written);
        written.global_limits = self.global.valid.limits;
        written.workspace_limits = self.local.valid.limits;
        written.workspace_content.clone_from(&self.local.valid_content);
        self.written = Arc::new(written);
        Refreshed::Changed
    }
}

impl Kept {
    fn new(path: PathBuf, shown: String) -> Self {
        Self { path, shown, glance: Glance::default(), read: None, valid: Contents::default(), valid_content: None }
    }

    fn look(&self) -> (Read, Vec<u8>) {
        match self.path.metadata() {
            // Only a plain file comes to an end in any case.
            Ok(found) if !found.is_file() => (Read::Unreadable("this is no file".to_owned()), Vec::new()),
            _ => match read_at_most(&self.path, limits::MAX_FILE_BYTES) {
                Ok(bytes) => (Read::Content(dispatch_trust::fingerprint(&bytes)), bytes),
                Err(error) if error.is_not_found() => (Read::Absent, Vec::new()),
                Err(error) => (Read::Unreadable(error.to_string()), Vec::new()),
            },
        }
    }

    /// Judges what was read, and keeps it if it is valid.
    fn take(
        &mut self,
        workspace: &Path,
        read: Read,
        bytes: &[u8],
        (taken, secret_patterns): (&BTreeSet<String>, &[String]),
        written: &mut Written,
    ) {
        match &read {
            Read::Absent => {
                self.valid = Contents::default();
                self.valid_content = None;
            }
            Read::Unreadable(why) => {
                written.files.push(self.shown.clone());
                written.problems.push(unreadable(&self.shown, why));
            }
            Read::Content(hash) => {
                let around = Surroundings { workspace, folder: &real_folder, taken, secret_patterns };
                let contents = file::parse(&self.shown, bytes, &around);
                written.files.push(self.shown.clone());
                written.valid += contents.hooks.len();
                written.counted += contents.written;
                written.problems.extend(contents.problems.iter().cloned());
                if contents.problems.is_empty() {
                    self.valid = contents;
                    self.valid_content = Some(hash.clone());
                }
            }
        }
        self.read = Some(read);
    }

    fn tell(&self, origin: Origin, written: &mut Written) {
        let hooks = self.valid.hooks.iter().cloned();
        written.hooks.extend(hooks.map(|hook| WrittenHook { hook: Arc::new(hook), origin }));
    }
}

/// Where a folder really is.
pub(crate) fn real_folder(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|folder| folder.is_dir())
}

fn unreadable(file: &str, why: &str) -> Problem {
    Problem {
        file: file.to_owned(),
        line: 1,
        column: 1,
        pointer: String::new(),
        rule: "unreadable".to_owned(),
        message: why.to_owned(),
        hint: Some("make it a file that you can read, of at most 4 MiB".to_owned()),
    }
}
