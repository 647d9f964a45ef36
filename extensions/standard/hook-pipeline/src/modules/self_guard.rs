//! Keeps an agent from editing the rules it is under: files, registrations, our own commands that change policy.

mod mention;
mod off_switches;
mod our_programs;
mod pattern;
mod protected;

#[cfg(test)]
mod tests;

use std::path::Path;

use dispatch_hook_module::{
    Context, Decision, EventName, HookAction, Module, ModuleError, ModuleSpec, OwnCommand, is_own_mcp_tool, own_command,
};
use dispatch_os::UserDirs;
use dispatch_toolcall::{
    Access, PathAccess, ShellEffects, ToolCall, ToolKind, UnknownReason, destroyed_words, only_looks,
};
use serde::Deserialize;

use protected::ProtectedPaths;

/// A write to a protected file.
const WRITE_CODE: &str = "SG01";
/// One of our own commands that changes policy.
const COMMAND_CODE: &str = "SG02";
/// Code that cannot be judged and names a protected file.
const OPAQUE_CODE: &str = "SG03";

/// Reading where keys, the token and approvals are.
const SECRET_CODE: &str = "SG04";

/// Protects the rules.
pub(crate) struct SelfGuard;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SelfGuardSettings {
    /// More paths to protect, absolute or relative to the workspace.
    protect: Vec<String>,
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::PreToolUse],
    priority: 5,
    hot_path_safe: true,
    critical: true,
    on_by_default: true,
    ..ModuleSpec::named("self-guard")
};

impl Module for SelfGuard {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let Some(call) = ctx.call else {
            return Ok(HookAction::none());
        };
        let user = UserDirs::discover().ok();
        let data = user.as_ref().map(|user| user.data.to_string_lossy());
        let secret = read_secret(call, data.as_deref()).map(|path| (SECRET_CODE, wording_of_secret(&path)));
        if secret.is_none() && !may_change(call) {
            return Ok(HookAction::none());
        }
        let settings: SelfGuardSettings = ctx.settings();
        let folders = user.iter().flat_map(|user| [&user.config, &user.data, &user.cache]);
        let folders: Vec<String> = folders.map(|folder| folder.to_string_lossy().into_owned()).collect();
        let protected = ProtectedPaths::new(ctx, &settings.protect, &folders);
        let findings = [
            secret,
            written(ctx, call, &protected).map(|path| (WRITE_CODE, wording_of_write(&path))),
            vscode_switch(ctx, call).map(|path| (WRITE_CODE, wording_of_write(&path))),
            policy_command(call).map(|words| (COMMAND_CODE, wording_of_command(&words))),
            unpacked(ctx, call, &protected).map(|path| (WRITE_CODE, wording_of_write(&path))),
            opaque(ctx, call, &protected).map(|path| (OPAQUE_CODE, wording_of_opaque(&path))),
        ];
        let objection = findings.into_iter().flatten().find(|(code, _)| !ctx.is_excused(code));
        Ok(objection.map_or_else(HookAction::none, |(code, reason)| {
            let decision = if ctx.unattended.is_some() { Decision::Deny } else { Decision::Ask };
            HookAction::objection(decision, code, reason)
        }))
    }
}

/// Files below the user's data that an agent has no business with, not even to look.
const SECRETS: [&str; 6] = ["token", "keys", "keys.json", "auth.json", "trust.json", "dispatch.db"];

/// The first of our own secrets that the call names.
fn read_secret(call: &ToolCall, data: Option<&str>) -> Option<String> {
    let data = pattern::parts(data?);
    let is_secret = |path: &&PathAccess| {
        let parts = pattern::parts(&path.path);
        let rest = parts.strip_prefix(data.as_slice()).and_then(<[&str]>::first);
        rest.is_some_and(|name| SECRETS.iter().any(|secret| pattern::may_match(name, secret)))
    };
    let whole =
        |path: &&PathAccess| path.access == Access::Read && pattern::parts(&path.path) == data && reads_below(call);
    call.paths.iter().find(is_secret).or_else(|| call.paths.iter().find(whole)).map(|path| path.path.clone())
}

/// Whether a call that names a folder reads what the files below it say, and not only their names.
fn reads_below(call: &ToolCall) -> bool {
    const NAMES_ONLY: [&str; 9] = ["ls", "stat", "du", "test", "[", "cd", "tree", "file", "realpath"];
    match &call.effects {
        None => call.kind == ToolKind::Search,
        Some(effects) => effects.commands.iter().any(|command| !NAMES_ONLY.contains(&command.program.as_str())),
    }
}

/// Settings of VS Code with which it skips hooks. The file holds many others, so that only a call that names one counts.
fn vscode_switch(ctx: &Context<'_>, call: &ToolCall) -> Option<String> {
    const SWITCHES: [&str; 2] = ["chat.useHooks", "chat.useCustomAgentHooks"];
    let settings = |path: &&PathAccess| {
        path.access != Access::Read
            && [".vscode/settings.json", "/User/settings.json"].iter().any(|end| path.path.ends_with(end))
    };
    let file = call.paths.iter().find(settings)?;
    let input = ctx.event.tool_input.to_string();
    SWITCHES.iter().any(|switch| input.contains(switch)).then(|| file.path.clone())
}

/// Everything but a call that is known to look only.
fn may_change(call: &ToolCall) -> bool {
    !call.is_read_only() && !matches!(call.kind, ToolKind::Read | ToolKind::Search)
        || call.paths.iter().any(|path| path.access != Access::Read)
}

/// The first protected path that the call changes, by its text or by where its links lead.
fn written(ctx: &Context<'_>, call: &ToolCall, protected: &ProtectedPaths<'_>) -> Option<String> {
    let by_git = |path: &PathAccess| path.path.ends_with("/.git") && is_only_written_by_git(call);
    let mut changed = call.paths.iter().filter(|path| path.access != Access::Read && !by_git(path)).peekable();
    changed.peek()?;
    let protected = protected.index();
    let hit = changed.find(|path| {
        let real = real_path(ctx, path);
        protected.is_hit(&path.path, path.access) || (real != path.path && protected.is_hit(&real, path.access))
    });
    hit.map(|path| path.path.clone())
}

/// Git writes its own folder with nearly every command, but not the hooks in it.
fn is_only_written_by_git(call: &ToolCall) -> bool {
    let commands = call.effects.as_ref().map(|effects| effects.commands.as_slice()).unwrap_or_default();
    let is_git = |command: &&dispatch_toolcall::SimpleCommand| command.program == "git";
    let names_it = |word: &String| word.trim_end_matches(['/', '*', '.']).ends_with(".git");
    let inside = |cwd: &String| cwd.contains("/.git");
    commands.iter().any(|command| is_git(&command))
        && !commands
            .iter()
            .filter(|command| !is_git(command))
            .any(|command| command.argv.iter().skip(1).any(names_it) || command.cwd.as_ref().is_some_and(inside))
}

/// Follows the links of a path; of a pattern, those of its part before the first wildcard.
fn real_path(ctx: &Context<'_>, path: &PathAccess) -> String {
    let (fixed, rest) = if path.glob { pattern::split_at_wildcard(&path.path) } else { (path.path.as_str(), "") };
    let real = ctx.session.real_path(&ctx.paths.repo_root.join(Path::new(fixed)));
    let real = real.to_string_lossy();
    if rest.is_empty() { real.into_owned() } else { format!("{}/{rest}", real.trim_end_matches('/')) }
}

/// Programs that put files where their input says.
const UNPACKING: [&str; 8] = ["patch", "tar", "bsdtar", "unzip", "7z", "7za", "cpio", "ditto"];
/// What is read of an archive or a patch to see what it names.
const ARCHIVE_LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// A protected path that a patch or an archive on disk names, if the call applies or unpacks it.
fn unpacked(ctx: &Context<'_>, call: &ToolCall, protected: &ProtectedPaths<'_>) -> Option<String> {
    let effects = call.effects.as_ref()?;
    let applies = |command: &dispatch_toolcall::SimpleCommand| {
        let applied =
            command.argv.get(1..).unwrap_or_default().iter().any(|word| matches!(word.as_str(), "apply" | "am"));
        UNPACKING.contains(&command.program.as_str()) || (command.program == "git" && applied)
    };
    let lists = |word: &String| {
        matches!(
            word.as_str(),
            "-t" | "-tf" | "tf" | "tvf" | "-tvf" | "-l" | "--list" | "--check" | "--stat" | "--dry-run"
        )
    };
    let mut commands = effects.commands.iter().filter(|command| applies(command)).peekable();
    commands.peek()?;
    if commands.all(|command| command.argv.iter().any(lists)) {
        return None;
    }
    let named = effects.commands.iter().filter(|command| applies(command)).flat_map(|command| {
        let cwd = command.cwd.as_deref().unwrap_or_default();
        command
            .argv
            .iter()
            .skip(1)
            .filter(|word| !word.starts_with('-'))
            .map(move |word| dispatch_toolcall::resolve(word, cwd, None))
    });
    let read = effects.reads.iter().filter(|path| !path.glob).map(|path| path.path.clone());
    read.chain(named).find_map(|path| {
        let content = ctx.session.read(Path::new(&path), ARCHIVE_LIMIT_BYTES)?;
        protected.named_in_archive(&content)
    })
}

fn policy_command(call: &ToolCall) -> Option<String> {
    let effects = call.effects.as_ref()?;
    let text = call.command.as_deref().unwrap_or_default();
    let changes = |command: &&dispatch_toolcall::SimpleCommand| {
        own_command(command) == OwnCommand::ChangesPolicy
            || redirects_git_hooks(command)
            || stops_our_hook(command)
            || stops_what_is_found(command, effects)
            || off_switches::switches_hooks_off(command, text)
            || our_programs::uninstalls(command)
            || our_programs::runs_from_sources(command)
    };
    let command = effects.commands.iter().find(changes)?;
    Some(command.argv.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// `git config core.hooksPath ELSEWHERE`, and `git -c core.hooksPath=ELSEWHERE` for one command, takes our git hooks out of force; without a value it only shows the setting.
fn redirects_git_hooks(command: &dispatch_toolcall::SimpleCommand) -> bool {
    let names = |word: &String| word.to_ascii_lowercase().starts_with("core.hookspath");
    let at = command.argv.iter().position(names);
    let sets = |at: usize| command.argv.len() > at + 1 || command.argv.iter().any(|word| word.contains("unset"));
    let once = command.argv.windows(2).any(|pair| pair[0] == "-c" && names(&pair[1]) && pair[1].contains('='));
    let config = || command.argv.iter().any(|word| word == "config") && at.is_some_and(sets);
    command.program == "git" && (once || config())
}

/// `pkill dispatch-hook`: a host whose hook is killed goes on without an answer.
fn stops_our_hook(command: &dispatch_toolcall::SimpleCommand) -> bool {
    let stops = matches!(command.program.as_str(), "pkill" | "killall" | "pidof" | "skill" | "systemctl");
    stops && command.argv.iter().skip(1).any(|word| names_our_program(word))
}

/// `kill $(pgrep dispatch)`.
fn stops_what_is_found(command: &dispatch_toolcall::SimpleCommand, effects: &ShellEffects) -> bool {
    matches!(command.program.as_str(), "pgrep" | "pidof")
        && command.argv.iter().skip(1).any(|word| names_our_program(word))
        && effects.commands.iter().any(|other| other.program == "kill")
}

fn names_our_program(word: &str) -> bool {
    let name = word.trim_matches(['^', '$', '/']).rsplit('/').next().unwrap_or(word);
    word.contains("dispatch-hook") || matches!(name, "dispatch" | "dispatch.service" | "dispatch serve")
}

/// A protected name in a call whose effect is not known.
fn opaque(ctx: &Context<'_>, call: &ToolCall, protected: &ProtectedPaths<'_>) -> Option<String> {
    if let Some(effects) = &call.effects
        && let Some(path) = possibly_changed(effects, protected)
    {
        return Some(path);
    }
    if call.effects.as_ref().is_some_and(edits_every_tracked_file) {
        return Some(dispatch_hook_module::HOOKS_FOLDER.to_owned());
    }
    match (&call.effects, call.kind) {
        (Some(effects), _) if hides_effects(effects) => protected.mentioned_in(call.command.as_deref()?),
        (None, ToolKind::Mcp | ToolKind::Other) if !is_own_mcp_tool(ctx.event) && !only_looks(&call.name) => {
            mention::paths_and_code(&ctx.event.tool_input).into_iter().find_map(|text| protected.mentioned_in(text))
        }
        _ => None,
    }
}

/// `git ls-files | xargs sed -i ...`: the rules are tracked files too.
fn edits_every_tracked_file(effects: &ShellEffects) -> bool {
    let lists = |command: &dispatch_toolcall::SimpleCommand| {
        let words = command.argv.get(1..).unwrap_or_default();
        command.program == "git"
            && words.iter().all(|word| word == "ls-files" || word.starts_with('-'))
            && !words.is_empty()
    };
    let edits = |command: &dispatch_toolcall::SimpleCommand| {
        let in_place =
            command.argv.iter().any(|word| word.starts_with("-i") || word.starts_with("-pi") || word == "--in-place");
        !command.exact && in_place && matches!(command.program.as_str(), "sed" | "gsed" | "perl" | "ruby")
    };
    effects.commands.iter().any(lists) && effects.commands.iter().any(edits)
}

/// A protected path that a command names inside a text that may run.
fn possibly_changed(effects: &ShellEffects, protected: &ProtectedPaths<'_>) -> Option<String> {
    let words = effects.possible_code.iter().flat_map(|code| destroyed_words(code));
    words.into_iter().find_map(|found| protected.mentioned_in(found.word))
}

fn hides_effects(effects: &ShellEffects) -> bool {
    effects.unknown.iter().any(|unknown| {
        !matches!(
            unknown.reason,
            UnknownReason::ProjectCode
                | UnknownReason::Environment
                | UnknownReason::SystemState
                | UnknownReason::Remote
        )
    }) && effects.commands.iter().any(|command| own_command(command) == OwnCommand::Foreign)
}

fn wording_of_write(path: &str) -> String {
    format!(
        "`{path}` is part of the rules this agent works under; only the user may change it. Ask the user to make the change."
    )
}

fn wording_of_secret(path: &str) -> String {
    format!("`{path}` holds keys or approvals of Dispatch; an agent may not read it. Ask the user.")
}

fn wording_of_command(words: &str) -> String {
    format!("`{words}` changes the rules this agent works under; only the user may run it. Ask the user to run it.")
}

fn wording_of_opaque(path: &str) -> String {
    format!(
        "This call names `{path}`, which is part of the rules this agent works under, and the call's effect on it is not known. Read the file with a read tool, or ask the user."
    )
}
