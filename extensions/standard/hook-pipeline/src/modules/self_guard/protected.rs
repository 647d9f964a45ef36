//! The list of what is protected, and whether a path is on it.
//!
//! Pure.

use std::borrow::Cow;

use dispatch_hook_module::{Context, HOOKS_FOLDER};
use dispatch_toolcall::Access;
use memchr::memmem;

use super::pattern::{may_match, parts};

/// Our own files in the workspace. A folder stands for everything in it.
const IN_WORKSPACE: [&str; 4] = [HOOKS_FOLDER, ".orchestration", ".akira/hooks.json", ".dispatch"];
/// Our own files in the user's home.
const IN_HOME: [&str; 4] =
    [".config/dispatch", ".local/share/dispatch", ".cache/dispatch", "Library/Application Support/dispatch"];
/// The programs, wherever they are installed.
const PROGRAMS: [&str; 4] = ["dispatch", "dispatch-hook", "dispatch.exe", "dispatch-hook.exe"];
/// Where modules let agents put files: `.ai/tmp/<session>/<module>/output`.
const OUTPUT: &str = "output";

/// What a text must hold to name the file of exceptions.
const EXCEPTIONS_MARK: &str = ".ai/tmp/exceptions";
/// What our registration in a host's file holds in every form.
const REGISTRATION_MARK: &[u8] = b"dispatch";
const REGISTRATION_LIMIT_BYTES: u64 = 1024 * 1024;

/// The files in the workspace that register Dispatch with hosts.
const REGISTERED_IN_WORKSPACE: [&str; 28] = [
    ".agents/plugins/dispatch/hooks/hooks.json",
    ".agents/plugins/dispatch/plugin.json",
    ".claude/settings.json",
    ".clinerules/hooks/PostToolUse",
    ".clinerules/hooks/PostToolUse.ps1",
    ".clinerules/hooks/PreCompact",
    ".clinerules/hooks/PreCompact.ps1",
    ".clinerules/hooks/PreToolUse",
    ".clinerules/hooks/PreToolUse.ps1",
    ".clinerules/hooks/TaskComplete",
    ".clinerules/hooks/TaskComplete.ps1",
    ".clinerules/hooks/TaskResume",
    ".clinerules/hooks/TaskResume.ps1",
    ".clinerules/hooks/TaskStart",
    ".clinerules/hooks/TaskStart.ps1",
    ".clinerules/hooks/UserPromptSubmit",
    ".clinerules/hooks/UserPromptSubmit.ps1",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".devin/hooks.v1.json",
    ".factory/hooks.json",
    ".gemini/settings.json",
    ".github/hooks.json",
    ".github/hooks/dispatch.json",
    ".kiro/hooks/dispatch.json",
    ".opencode/plugins/dispatch.js",
    ".windsurf/hooks.json",
    "crush.json",
];
/// The files in the user's home that register Dispatch with hosts.
const REGISTERED_IN_HOME: [&str; 28] = [
    ".agents/plugins/dispatch/hooks/hooks.json",
    ".agents/plugins/dispatch/plugin.json",
    ".claude/settings.json",
    ".codeium/windsurf/hooks.json",
    ".codex/hooks.json",
    ".config/crush/crush.json",
    ".config/devin/config.json",
    ".config/opencode/plugins/dispatch.js",
    ".copilot/hooks/dispatch.json",
    ".cursor/hooks.json",
    ".factory/hooks.json",
    ".gemini/settings.json",
    ".kiro/hooks/dispatch.json",
    "AppData/Roaming/devin/config.json",
    "Documents/Cline/Hooks/PostToolUse",
    "Documents/Cline/Hooks/PostToolUse.ps1",
    "Documents/Cline/Hooks/PreCompact",
    "Documents/Cline/Hooks/PreCompact.ps1",
    "Documents/Cline/Hooks/PreToolUse",
    "Documents/Cline/Hooks/PreToolUse.ps1",
    "Documents/Cline/Hooks/TaskComplete",
    "Documents/Cline/Hooks/TaskComplete.ps1",
    "Documents/Cline/Hooks/TaskResume",
    "Documents/Cline/Hooks/TaskResume.ps1",
    "Documents/Cline/Hooks/TaskStart",
    "Documents/Cline/Hooks/TaskStart.ps1",
    "Documents/Cline/Hooks/UserPromptSubmit",
    "Documents/Cline/Hooks/UserPromptSubmit.ps1",
];

/// Everything that is protected.
pub(super) struct ProtectedPaths<'a> {
    root: Cow<'a, str>,
    work_root: Cow<'a, str>,
    more: &'a [String],
    ctx: &'a Context<'a>,
}

/// One protected path.
#[derive(Clone, Copy)]
struct ProtectedPath<'a> {
    root: &'a str,
    path: &'a str,
    kind: ProtectionKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProtectionKind {
    Always,
    /// A host's file in the workspace, ours only once we are registered in it.
    IfRegistered,
}

impl<'a> ProtectedPaths<'a> {
    pub(super) fn new(ctx: &'a Context<'a>, more: &'a [String]) -> Self {
        let root = ctx.paths.repo_root.to_string_lossy();
        Self { root, work_root: ctx.paths.work_root.to_string_lossy(), more, ctx }
    }

    /// Whether this access to this path, which may be a pattern, touches something protected.
    pub(super) fn is_hit(&self, path: &str, access: Access) -> bool {
        let path = parts(path);
        self.is_hit_in_work_folder(&path, access)
            || is_program(&path)
            || self.entries().any(|entry| touches(&path, &entry.parts(), access) && self.is_ours(entry))
    }

    /// The first protected path that a text names.
    pub(super) fn mentioned_in(&self, text: &str) -> Option<String> {
        let text = text.replace('\\', "/").to_ascii_lowercase();
        let names = |entry: &ProtectedPath<'_>| text.contains(&entry.path.trim_matches('/').to_ascii_lowercase());
        let named = self.entries().find(|entry| names(entry) && self.is_ours(*entry));
        let mark = named.map(|entry| entry.path);
        mark.or_else(|| text.contains(EXCEPTIONS_MARK).then_some(EXCEPTIONS_MARK)).map(str::to_owned)
    }

    fn entries(&self) -> impl Iterator<Item = ProtectedPath<'_>> {
        let root = &*self.root;
        let in_workspace = IN_WORKSPACE.iter().map(move |path| (root, *path, ProtectionKind::Always));
        let registered = REGISTERED_IN_WORKSPACE.iter().map(move |path| (root, *path, ProtectionKind::IfRegistered));
        let in_home = self.ctx.home.into_iter().flat_map(|home| {
            IN_HOME.iter().chain(&REGISTERED_IN_HOME).map(move |path| (home, *path, ProtectionKind::Always))
        });
        let more = self.more.iter().map(move |path| {
            let root = if path.starts_with('/') { "" } else { root };
            (root, path.as_str(), ProtectionKind::Always)
        });
        let all = in_workspace.chain(registered).chain(in_home).chain(more);
        all.map(|(root, path, kind)| ProtectedPath { root, path, kind })
    }

    fn is_ours(&self, entry: ProtectedPath<'_>) -> bool {
        if entry.kind == ProtectionKind::Always {
            return true;
        }
        let path = self.ctx.paths.repo_root.join(entry.path);
        let content = self.ctx.session.read(&path, REGISTRATION_LIMIT_BYTES).unwrap_or_default();
        memmem::find(&content, REGISTRATION_MARK).is_some()
    }

    /// The log and the exceptions are evidence; only the output folders of modules are open.
    fn is_hit_in_work_folder(&self, path: &[&str], access: Access) -> bool {
        let work_root = parts(&self.work_root);
        let is_output = path.len() > work_root.len() + 2 && path.get(work_root.len() + 2) == Some(&OUTPUT);
        touches(path, &work_root, access) && !is_output
    }
}

impl<'a> ProtectedPath<'a> {
    fn parts(&self) -> Vec<&'a str> {
        let mut all = parts(self.root);
        all.extend(parts(self.path));
        all
    }
}

/// Whether `path` may be `target`, something in it, or, for a removal, a folder that holds it.
fn touches(path: &[&str], target: &[&str], access: Access) -> bool {
    let deep = path.iter().position(|part| *part == "**");
    let (fixed, open_ended) = match deep {
        Some(index) => (path.get(..index).unwrap_or_default(), true),
        None => (path, false),
    };
    let matches = fixed.iter().zip(target).all(|(pattern, name)| may_match(pattern, name));
    matches && (fixed.len() >= target.len() || access == Access::Delete || open_ended)
}

fn is_program(path: &[&str]) -> bool {
    match path {
        [.., folder, name] => folder.eq_ignore_ascii_case("bin") && PROGRAMS.iter().any(|own| may_match(name, own)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_hook_dialects::dialect;
    use dispatch_hook_dialects::register::{Layout, Scope, System, targets};

    fn registrations(scope: Scope) -> Vec<String> {
        let systems = [System::Unix, System::Windows];
        let mut found: Vec<String> = dialect::ALL
            .into_iter()
            .flat_map(|dialect| systems.map(|system| targets(dialect.id(), scope, system, Layout::WithLegacy)))
            .flatten()
            .flatten()
            .map(|target| target.path)
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn every_file_that_registration_writes_is_protected() {
        assert_eq!(registrations(Scope::Project), REGISTERED_IN_WORKSPACE);
        assert_eq!(registrations(Scope::User), REGISTERED_IN_HOME);
    }
}
