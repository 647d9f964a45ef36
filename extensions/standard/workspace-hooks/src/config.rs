//! The hooks of a workspace as they are written down: read, checked, and read again after an edit.

mod canonical;
mod change_probe;
mod fields;
pub(crate) mod file;
mod findings;
mod format;
mod hook;
mod json;
mod keys;
mod last_valid;
pub(crate) mod limits;
mod migrate;
mod runner;
mod secret_patterns;
#[cfg(test)]
mod tests;
mod trigger;

use crate::contract::{Hook, HookLimits, Problem};
use crate::file_names::{FOLDER, HOOKS_FILE, SHOWN};
use dispatch_os::files::{self, read_at_most};
use file::{ParseContext, ParsedHookFile};
use last_valid::LastValid;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use canonical::canonical_text;
pub(crate) use change_probe::ChangeProbe;
pub use format::schema;

/// Where a hook is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOrigin {
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
    pub origin: HookOrigin,
}

/// The hooks that are written down, whether they may run or not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenHooks {
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
}

/// Whether a look found anything new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refreshed {
    /// Nothing has changed.
    Same,
    /// Something has.
    Changed,
}

/// The files of hooks of one workspace.
#[derive(Debug)]
pub(crate) struct HookConfig {
    workspace: PathBuf,
    global: HookFile,
    local: HookFile,
    written: Arc<WrittenHooks>,
}

/// A file and the last valid thing it said.
#[derive(Debug)]
struct HookFile {
    path: PathBuf,
    shown: String,
    probe: ChangeProbe,
    /// What was read last, so that the same content is not checked again.
    read: Option<HookFileContent>,
    valid: ParsedHookFile,
    last_valid: LastValid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HookFileContent {
    Absent,
    Unreadable(String),
    Content(String),
}

impl HookConfig {
    /// The hooks of a workspace, beside those in `hooks.json` of the user's folder of settings. What was valid last is
    /// shared with other processes in the folder for state.
    pub(crate) fn new(workspace: &Path, config_folder: &Path, state_folder: &Path) -> Self {
        let global = config_folder.join(HOOKS_FILE);
        let shown = global.display().to_string();
        Self {
            global: HookFile::new(global, shown, state_folder),
            local: HookFile::new(workspace.join(FOLDER).join(HOOKS_FILE), SHOWN.to_owned(), state_folder),
            workspace: workspace.to_path_buf(),
            written: Arc::default(),
        }
    }

    /// The file of the workspace.
    pub(crate) fn workspace_file(&self) -> &Path {
        &self.local.path
    }

    /// What is written down, as of the last look.
    pub(crate) fn written(&self) -> &Arc<WrittenHooks> {
        &self.written
    }

    /// Looks whether the files have changed and reads them again if so. A file with something wrong in it leaves the
    /// hooks of its last valid state in place.
    pub(crate) fn refresh(&mut self) -> Refreshed {
        let probed = [self.global.probe.changed(&self.global.path), self.local.probe.changed(&self.local.path)];
        if probed == [Refreshed::Same; 2] {
            return Refreshed::Same;
        }
        let (global_read, global_bytes) = self.global.look();
        let (local_read, local_bytes) = self.local.look();
        if self.global.read.as_ref() == Some(&global_read) && self.local.read.as_ref() == Some(&local_read) {
            return Refreshed::Same;
        }
        let mut written = WrittenHooks::default();
        let nothing = BTreeSet::new();
        self.global.take(&self.workspace, global_read, &global_bytes, (&nothing, &[]), &mut written);
        let taken = self.global.valid.hooks.iter().map(|hook| hook.id.clone()).collect();
        let patterns = self.global.valid.secret_patterns.clone();
        self.local.take(&self.workspace, local_read, &local_bytes, (&taken, &patterns), &mut written);
        self.global.tell(HookOrigin::Global, &mut written);
        self.local.tell(HookOrigin::Workspace, &mut written);
        written.global_limits = self.global.valid.limits;
        written.workspace_limits = self.local.valid.limits;
        self.written = Arc::new(written);
        Refreshed::Changed
    }
}

impl HookFile {
    fn new(path: PathBuf, shown: String, state_folder: &Path) -> Self {
        let last_valid = LastValid::new(&path, state_folder);
        let (probe, valid) = (ChangeProbe::default(), ParsedHookFile::default());
        Self { path, shown, probe, read: None, valid, last_valid }
    }

    fn look(&self) -> (HookFileContent, Vec<u8>) {
        match files::metadata(&self.path) {
            // Only a plain file comes to an end in any case.
            Ok(found) if !found.is_file() => (HookFileContent::Unreadable("not a regular file".to_owned()), Vec::new()),
            _ => match read_at_most(&self.path, limits::MAX_FILE_BYTES) {
                Ok(bytes) => (HookFileContent::Content(dispatch_trust::fingerprint(&bytes)), bytes),
                Err(error) if error.is_not_found() => (HookFileContent::Absent, Vec::new()),
                Err(error) => (HookFileContent::Unreadable(error.to_string()), Vec::new()),
            },
        }
    }

    /// Judges what was read, and keeps it if it is valid.
    fn take(
        &mut self,
        workspace: &Path,
        read: HookFileContent,
        bytes: &[u8],
        (taken, secret_patterns): (&BTreeSet<String>, &[String]),
        written: &mut WrittenHooks,
    ) {
        match &read {
            HookFileContent::Absent => {
                self.valid = ParsedHookFile::default();
            }
            HookFileContent::Unreadable(why) => {
                written.files.push(self.shown.clone());
                written.problems.push(unreadable(&self.shown, why));
            }
            HookFileContent::Content(_) => {
                let around = ParseContext { workspace, folder: &real_folder, taken, secret_patterns };
                let contents = file::parse(&self.shown, bytes, &around);
                written.files.push(self.shown.clone());
                written.valid += contents.hooks.len();
                written.counted += contents.written;
                written.problems.extend(contents.problems.iter().cloned());
                if contents.problems.is_empty() {
                    self.valid = contents;
                    // Without it, only processes that saw this content know it while the file is invalid.
                    let _ = self.last_valid.keep(bytes, &self.valid.hooks);
                } else {
                    self.recall(&around);
                }
            }
        }
        self.read = Some(read);
    }

    /// Takes what any process found valid last; this one may have started after the edit that is invalid.
    fn recall(&mut self, around: &ParseContext<'_>) {
        let kept = self.last_valid.read().map(|bytes| file::parse(&self.shown, &bytes, around));
        if let Some(contents) = kept.filter(|contents| contents.problems.is_empty()) {
            self.valid = contents;
        }
    }

    fn tell(&self, origin: HookOrigin, written: &mut WrittenHooks) {
        let hooks = self.valid.hooks.iter().cloned();
        written.hooks.extend(hooks.map(|hook| WrittenHook { hook: Arc::new(hook), origin }));
    }
}

/// Where a folder really is.
pub(crate) fn real_folder(path: &Path) -> Option<PathBuf> {
    files::canonicalize(path).ok().filter(|folder| files::is_dir(folder))
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
