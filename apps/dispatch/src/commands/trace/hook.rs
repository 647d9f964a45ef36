//! `dispatch trace hook`: puts our lines into git's hook for commit messages, beside whatever is there.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::git_hook_file::DispatchLines;
use crate::git_hooks::{GitHook, HookScriptKind, InstalledGitHook};
use crate::printer::Printer;
use dispatch_os::{environment, files};
use ext_intents::contract::{GitRepository, IntentsError};
use std::path::{Path, PathBuf};

/// The hook that sees the message that will be committed.
const NAME: &str = "commit-msg";
const PURPOSE: &str = "trace";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum HookCommand {
    /// Install the hook; an existing hook keeps running
    Install,
    /// Remove the hook
    Remove,
}

pub(super) fn run(workspace: &TraceWorkspace, command: &HookCommand, printer: &Printer) -> Result<Status, Failure> {
    let hook = GitHook::new(&own_hooks_folder(workspace)?, NAME, HookScriptKind::Program);
    let said = match command {
        HookCommand::Install => match hook.install(&lines()?)? {
            InstalledGitHook::New => "installed",
            InstalledGitHook::Beside => "installed before the existing hook",
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

/// The hooks folder of this repository; a folder that repositories share is refused.
fn own_hooks_folder(workspace: &TraceWorkspace) -> Result<PathBuf, Failure> {
    let root = workspace.intents.root();
    let git = GitRepository::find(root)
        .ok_or_else(|| Failure::from(IntentsError::NoRepository { root: root.to_path_buf() }))?;
    let folder = git.hooks_folder()?;
    let resolved = |path: &Path| files::canonicalize(path).unwrap_or_else(|_| dispatch_os::paths::normalise_path(path));
    let hooks = resolved(&folder);
    if git.own_folders()?.iter().any(|own| hooks.starts_with(resolved(own))) {
        return Ok(folder);
    }
    Err(Failure::usage(format!("this repository shares its hooks folder with others: {}", folder.display())).hint(
        "add `dispatch trace trailers \"$1\" || true` to the commit-msg hook there, or unset core.hooksPath here",
    ))
}
