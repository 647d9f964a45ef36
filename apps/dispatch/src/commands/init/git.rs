//! `dispatch init --git`: lets git start the workspace's hooks, beside the hooks of git that are there.

mod record;
mod shim;

use super::report::{Action, ReportLine};
use crate::failure::Failure;
use crate::git_hooks::{GitHook, InstalledGitHook};
use crate::settings::Loaded;
use dispatch_os::files::{self, read_text_at_most};
use ext_intents::contract::GitRepository;
use ext_workspace_hooks::contract::{GIT_HOOKS, POST_COMMIT, workspace_of};
use record::{GitHookEntry, GitHookRecord};
use serde_json::Value;
use shim::{GitAnswer, GitHooksFolder, PURPOSE};
use std::path::{Path, PathBuf};

const MAX_HOOKS_BYTES: u64 = 4 * 1024 * 1024;
/// The trigger of a hook of git, before the name of the hook.
const TRIGGER_PREFIX: &str = "git:";

/// The hooks of git that belong to a workspace.
pub(super) struct GitPart {
    workspace: PathBuf,
    hooks_of_user: PathBuf,
    git: GitRepository,
    record_file: PathBuf,
}

impl GitPart {
    /// The repository that the command is run in.
    pub(super) fn of(loaded: &Loaded) -> Result<Self, Failure> {
        Self::find(loaded)?.ok_or_else(|| {
            Failure::usage(format!("not inside a git repository: {}", loaded.start.display()))
                .hint("run this in a git repository, with git installed")
        })
    }

    /// The same where it does not matter if there is none.
    pub(super) fn find(loaded: &Loaded) -> Result<Option<Self>, Failure> {
        let workspace = workspace_of(&loaded.start);
        let Some(git) = GitRepository::find(&workspace) else { return Ok(None) };
        let folders = git.own_folders()?;
        let Some(common) = folders.last() else { return Ok(None) };
        let record_file = record::file_in(common);
        Ok(Some(Self { workspace, hooks_of_user: loaded.dirs.config.join("hooks.json"), git, record_file }))
    }

    /// Whether anything was installed here.
    pub(super) fn is_installed(&self) -> Result<bool, Failure> {
        Ok(!GitHookRecord::read(&self.record_file)?.hooks.is_empty())
    }

    /// Installs or updates what the hooks of the workspace need, and removes what they no longer need.
    pub(super) fn install(&self) -> Result<Vec<ReportLine>, Failure> {
        let home = GitHooksFolder::of(&self.git, &self.workspace)?;
        let wanted = self.wanted();
        let mut record = GitHookRecord::read(&self.record_file)?;
        let mut lines = Vec::new();
        for entry in std::mem::take(&mut record.hooks) {
            if entry.folder != home.folder || !wanted.iter().any(|name| *name == entry.name) {
                lines.extend(removed(&entry)?);
            }
        }
        // First of all, so that a run that is killed midway can be undone.
        record.hooks = wanted.iter().map(|name| home.entry(name)).collect();
        record.write(&self.record_file)?;
        for name in wanted {
            let hook = home.hook(name);
            let action = match hook.install(&home.lines(name, self.answer(name)))? {
                InstalledGitHook::New => Action::Wrote,
                InstalledGitHook::Beside | InstalledGitHook::Again => Action::Updated,
            };
            let detail = shim::rewriter(&hook.text()?).map_or_else(
                || format!("git's hook {name}"),
                |program| format!("git's hook {name}; {program} may rewrite it, then run this again"),
            );
            lines.push(ReportLine::new(action, shown(&hook), detail));
        }
        Ok(lines)
    }

    /// What is not as it should be.
    pub(super) fn differences(&self) -> Result<Vec<ReportLine>, Failure> {
        let home = GitHooksFolder::of(&self.git, &self.workspace)?;
        let mut lines = Vec::new();
        for name in self.wanted() {
            let hook = home.hook(name);
            if hook.has(&home.lines(name, self.answer(name)))? {
                continue;
            }
            let why = match shim::rewriter(&hook.text()?) {
                Some(program) => format!(
                    "{program} has rewritten it, and git does not call Dispatch there; `dispatch init --git` fixes it, \
                     or let {program} run `dispatch git-event {name}`"
                ),
                None => "git does not call Dispatch there; `dispatch init --git` fixes it".to_owned(),
            };
            let action = if files::exists(hook.path()) { Action::Differs } else { Action::Missing };
            lines.push(ReportLine::new(action, shown(&hook), why));
        }
        Ok(lines)
    }

    /// Takes everything back.
    pub(super) fn undo(&self) -> Result<Vec<ReportLine>, Failure> {
        let record = GitHookRecord::read(&self.record_file)?;
        let mut lines = Vec::new();
        for entry in &record.hooks {
            lines.extend(removed(entry)?);
        }
        GitHookRecord::default().write(&self.record_file)?;
        Ok(lines)
    }

    /// The hooks of git that the configuration uses; the one for commits always, so that a new hook needs nothing.
    fn wanted(&self) -> Vec<&'static str> {
        let used: Vec<&'static str> = self.entries().iter().filter_map(git_hook_of).collect();
        [POST_COMMIT].into_iter().chain(GIT_HOOKS.into_iter().filter(|name| used.contains(name))).collect()
    }

    /// Whether git has to wait for what the workspace's hooks say.
    fn answer(&self, name: &str) -> GitAnswer {
        let blocks = |hook: &Value| hook.get("blocking") == Some(&Value::Bool(true)) && git_hook_of(hook) == Some(name);
        if self.entries().iter().any(blocks) { GitAnswer::MayRefuse } else { GitAnswer::None }
    }

    /// The hooks that are on, as they are written down. What is wrong with them is said where they are checked.
    fn entries(&self) -> Vec<Value> {
        let own = self.workspace.join(".akira").join("hooks.json");
        let texts = [own, self.hooks_of_user.clone()].map(|file| read_text_at_most(&file, MAX_HOOKS_BYTES));
        texts.iter().flatten().flat_map(|text| entries_in(text)).collect()
    }
}

fn removed(entry: &GitHookEntry) -> Result<Option<ReportLine>, Failure> {
    let hook = GitHook::new(&entry.folder, &entry.name, entry.script.into());
    let was_there = hook.remove(PURPOSE)?;
    let action = if files::exists(hook.path()) { Action::Cleaned } else { Action::Removed };
    Ok(was_there.then(|| ReportLine::new(action, shown(&hook), format!("git's hook {}", entry.name))))
}

fn shown(hook: &GitHook) -> String {
    hook.path().display().to_string()
}

/// The hooks of a file that are on.
fn entries_in(text: &str) -> Vec<Value> {
    let file = serde_json::from_str::<Value>(text).unwrap_or_default();
    let hooks = file.get("hooks").and_then(Value::as_array).into_iter().flatten();
    hooks.filter(|hook| hook.get("enabled") != Some(&Value::Bool(false))).cloned().collect()
}

/// The hook of git that starts an entry, if one does.
fn git_hook_of(hook: &Value) -> Option<&'static str> {
    let name = hook.get("trigger")?.as_str()?.strip_prefix(TRIGGER_PREFIX)?;
    GIT_HOOKS.into_iter().find(|known| *known == name)
}

/// What the whole comes to.
pub(super) fn closing(workspace: &Path) -> String {
    format!("git starts the hooks of {} now; `dispatch init --undo --git` restores the files.", workspace.display())
}

impl GitPart {
    pub(super) fn workspace(&self) -> &Path {
        &self.workspace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hooks_of_git_that_are_on_are_used() {
        let text = r#"{"hooks": [
            {"id": "a", "trigger": "git:pre-push"},
            {"id": "b", "trigger": "git:pre-commit", "enabled": false},
            {"id": "c", "trigger": "gitCommit"},
            {"id": "d", "trigger": "git:nonsense"},
            {"id": "e", "trigger": 7}, 8
        ]}"#;
        let used = |text: &str| entries_in(text).iter().filter_map(git_hook_of).collect::<Vec<_>>();
        assert_eq!(used(text), ["pre-push"]);
        assert_eq!(used("{"), [""; 0]);
        assert_eq!(used("[]"), [""; 0]);
    }
}
