//! Puts lines of ours into the hooks of a repository and takes them out, beside whatever is there.

use crate::failure::Failure;
use crate::git_hook_file::{Found, Lines, Rest, alone, kept_name, with, without};
use dispatch_os::files::{read_at_most, replace_with};
use dispatch_os::{Access, OsError, ReplaceOptions};
use std::path::{Path, PathBuf};

const MAX_HOOK_BYTES: u64 = 64 * 1024 * 1024;
const EXECUTABLE: u32 = 0o755;

/// One hook of git as a file.
pub(crate) struct GitHook {
    folder: PathBuf,
    name: String,
    script: Script,
}

/// Whether a hook has to say that it is a shell script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Git runs it as a program.
    Program,
    /// Another program gives it to a shell.
    Sourced,
}

/// What installing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Installed {
    New,
    /// Beside a hook of somebody else's.
    Beside,
    Again,
}

impl GitHook {
    pub(crate) fn new(folder: &Path, name: &str, script: Script) -> Self {
        Self { folder: folder.to_owned(), name: name.to_owned(), script }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Puts the lines in. A hook that is there goes on running, and its answer counts.
    pub(crate) fn install(&self, lines: &Lines) -> Result<Installed, Failure> {
        let hook = self.path();
        let Some(content) = read_hook(&hook)? else {
            std::fs::create_dir_all(&self.folder).map_err(|source| io("create", &self.folder, source))?;
            self.write(&self.alone(lines))?;
            return Ok(Installed::New);
        };
        match self.found(&content, lines.purpose) {
            Found::Installed(text) => {
                let own = without(&text, lines.purpose, &self.name) == Rest::Nothing;
                self.write(&if own { self.alone(lines) } else { with(&text, lines) })?;
                Ok(Installed::Again)
            }
            Found::Shell(text) => {
                self.write(&with(&text, lines))?;
                Ok(Installed::Beside)
            }
            Found::Other => {
                let kept = self.kept();
                if kept.symlink_metadata().is_ok() {
                    return Err(Failure::configuration(format!("{} is in the way", kept.display()))
                        .hint("it is a hook that an earlier install kept; move it back or away"));
                }
                std::fs::rename(&hook, &kept).map_err(|source| io("move", &hook, source))?;
                self.write(&self.alone(lines))?;
                Ok(Installed::Beside)
            }
        }
    }

    /// Takes the lines out; says whether they were there.
    pub(crate) fn remove(&self, purpose: &str) -> Result<bool, Failure> {
        let hook = self.path();
        let found = read_hook(&hook)?.map(|content| Found::read(&content, purpose));
        let Some(Found::Installed(text)) = found else { return Ok(false) };
        match without(&text, purpose, &self.name) {
            Rest::Untouched => return Ok(false),
            Rest::Script(rest) => self.write(&rest)?,
            Rest::Nothing => {
                std::fs::remove_file(&hook).map_err(|source| io("remove", &hook, source))?;
                let kept = self.kept();
                if kept.symlink_metadata().is_ok() {
                    std::fs::rename(&kept, &hook).map_err(|source| io("move", &kept, source))?;
                }
            }
        }
        Ok(true)
    }

    /// Whether the lines are in it, exactly as they should be.
    pub(crate) fn has(&self, lines: &Lines) -> Result<bool, Failure> {
        let Some(content) = read_hook(&self.path())? else { return Ok(false) };
        Ok(match Found::read(&content, lines.purpose) {
            Found::Installed(text) => with(&text, lines) == text,
            _ => false,
        })
    }

    /// The hook as it is, for a look at who wrote it.
    pub(crate) fn text(&self) -> Result<String, Failure> {
        Ok(read_hook(&self.path())?.map(|content| String::from_utf8_lossy(&content).into_owned()).unwrap_or_default())
    }

    fn found(&self, content: &[u8], purpose: &str) -> Found {
        match (Found::read(content, purpose), self.script) {
            (Found::Other, Script::Sourced) => match String::from_utf8(content.to_vec()) {
                Ok(text) => Found::Shell(text),
                Err(_) => Found::Other,
            },
            (found, _) => found,
        }
    }

    fn alone(&self, lines: &Lines) -> String {
        match self.script {
            Script::Program => alone(lines, &self.name),
            Script::Sourced => with("", lines),
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
    match hook.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("look at", hook, error)),
        Ok(found) if found.is_file() => Ok(Some(read_at_most(hook, MAX_HOOK_BYTES)?)),
        Ok(_) => Ok(Some(Vec::new())),
    }
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Failure {
    OsError::Io { action, path: path.to_path_buf(), source }.into()
}
