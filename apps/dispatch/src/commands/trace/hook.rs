//! `dispatch trace hook`: puts our lines into git's hook for commit messages, beside whatever is there.

use super::Place;
use super::hook_file::{self, Found, KEPT_NAME, NAME};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::files::{read_at_most, replace_with};
use dispatch_os::{Access, OsError, ReplaceOptions, env};
use std::path::{Path, PathBuf};

const MAX_HOOK_BYTES: u64 = 64 * 1024 * 1024;
const EXECUTABLE: u32 = 0o755;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum HookCommand {
    /// Name the intents of each commit in its message; a hook that is there goes on running
    Install,
    /// Take it back
    Remove,
}

pub(super) fn run(place: &Place, command: &HookCommand, printer: &Printer) -> Result<Status, Failure> {
    let folder = own_hooks_folder(place)?;
    let hook = folder.join(NAME);
    let said = match command {
        HookCommand::Install => install(&folder, &hook)?,
        HookCommand::Remove => remove(&folder, &hook)?,
    };
    printer.out(&format!("{said}: {}", hook.display()));
    Ok(Status::Done)
}

/// The hooks of this repository; those that a user shares between repositories are not ours to change.
fn own_hooks_folder(place: &Place) -> Result<PathBuf, Failure> {
    let git = place.required_git()?;
    let folder = git.hooks_folder()?;
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| dispatch_os::paths::normalise_path(path));
    let hooks = resolved(&folder);
    if git.own_folders()?.iter().any(|own| hooks.starts_with(resolved(own))) {
        return Ok(folder);
    }
    Err(Failure::usage(format!("the hooks of this repository are shared with others: {}", folder.display())).hint(
        "add `dispatch trace trailers \"$1\" || true` to the commit-msg hook there, or unset core.hooksPath here",
    ))
}

fn install(folder: &Path, hook: &Path) -> Result<&'static str, Failure> {
    let program = env::current_exe()?;
    let program = program.to_str().unwrap_or("dispatch");
    let Some(content) = read_hook(hook)? else {
        std::fs::create_dir_all(folder).map_err(|source| io("create", folder, source))?;
        write(hook, &hook_file::alone(program))?;
        return Ok("installed");
    };
    match Found::read(&content) {
        Found::Installed(text) => {
            let own = hook_file::without(&text).is_none();
            let fresh = if own { hook_file::alone(program) } else { hook_file::with(&text, program) };
            write(hook, &fresh)?;
            Ok("already installed")
        }
        Found::Shell(text) => {
            write(hook, &hook_file::with(&text, program))?;
            Ok("installed before the hook that is there")
        }
        Found::Other => {
            let kept = folder.join(KEPT_NAME);
            if kept.symlink_metadata().is_ok() {
                return Err(Failure::configuration(format!("{} is in the way", kept.display()))
                    .hint("it is a hook that an earlier install kept; move it back or away"));
            }
            std::fs::rename(hook, &kept).map_err(|source| io("move", hook, source))?;
            write(hook, &hook_file::alone(program))?;
            Ok("installed before the hook that is there")
        }
    }
}

fn remove(folder: &Path, hook: &Path) -> Result<&'static str, Failure> {
    let found = read_hook(hook)?.map(|content| Found::read(&content));
    let Some(Found::Installed(text)) = found else {
        return Ok("not installed");
    };
    match hook_file::without(&text) {
        Some(rest) => write(hook, &rest)?,
        None => {
            std::fs::remove_file(hook).map_err(|source| io("remove", hook, source))?;
            let kept = folder.join(KEPT_NAME);
            if kept.symlink_metadata().is_ok() {
                std::fs::rename(&kept, hook).map_err(|source| io("move", &kept, source))?;
            }
        }
    }
    Ok("removed")
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

fn write(hook: &Path, text: &str) -> Result<(), Failure> {
    let options = ReplaceOptions { access: Access::Mode(EXECUTABLE), ..ReplaceOptions::default() };
    Ok(replace_with(hook, text.as_bytes(), options)?)
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Failure {
    OsError::Io { action, path: path.to_path_buf(), source }.into()
}
