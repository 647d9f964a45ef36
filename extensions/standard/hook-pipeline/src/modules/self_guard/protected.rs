//! The list of what is protected, and whether a path is on it.
//!
//! Pure.

use std::borrow::Cow;

use dispatch_hook_module::{Context, HOOKS_FOLDER};
use dispatch_toolcall::Access;
use memchr::memmem;

use super::mention::path_parts;
use super::pattern::{is_pattern, may_match, parts};

/// Our own files in the workspace. A folder stands for everything in it.
const IN_WORKSPACE: [&str; 4] = [HOOKS_FOLDER, ".orchestration", ".akira/hooks.json", ".dispatch"];
/// Our own files in the user's home.
const IN_HOME: [&str; 4] =
    [".config/dispatch", ".local/share/dispatch", ".cache/dispatch", "Library/Application Support/dispatch"];
/// The programs, wherever they are installed.
const PROGRAMS: [&str; 4] = ["dispatch", "dispatch-hook", "dispatch.exe", "dispatch-hook.exe"];
/// Where modules let agents put files: `.ai/tmp/<session>/<module>/output`.
const OUTPUT: &str = "output";

/// Folders that a call whose effect is not known may not name as a whole.
const WHOLE_FOLDERS: [&str; 12] = [
    ".ai",
    ".dispatch",
    ".orchestration",
    ".akira",
    ".claude",
    ".codex",
    ".gemini",
    ".qwen",
    ".factory",
    ".cursor",
    ".clinerules",
    ".opencode",
];
/// Files in the workspace that switch hooks off, and the registration without which they are not ours to guard.
const OFF_SWITCHES: [(&str, &str); 13] = [
    (".claude/settings.local.json", ".claude/settings.json"),
    (".codex/config.toml", ".codex/hooks.json"),
    (".gemini/settings.local.json", ".gemini/settings.json"),
    (".qwen/settings.local.json", ".qwen/settings.json"),
    (".factory/settings.json", ".factory/hooks.json"),
    (".factory/settings.local.json", ".factory/hooks.json"),
    (".github/copilot/settings.json", ".github/hooks/dispatch.json"),
    (".github/copilot/settings.local.json", ".github/hooks/dispatch.json"),
    (".claude/settings.json", ".github/hooks/dispatch.json"),
    (".clinerules/hooks", ".clinerules/hooks/PreToolUse"),
    (".cline/hooks", ".clinerules/hooks/PreToolUse"),
    (".agents/plugins/dispatch", ".agents/plugins/dispatch/hooks/hooks.json"),
    (".opencode/plugins", ".opencode/plugins/dispatch.js"),
];
/// Files in the user's home that switch hooks off.
const OFF_SWITCHES_IN_HOME: [&str; 11] = [
    ".claude/settings.local.json",
    ".claude.json",
    ".codex/config.toml",
    ".gemini/trustedFolders.json",
    ".qwen/trustedFolders.json",
    ".factory/settings.json",
    ".config/goose/config.yaml",
    ".copilot/config.json",
    ".copilot/settings.json",
    "Documents/Cline/Hooks",
    ".config/opencode/plugins",
];
/// Git hooks that we may be registered in.
const GIT_HOOKS: [&str; 9] = [
    ".git/hooks/pre-commit",
    ".git/hooks/prepare-commit-msg",
    ".git/hooks/commit-msg",
    ".git/hooks/post-commit",
    ".git/hooks/post-checkout",
    ".git/hooks/post-merge",
    ".git/hooks/post-rewrite",
    ".git/hooks/pre-push",
    ".git/hooks/pre-rebase",
];
/// What our registration in a host's file holds in every form.
const REGISTRATION_MARK: &[u8] = b"dispatch";
const REGISTRATION_LIMIT_BYTES: u64 = 1024 * 1024;

/// The files in the workspace that register Dispatch with hosts.
const REGISTERED_IN_WORKSPACE: [&str; 33] = [
    ".agents/plugins/dispatch/hooks/hooks.json",
    ".agents/plugins/dispatch/plugin.json",
    ".claude/settings.json",
    ".clinerules/hooks/PostToolUse",
    ".clinerules/hooks/PostToolUse.ps1",
    ".clinerules/hooks/PreCompact",
    ".clinerules/hooks/PreCompact.ps1",
    ".clinerules/hooks/PreToolUse",
    ".clinerules/hooks/PreToolUse.ps1",
    ".clinerules/hooks/TaskCancel",
    ".clinerules/hooks/TaskCancel.ps1",
    ".clinerules/hooks/TaskComplete",
    ".clinerules/hooks/TaskComplete.ps1",
    ".clinerules/hooks/TaskError",
    ".clinerules/hooks/TaskError.ps1",
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
    ".qwen/settings.json",
    ".windsurf/hooks.json",
    "crush.json",
];
/// The files in the user's home that register Dispatch with hosts.
const REGISTERED_IN_HOME: [&str; 33] = [
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
    ".qwen/settings.json",
    "AppData/Roaming/devin/config.json",
    "Documents/Cline/Hooks/PostToolUse",
    "Documents/Cline/Hooks/PostToolUse.ps1",
    "Documents/Cline/Hooks/PreCompact",
    "Documents/Cline/Hooks/PreCompact.ps1",
    "Documents/Cline/Hooks/PreToolUse",
    "Documents/Cline/Hooks/PreToolUse.ps1",
    "Documents/Cline/Hooks/TaskCancel",
    "Documents/Cline/Hooks/TaskCancel.ps1",
    "Documents/Cline/Hooks/TaskComplete",
    "Documents/Cline/Hooks/TaskComplete.ps1",
    "Documents/Cline/Hooks/TaskError",
    "Documents/Cline/Hooks/TaskError.ps1",
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
    /// The user's folders of ours, wherever the environment puts them.
    folders: &'a [String],
    ctx: &'a Context<'a>,
}

/// The same cut into parts, for the many paths that one call may change.
pub(super) struct ProtectedIndex<'p> {
    protected: &'p ProtectedPaths<'p>,
    work_root: Vec<&'p str>,
    roots: Vec<ProtectedRoot<'p>>,
}

/// What is protected below one folder.
struct ProtectedRoot<'p> {
    root: &'p str,
    parts: Vec<&'p str>,
    entries: Vec<(Vec<&'p str>, ProtectedPath<'p>)>,
}

/// One protected path.
#[derive(Clone, Copy)]
struct ProtectedPath<'a> {
    root: &'a str,
    path: &'a str,
    kind: ProtectionKind<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProtectionKind<'a> {
    Always,
    /// Ours only once we are registered in this file of the workspace.
    IfRegisteredIn(&'a str),
}

impl<'a> ProtectedPaths<'a> {
    pub(super) fn new(ctx: &'a Context<'a>, more: &'a [String], folders: &'a [String]) -> Self {
        let root = ctx.paths.repo_root.to_string_lossy();
        Self { root, work_root: ctx.paths.work_root.to_string_lossy(), more, folders, ctx }
    }

    /// To look many paths up in.
    pub(super) fn index(&self) -> ProtectedIndex<'_> {
        let mut roots: Vec<ProtectedRoot<'_>> = Vec::new();
        for entry in self.entries() {
            let below = (parts(entry.path), entry);
            match roots.iter_mut().find(|known| known.root == entry.root) {
                Some(known) => known.entries.push(below),
                None => roots.push(ProtectedRoot { root: entry.root, parts: parts(entry.root), entries: vec![below] }),
            }
        }
        ProtectedIndex { protected: self, work_root: parts(&self.work_root), roots }
    }

    /// The first protected path that a text names.
    pub(super) fn mentioned_in(&self, text: &str) -> Option<String> {
        // A call whose effect is not known may not name the exceptions either.
        let exceptions = self.ctx.paths.repo_relative(&self.ctx.paths.exceptions_file()).unwrap_or_default();
        path_parts(text).find_map(|words| {
            let exceptions = ProtectedPath { root: "", path: &exceptions, kind: ProtectionKind::Always };
            let mut entries = self.entries().chain([exceptions]);
            entries.find(|entry| names(&words, entry.path) && self.is_ours(*entry)).map(|entry| entry.path.to_owned())
        })
    }

    /// The first protected path whose name stands in an archive or a patch.
    pub(super) fn named_in_archive(&self, content: &[u8]) -> Option<String> {
        let entries = self.entries().filter(|entry| entry.root == &*self.root && entry.path.contains('/'));
        let named =
            |entry: &ProtectedPath<'_>| memmem::find(content, entry.path.as_bytes()).is_some() && self.is_ours(*entry);
        entries.into_iter().find(named).map(|entry| entry.path.to_owned())
    }

    fn entries(&self) -> impl Iterator<Item = ProtectedPath<'_>> {
        let root = &*self.root;
        let in_workspace = IN_WORKSPACE.iter().map(move |path| (root, *path, ProtectionKind::Always));
        let registered = REGISTERED_IN_WORKSPACE.iter().chain(&GIT_HOOKS);
        let registered = registered.map(move |path| (root, *path, ProtectionKind::IfRegisteredIn(path)));
        let switches = OFF_SWITCHES.iter();
        let switches = switches.map(move |(path, file)| (root, *path, ProtectionKind::IfRegisteredIn(file)));
        let in_home = self.ctx.home.into_iter().flat_map(|home| {
            let paths = IN_HOME.iter().chain(&REGISTERED_IN_HOME).chain(&OFF_SWITCHES_IN_HOME);
            paths.map(move |path| (home, *path, ProtectionKind::Always))
        });
        let folders = self.folders.iter().map(|folder| ("", folder.as_str(), ProtectionKind::Always));
        let more = self.more.iter().map(move |path| {
            let root = if path.starts_with('/') { "" } else { root };
            (root, path.as_str(), ProtectionKind::Always)
        });
        let all = in_workspace.chain(registered).chain(switches).chain(in_home).chain(folders).chain(more);
        all.map(|(root, path, kind)| ProtectedPath { root, path, kind })
    }

    fn is_ours(&self, entry: ProtectedPath<'_>) -> bool {
        let ProtectionKind::IfRegisteredIn(file) = entry.kind else {
            return true;
        };
        let path = self.ctx.paths.repo_root.join(file);
        let content = self.ctx.session.read(&path, REGISTRATION_LIMIT_BYTES).unwrap_or_default();
        memmem::find(&content, REGISTRATION_MARK).is_some()
    }
}

impl ProtectedIndex<'_> {
    /// Whether this access to this path, which may be a pattern, touches something protected.
    pub(super) fn is_hit(&self, path: &str, access: Access) -> bool {
        let path = &LookedUpPath::new(parts(path));
        self.is_hit_in_work_folder(path, access)
            || is_program(&path.parts)
            || is_in_rules_of_any_root(&path.parts)
            || self.roots.iter().any(|root| root.is_hit(path, access, self.protected))
    }

    /// The log and the exceptions are evidence; only the output folders of modules are open.
    fn is_hit_in_work_folder(&self, path: &LookedUpPath<'_>, access: Access) -> bool {
        let depth = self.work_root.len();
        let is_output = path.parts.len() > depth + 2 && path.parts.get(depth + 2) == Some(&OUTPUT);
        path.leads_into(&self.work_root) && path.touches(&self.work_root, &[], access) && !is_output
    }
}

impl ProtectedRoot<'_> {
    fn is_hit(&self, path: &LookedUpPath<'_>, access: Access, protected: &ProtectedPaths<'_>) -> bool {
        path.leads_into(&self.parts)
            && self.entries.iter().any(|(below, entry)| {
                // What is put into a folder that holds something protected may be put over it.
                let length = path.parts.len();
                let inside_root = length > self.parts.len() && length < self.parts.len() + below.len();
                let folder = access == Access::Write && inside_root && path.deep.is_none();
                let access = if folder { Access::Delete } else { access };
                path.touches(&self.parts, below, access) && protected.is_ours(*entry)
            })
    }
}

/// A path that may be a pattern.
struct LookedUpPath<'t> {
    parts: Vec<&'t str>,
    /// Where any number of folders may stand.
    deep: Option<usize>,
    /// Whether its parts stand for themselves alone.
    literal: bool,
}

impl<'t> LookedUpPath<'t> {
    fn new(parts: Vec<&'t str>) -> Self {
        let deep = parts.iter().position(|part| *part == "**");
        let literal = !parts.iter().any(|part| is_pattern(part));
        Self { parts, deep, literal }
    }

    fn may_match(&self, part: &str, name: &str) -> bool {
        if self.literal { part.eq_ignore_ascii_case(name) } else { may_match(part, name) }
    }

    /// The parts before any number of folders.
    fn fixed(&self) -> &[&'t str] {
        self.parts.get(..self.deep.unwrap_or(self.parts.len())).unwrap_or_default()
    }

    /// Whether it may be this folder, something in it, or a folder that holds it.
    fn leads_into(&self, folder: &[&str]) -> bool {
        self.fixed().iter().zip(folder).all(|(part, name)| self.may_match(part, name))
    }

    /// Whether it may be what stands at `below` in a folder that it leads into, something in that, or, for a removal, a
    /// folder that holds it.
    fn touches(&self, folder: &[&str], below: &[&str], access: Access) -> bool {
        let fixed = self.fixed();
        let mut rest = fixed.get(folder.len()..).unwrap_or_default().iter().zip(below);
        if !rest.all(|(part, name)| self.may_match(part, name)) {
            return false;
        }
        // Nothing lies below a file: what a pattern finds there belongs to another name.
        let is_file = below.last().is_some_and(|name| name.ends_with(".json") || name.ends_with(".js"));
        if is_file && !self.literal && self.deep.is_none() && fixed.len() > folder.len() + below.len() {
            return false;
        }
        match self.deep.and_then(|deep| self.parts.get(deep + 1..)) {
            Some([.., name]) => is_found_by_name(name, folder.iter().chain(below).skip(fixed.len())),
            Some([]) => true,
            None => fixed.len() >= folder.len() + below.len() || access == Access::Delete,
        }
    }
}

/// Files that folders of rules hold.
const RULE_FILES: [&str; 8] = [
    "config.json",
    "dispatch.manifest.json",
    "followup-rules.json",
    "rlm-policy.json",
    "hooks.json",
    "hook.mjs",
    "hook.ts",
    "active_intents.yaml",
];

/// Whether a search by name finds a protected path, a folder that leads to it, or a file that it holds.
fn is_found_by_name<'p>(name: &str, below: impl Iterator<Item = &'p &'p str>) -> bool {
    below.chain(&RULE_FILES).any(|part| may_match(name, part))
}

/// Rules of other roots are rules too.
fn is_in_rules_of_any_root(path: &[&str]) -> bool {
    path.windows(2).any(|pair| matches!(pair, [first, second] if may_match(first, ".ai") && may_match(second, "hooks")))
}

/// Whether the components of a word are those of a protected path or of something in it, or name its folder as a whole.
fn names(word: &[&str], protected: &str) -> bool {
    let target = parts(protected);
    let same = |one: &[&str], other: &[&str]| {
        one.len() == other.len() && one.iter().zip(other).all(|(left, right)| left.eq_ignore_ascii_case(right))
    };
    let whole = |folder: &&str| WHOLE_FOLDERS.iter().any(|own| own.eq_ignore_ascii_case(folder));
    let holds = !target.is_empty() && word.windows(target.len()).any(|part| same(part, &target));
    let above = word.last().is_some_and(whole)
        && target.first().is_some_and(|first| word.last().is_some_and(|last| last.eq_ignore_ascii_case(first)));
    holds || above
}

fn is_program(path: &[&str]) -> bool {
    match path {
        // `bin/*` of a project is not meant to name us.
        [.., _, name] if name.chars().all(|c| "*?.".contains(c)) => false,
        // Under this name any folder of a search path will do.
        [.., "dispatch-hook" | "dispatch-hook.exe"] => true,
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
