//! Where registrations are written: a project or the user's home, and how its files are reached.

use super::host_detection::HostSurroundings;
use super::program;
use super::restore::RestoreRecord;
use crate::app::Status;
use crate::failure::Failure;
use crate::settings::Loaded;
use dispatch_hook_dialects::register::{CommandLine, Scope, System};
use dispatch_hook_module::{HOOKS_FOLDER, USER_HOOKS_FOLDER};
use dispatch_os::environment;
use dispatch_os::files::{self, Access, Durability, ReplaceOptions, read_text_at_most};
use dispatch_os::paths::resolve_inside;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The largest file that is edited.
const FILE_LIMIT_BYTES: u64 = 16 * 1024 * 1024;
/// Copies of all edited files are in one.
const RESTORE_LIMIT_BYTES: u64 = 128 * 1024 * 1024;
const RESTORE_NAME: &str = "restore.json";

/// A root with files that hosts read.
pub(crate) struct RegistrationRoot {
    pub(crate) root: PathBuf,
    pub(crate) scope: Scope,
    /// The command line that is registered with hosts.
    pub(crate) command: CommandLine,
    /// Where the user's own rules are, relative to the root; nothing in a project, or where they are not below the home.
    pub(crate) user_hooks: Option<String>,
    restore_file: PathBuf,
    home: Option<PathBuf>,
}

impl RegistrationRoot {
    /// The project that the command runs in.
    pub(crate) fn project(loaded: &Loaded) -> Result<Self, Failure> {
        let root = loaded.project.as_ref().map(|found| found.path.clone()).ok_or_else(|| {
            Failure::usage("not inside a project")
                .hint("run this inside a git repository, or create one with `git init`")
                .hint("`--user` registers for all your projects instead")
        })?;
        let restore_file = root.join(HOOKS_FOLDER).join(RESTORE_NAME);
        let command = CommandLine::on_path(program::HOOK_PROGRAM, System::current());
        Ok(Self { root, scope: Scope::Project, command, user_hooks: None, restore_file, home: home() })
    }

    /// The user's home.
    pub(crate) fn user(loaded: &Loaded) -> Result<Self, Failure> {
        let root = home().ok_or_else(|| Failure::usage("your home folder is unknown").hint("set HOME"))?;
        let restore_file = loaded.dirs.data.join(RESTORE_NAME);
        let hooks = loaded.dirs.config.join(USER_HOOKS_FOLDER);
        let user_hooks = hooks.strip_prefix(&root).ok().map(|below| below.to_string_lossy().replace('\\', "/"));
        let home = Some(root.clone());
        Ok(Self { home, root, scope: Scope::User, command: command()?, user_hooks, restore_file })
    }

    /// A file as text; nothing if it is not there.
    pub(crate) fn read(&self, path: &str) -> Result<Option<String>, String> {
        let told = |error: &dyn std::fmt::Display| format!("{path}: {error}");
        match read_text_at_most(&self.real(path)?, FILE_LIMIT_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(told(&error)),
        }
    }

    /// Where a file really is. In a project, a link must not lead out of it: a clone decides what
    /// links it has, and must not decide which of the user's other files are edited.
    pub(crate) fn real(&self, path: &str) -> Result<PathBuf, String> {
        let found = resolve_inside(&self.root, Path::new(path)).map_err(|error| format!("{path}: {error}"))?;
        if self.scope == Scope::Project && !found.is_inside() {
            return Err(format!("{path}: a link leads out of the project, to {}", found.path.display()));
        }
        Ok(found.path)
    }

    /// Replaces or makes a file whose folder exists.
    pub(crate) fn write(&self, path: &str, text: &str, access: Access) -> Result<(), Failure> {
        let real = self.real(path).map_err(Failure::configuration)?;
        let options = ReplaceOptions { durability: Durability::Content, access, ..ReplaceOptions::default() };
        Ok(files::replace_with(&real, text.as_bytes(), options)?)
    }

    /// Removes a file; one that is not there is fine.
    pub(crate) fn remove(&self, path: &str) -> Result<(), Failure> {
        let real = self.real(path).map_err(Failure::configuration)?;
        match files::remove_file(&real) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Failure::internal(format!("cannot remove {}", real.display())).caused_by(&error))
            }
            _ => Ok(()),
        }
    }

    /// The folders above a file that are not there yet, outermost first.
    pub(crate) fn missing_folders(&self, path: &str) -> Vec<String> {
        let parts: Vec<&str> = path.split('/').collect();
        let above = (1..parts.len()).map(|count| parts[..count].join("/"));
        above.filter(|folder| !files::exists(self.root.join(folder))).collect()
    }

    pub(crate) fn restore(&self) -> Result<RestoreRecord, Failure> {
        let text = match read_text_at_most(&self.restore_file, RESTORE_LIMIT_BYTES) {
            Ok(text) => text,
            Err(error) if error.is_not_found() => return Ok(RestoreRecord::default()),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_str(&text).map_err(|error| {
            Failure::configuration(format!("cannot read {}", self.restore_file.display()))
                .caused_by(&error)
                .hint("delete it; `dispatch init --undo` then removes the registrations and nothing else")
        })
    }

    /// Keeps what is needed to undo, for the owner alone: it holds copies of the user's files.
    pub(crate) fn keep_restore(&self, restore: &RestoreRecord) -> Result<(), Failure> {
        if restore.is_empty() {
            // What cannot be removed is read as "nothing to undo" next time, because it is empty then.
            let _ = files::remove_file(&self.restore_file);
            return Ok(());
        }
        if let Some(folder) = self.restore_file.parent() {
            make_folder(folder)?;
        }
        let text = serde_json::to_vec_pretty(restore).map_err(|error| Failure::of(Status::Internal, &error))?;
        let options =
            ReplaceOptions { durability: Durability::Content, access: Access::OwnerOnly, ..ReplaceOptions::default() };
        Ok(files::replace_with(&self.restore_file, &text, options)?)
    }
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    files::create_dir_all(folder).map_err(|error| {
        Failure::internal(format!("cannot create the folder {}", folder.display()))
            .caused_by(&error)
            .hint("check who owns it, and that no file is in its place")
    })
}

impl HostSurroundings for RegistrationRoot {
    fn in_project(&self, path: &str) -> bool {
        self.scope == Scope::Project && files::exists(self.root.join(path))
    }

    fn in_home(&self, path: &str) -> bool {
        self.home.as_ref().is_some_and(|home| files::exists(home.join(path)))
    }

    fn on_path(&self, program: &str) -> bool {
        let Some(path) = environment::variable_os("PATH") else { return false };
        let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
        let is_there =
            |folder: PathBuf| endings.iter().any(|ending| files::is_file(folder.join(format!("{program}{ending}"))));
        environment::split_paths(&path).any(is_there)
    }
}

fn command() -> Result<CommandLine, Failure> {
    let own = environment::current_program()?;
    Ok(CommandLine::new(program::words(&own, |path| files::is_file(path)), System::current()))
}

fn home() -> Option<PathBuf> {
    environment::variable_path(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
}
