//! Puts lines of ours into the hooks of a repository and takes them out, beside whatever is there.

use crate::failure::Failure;
use crate::git_hook_file::{DispatchLines, ExistingGitHook, RemainingScript, alone, kept_name, with, without};
use dispatch_os::files::{self, read_at_most, replace_with};
use dispatch_os::{Access, OsError, ReplaceOptions};
use std::path::{Path, PathBuf};

const MAX_HOOK_BYTES: u64 = 64 * 1024 * 1024;
const EXECUTABLE: u32 = 0o755;

/// One hook of git as a file.
pub(crate) struct GitHook {
    folder: PathBuf,
    name: String,
    script: HookScriptKind,
}

/// Whether a hook has to say that it is a shell script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookScriptKind {
    /// Git runs it as a program.
    Program,
    /// Another program gives it to a shell.
    Sourced,
}

/// What installing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstalledGitHook {
    New,
    /// Beside an existing hook.
    Beside,
    Again,
}

impl GitHook {
    pub(crate) fn new(folder: &Path, name: &str, script: HookScriptKind) -> Self {
        Self { folder: folder.to_owned(), name: name.to_owned(), script }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Puts the lines in. A hook that is there goes on running, and its answer counts.
    pub(crate) fn install(&self, lines: &DispatchLines) -> Result<InstalledGitHook, Failure> {
        let hook = self.path();
        let Some(content) = read_hook(&hook)? else {
            files::create_dir_all(&self.folder).map_err(|source| io("create", &self.folder, source))?;
            self.write(&self.alone(lines))?;
            return Ok(InstalledGitHook::New);
        };
        match self.found(&content, lines.purpose) {
            ExistingGitHook::Installed(text) => {
                let own = without(&text, lines.purpose, &self.name) == RemainingScript::Nothing;
                self.write(&if own { self.alone(lines) } else { with(&text, lines) })?;
                Ok(InstalledGitHook::Again)
            }
            ExistingGitHook::Shell(text) => {
                self.write(&with(&text, lines))?;
                Ok(InstalledGitHook::Beside)
            }
            ExistingGitHook::Other => {
                let kept = self.kept();
                if files::symlink_metadata(&kept).is_ok() {
                    return Err(Failure::configuration(format!("{} already exists", kept.display()))
                        .hint("it is a hook that an earlier install kept; move it back or away"));
                }
                files::rename(&hook, &kept).map_err(|source| io("move", &hook, source))?;
                self.write(&self.alone(lines))?;
                Ok(InstalledGitHook::Beside)
            }
        }
    }

    /// Takes the lines out; says whether they were there.
    pub(crate) fn remove(&self, purpose: &str) -> Result<bool, Failure> {
        let hook = self.path();
        let found = read_hook(&hook)?.map(|content| ExistingGitHook::read(&content, purpose));
        let Some(ExistingGitHook::Installed(text)) = found else { return Ok(false) };
        match without(&text, purpose, &self.name) {
            RemainingScript::Untouched => return Ok(false),
            RemainingScript::Script(rest) => self.write(&rest)?,
            RemainingScript::Nothing => {
                files::remove_file(&hook).map_err(|source| io("remove", &hook, source))?;
                let kept = self.kept();
                if files::symlink_metadata(&kept).is_ok() {
                    files::rename(&kept, &hook).map_err(|source| io("move", &kept, source))?;
                }
            }
        }
        Ok(true)
    }

    /// Whether the lines are in it, exactly as they should be.
    pub(crate) fn has(&self, lines: &DispatchLines) -> Result<bool, Failure> {
        let Some(content) = read_hook(&self.path())? else { return Ok(false) };
        Ok(match ExistingGitHook::read(&content, lines.purpose) {
            ExistingGitHook::Installed(text) => with(&text, lines) == text,
            _ => false,
        })
    }

    /// The hook as it is, for a look at who wrote it.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        Ok(read_hook(&self.path())?.map(|content| String::from_utf8_lossy(&content).into_owned()).unwrap_or_default())
    }

    fn found(&self, content: &[u8], purpose: &str) -> ExistingGitHook {
        match (ExistingGitHook::read(content, purpose), self.script) {
            (ExistingGitHook::Other, HookScriptKind::Sourced) => match String::from_utf8(content.to_vec()) {
                Ok(text) => ExistingGitHook::Shell(text),
                Err(_) => ExistingGitHook::Other,
            },
            (found, _) => found,
        }
    }

    fn alone(&self, lines: &DispatchLines) -> String {
        match self.script {
            HookScriptKind::Program => alone(lines, &self.name),
            HookScriptKind::Sourced => with("", lines),
        }
    }

    fn kept(&self) -> PathBuf {
        self.folder.join(kept_name(&self.name))
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        let options = ReplaceOptions { access: Access::Mode(EXECUTABLE), ..ReplaceOptions::default() };
        Ok(replace_with(&self.path(), text.as_bytes(), options)?)
    }
}

/// The hook that git would run; a link counts as what it is, so that its target is left alone.
fn read_hook(hook: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match files::symlink_metadata(hook) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("look at", hook, error)),
        Ok(found) if found.is_file() => Ok(Some(read_at_most(hook, MAX_HOOK_BYTES)?)),
        Ok(_) => Ok(Some(Vec::new())),
    }
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Failure {
    OsError::Io { action, path: path.to_path_buf(), source }.into()
}
