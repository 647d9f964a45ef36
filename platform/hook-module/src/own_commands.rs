//! Which of our own commands and tools an agent is meant to use, and which change the rules it is under.

use dispatch_toolcall::{ShellEffects, SimpleCommand};

use crate::event::HookEvent;

const PROGRAMS: [&str; 2] = ["dispatch", "dispatch-hook"];
const SERVER: &str = "dispatch";
/// How the names of our MCP server's tools begin.
const TOOL_FAMILIES: [&str; 8] = ["select", "list", "intent", "plan", "session", "trace", "release", "clear"];

/// Commands that only show something, or that an agent is meant to run: by command, then by verb (`*` is any).
const FREE: &[(&str, &[&str])] = &[
    ("intent", &["select", "list", "show", "match", "check"]),
    ("doctor", &["*"]),
    ("check", &["*"]),
    ("rules", &["*"]),
    ("allow-once", &["list", "--list"]),
    ("config", &["*"]),
    ("ext", &["list", "info"]),
    ("session", &["list", "show"]),
    ("queue", &["list", "show"]),
    ("runs", &["list", "show", "follow"]),
    ("workspace-hooks", &["check", "list"]),
    ("completions", &["*"]),
    ("plan", &["show", "submit", "start", "complete"]),
    ("phase", &["show"]),
    ("memory", &["list", "show"]),
    ("module", &["list", "test"]),
    ("state", &["show"]),
    ("trace", &["show", "verify", "list", "log", "blame", "report", "check", "export"]),
    ("trust", &["--list"]),
    ("init", &["--check"]),
    ("events", &["*"]),
    ("why", &["*"]),
    ("explain", &["*"]),
    ("replay", &["*"]),
    ("schema", &["*"]),
    ("canary", &["*"]),
    ("help", &["*"]),
    ("version", &["*"]),
];

/// Commands that no other program has: under any other name it is a copy of ours.
const UNMISTAKABLE: &[(&str, &str)] =
    &[("allow-once", ""), ("trust", "--all"), ("init", "--undo"), ("phase", "set"), ("trust", ".ai")];
/// Programs that give a file another name.
const COPYING: [&str; 10] = ["cp", "mv", "ln", "link", "install", "rsync", "ditto", "dd", "scp", "cpio"];

/// What an agent's call of our own program comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnCommand {
    /// Not our program.
    Foreign,
    /// It reads, or it is a handshake that agents are meant to make.
    Free,
    /// It may change the rules.
    ChangesPolicy,
}

/// Judges one program call. What is not known to be free counts as a change, and a program of our
/// name in an unknown folder may be anything, so it is not exempt.
#[must_use]
pub fn own_command(command: &SimpleCommand) -> OwnCommand {
    let Some(first) = command.argv.first() else {
        return OwnCommand::Foreign;
    };
    if !is_own_name(first) {
        let changes = is_renamed(command) || renames_own_program(command);
        return if changes { OwnCommand::ChangesPolicy } else { OwnCommand::Foreign };
    }
    match (is_free(command), command.program.is_empty()) {
        (false, _) => OwnCommand::ChangesPolicy,
        (true, true) => OwnCommand::Foreign,
        (true, false) => OwnCommand::Free,
    }
}

/// Whether the last part of a path is the name of one of our programs.
fn is_own_name(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    PROGRAMS.contains(&name.strip_suffix(".exe").unwrap_or(name))
}

/// A program of unknown origin that is called as only ours is.
fn is_renamed(command: &SimpleCommand) -> bool {
    let word = |at: usize| command.argv.get(at).map(String::as_str).unwrap_or_default();
    command.program.is_empty()
        && UNMISTAKABLE.iter().any(|(first, second)| word(1) == *first && word(2).starts_with(second))
}

/// Gives our program another name, under which nobody would know it.
fn renames_own_program(command: &SimpleCommand) -> bool {
    let is_program = |word: &&String| {
        let path = word.split_once('=').map_or(word.as_str(), |(_, path)| path);
        let folder = path.rsplit_once('/').map(|(folder, _)| folder.rsplit('/').next().unwrap_or(folder));
        is_own_name(path) && matches!(folder, Some("bin" | "debug" | "release"))
    };
    let Some((last, words)) = command.argv.split_last() else {
        return false;
    };
    COPYING.contains(&command.program.as_str())
        && words.iter().filter(is_program).count() == 1
        && !is_own_name(last)
        && !last.ends_with('/')
}

fn is_free(command: &SimpleCommand) -> bool {
    // What follows `--` is not a flag.
    let mut words = command.argv.iter().skip(1).map(String::as_str).take_while(|word| *word != "--");
    if !command.exact {
        return false;
    }
    if words.clone().any(|word| matches!(word, "--help" | "-h" | "--version" | "-V")) {
        return true;
    }
    let Some(first) = words.next() else {
        return true;
    };
    let verbs = FREE.iter().find(|(name, _)| *name == first).map(|(_, verbs)| *verbs);
    let verb = words.next().unwrap_or_default();
    // A verb counts only in its place: elsewhere the same word may be a name. A flag counts anywhere.
    let mut is_named =
        |verbs: &[&str]| verbs.contains(&verb) || words.any(|word| word.starts_with('-') && verbs.contains(&word));
    verbs.is_some_and(|verbs| verbs == ["*"] || is_named(verbs))
}

/// Whether a command does nothing but call our own program for a handshake or to read.
#[must_use]
pub fn is_handshake_only(effects: &ShellEffects) -> bool {
    let changes_nothing_else = !effects.changes_files() && !effects.network;
    !effects.commands.is_empty()
        && changes_nothing_else
        && effects.commands.iter().all(|command| own_command(command) == OwnCommand::Free)
}

/// Whether the tool belongs to our own MCP server.
#[must_use]
pub fn is_own_mcp_tool(event: &HookEvent) -> bool {
    if let Some(server) = &event.mcp_server {
        return server == SERVER;
    }
    let tool = event.tool_name.as_deref().unwrap_or_default();
    if let Some(rest) = tool.strip_prefix("mcp__") {
        return rest.split_once("__").is_some_and(|(server, _)| server == SERVER);
    }
    // Goose puts the plugin before the server, and both are ours.
    let rest = tool.strip_prefix("mcp_").or_else(|| tool.strip_prefix("dispatch_dispatch__").map(|_| &tool[9..]));
    let Some(rest) = rest.unwrap_or(tool).strip_prefix(SERVER) else { return false };
    // A server called `dispatch-other` is not ours: what follows is one of our tools and nothing else.
    let name = rest.trim_start_matches(['_', '-', '.', '/', ':']);
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.contains("__");
    name.len() < rest.len() && plain && TOOL_FAMILIES.iter().any(|family| name.split('_').next() == Some(*family))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_toolcall::{ShellContext, analyze};

    fn judge(line: &str) -> Vec<OwnCommand> {
        let effects = analyze(line, &ShellContext { cwd: "/repo", home: None });
        effects.commands.iter().map(own_command).filter(|found| *found != OwnCommand::Foreign).collect()
    }

    #[test]
    fn only_our_own_server_counts_as_ours() {
        let is_own = |tool: &str| {
            let mut event =
                HookEvent::new(crate::EventName::PreToolUse, "native", String::new(), serde_json::Value::Null);
            event.tool_name = Some(tool.to_owned());
            is_own_mcp_tool(&event)
        };
        for tool in [
            "mcp__dispatch__list_intents",
            "dispatch_list_intents",
            "dispatch___plan_show",
            "dispatch-plan_show",
            "dispatch_dispatch__list_intents",
            "mcp_dispatch_plan_submit",
        ] {
            assert!(is_own(tool), "{tool}");
        }
        for tool in
            ["mcp__dispatch-evil__write", "mcp__dispatch-evil__list_intents", "dispatcher_list_intents", "dispatch_rm"]
        {
            assert!(!is_own(tool), "{tool}");
        }
    }

    #[test]
    fn reading_and_handshakes_are_free_and_the_rest_changes_policy() {
        let free = [
            "dispatch intent select INT-1",
            "dispatch intent list --all",
            "dispatch intent match 'src/**'",
            "dispatch intent check",
            "dispatch plan submit plan.json",
            "dispatch plan start n1",
            "dispatch plan complete n1",
            "dispatch events --json",
            "dispatch why last",
            "dispatch trust --list",
            "dispatch init --check",
            "dispatch phase show",
            "dispatch --help",
            "/usr/local/bin/dispatch allow-once --help",
        ];
        for line in free {
            assert_eq!(judge(line), [OwnCommand::Free], "{line}");
        }
        let changes = [
            "dispatch allow-once UB01",
            "dispatch trust --all",
            "dispatch trust .ai/hooks/features/x/hook.mjs",
            "dispatch init --undo",
            "dispatch phase set EXECUTING",
            "dispatch intent $VERB",
            "dispatch intent new x --scope '**'",
            "dispatch intent edit INT-1 --add-scope '**'",
            "dispatch intent start INT-1 --reopen",
            "dispatch intent complete INT-1",
            "dispatch intent block INT-1",
            "dispatch intent abandon INT-1",
            "dispatch intent clear",
            "dispatch intent new select --scope '**'",
            "dispatch intent new x --scope y -- --help",
            "dispatch intent edit show --add-scope '**'",
            "dispatch hook UserPromptSubmit",
            "sudo dispatch allow-once UB01",
            "bash -c 'dispatch trust --all'",
            "/usr/local/bin/dispatch trust --all",
            "./target/release/dispatch trust --all",
        ];
        for line in changes {
            assert_eq!(judge(line), [OwnCommand::ChangesPolicy], "{line}");
        }
        for line in [
            "cp $(which dispatch) d",
            "cp $(which dispatch) d; ./d trust --all",
            "ln -s /usr/local/bin/dispatch d",
            "./d allow-once UB01",
            "cat $(which dispatch) > d; chmod +x d; ./d phase set EXECUTING",
            "script -q /dev/null dispatch allow-once UB01",
            "expect -c 'spawn dispatch trust --all; expect y; send y'",
            "mkdir b; cp $(which dispatch) b/q; PATH=$PWD/b:$PATH q memory forget x",
            "setsid -f sh -c \"(sleep 2; echo y) | script -qc \\\"./d allow-once UB01 --for 1h\\\" /dev/null\"",
        ] {
            assert!(judge(line).contains(&OwnCommand::ChangesPolicy), "{line}");
        }
        for line in ["git dispatch", "./dispatch events", "echo dispatch trust --all"] {
            assert_eq!(judge(line), [], "{line}");
        }
    }
}
