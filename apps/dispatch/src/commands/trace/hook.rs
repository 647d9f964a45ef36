//! `dispatch trace hook`: puts our lines into git's hook for commit messages, beside whatever is there.

use super::Place;
use crate::app::Status;
use crate::failure::Failure;
use crate::git_hook_file::DispatchLines;
use crate::git_hooks::{GitHook, HookScriptKind, InstalledGitHook};
use crate::printer::Printer;
use dispatch_os::environment;
use std::path::{Path, PathBuf};

/// The hook that sees the message that will be committed.
const NAME: &str = "commit-msg";
const PURPOSE: &str = "trace";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum HookCommand {
    /// Name the intents of each commit in its message; a hook that is there goes on running
    Install,
    /// Take it back
    Remove,
}

pub(super) fn run(place: &Place, command: &HookCommand, printer: &Printer) -> Result<Status, Failure> {
    let hook = GitHook::new(&own_hooks_folder(place)?, NAME, HookScriptKind::Program);
    let said = match command {
        HookCommand::Install => match hook.install(&lines()?)? {
            InstalledGitHook::New => "installed",
            InstalledGitHook::Beside => "installed before the hook that is there",
            InstalledGitHook::Again => "already installed",
        },
        HookCommand::Remove if hook.remove(PURPOSE)? => "removed",
        HookCommand::Remove => "not installed",
    };
    printer.out(&format!("{said}: {}", hook.path().display()));
    Ok(Status::Done)
}

fn lines() -> Result<DispatchLines, Failure> {
    let program = environment::current_program()?;
    Ok(DispatchLines {
        purpose: PURPOSE,
        command: "\"$dispatch_program\" trace trailers \"$1\" || true".to_owned(),
        program: program.to_str().unwrap_or("dispatch").to_owned(),
    })
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
