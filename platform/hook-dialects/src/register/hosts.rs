//! Where each host looks for hooks and what it wants to find there.

use serde_json::{Map, Value, json};

use super::command::{CommandLine, Shell, System};
use super::hooks_file::{HooksFile, NEW_FILE_KEY, Nesting};
use super::missing_program::MISSING_AT_PROMPT;
use super::standalone::Standalone;
use super::{Kind, Layout, Scope, Target};

/// Seconds for the events that may do more work, and for all others.
const LONG_SECONDS: u32 = 15;
const SHORT_SECONDS: u32 = 10;

type Events = &'static [(&'static str, u32)];

const DROID: Events = &[
    ("SessionStart", LONG_SECONDS),
    ("UserPromptSubmit", SHORT_SECONDS),
    ("PreToolUse", SHORT_SECONDS),
    ("PostToolUse", SHORT_SECONDS),
    ("PreCompact", SHORT_SECONDS),
    ("Stop", LONG_SECONDS),
    ("SubagentStop", SHORT_SECONDS),
    ("SessionEnd", SHORT_SECONDS),
];
/// The eight, and the ends that they leave out.
const CLAUDE: Events = &[
    ("SessionStart", LONG_SECONDS),
    ("UserPromptSubmit", SHORT_SECONDS),
    ("PreToolUse", SHORT_SECONDS),
    ("PostToolUse", SHORT_SECONDS),
    ("PostToolUseFailure", SHORT_SECONDS),
    ("PreCompact", SHORT_SECONDS),
    ("Stop", LONG_SECONDS),
    ("SubagentStart", SHORT_SECONDS),
    ("SubagentStop", SHORT_SECONDS),
    ("SessionEnd", SHORT_SECONDS),
];
const WITH_SESSION_END: Events = &[
    ("SessionStart", LONG_SECONDS),
    ("UserPromptSubmit", SHORT_SECONDS),
    ("PreToolUse", SHORT_SECONDS),
    ("PostToolUse", SHORT_SECONDS),
    ("PreCompact", SHORT_SECONDS),
    ("Stop", LONG_SECONDS),
    ("SubagentStart", SHORT_SECONDS),
    ("SubagentStop", SHORT_SECONDS),
    ("SessionEnd", SHORT_SECONDS),
];
const GOOSE: Events = &[
    ("SessionStart", LONG_SECONDS),
    ("UserPromptSubmit", SHORT_SECONDS),
    ("PreToolUse", SHORT_SECONDS),
    ("PostToolUse", SHORT_SECONDS),
    ("PostToolUseFailure", SHORT_SECONDS),
    ("Stop", LONG_SECONDS),
    ("SessionEnd", SHORT_SECONDS),
];
const SIX: Events = &[
    ("SessionStart", LONG_SECONDS),
    ("UserPromptSubmit", SHORT_SECONDS),
    ("PreToolUse", SHORT_SECONDS),
    ("PostToolUse", SHORT_SECONDS),
    ("Stop", LONG_SECONDS),
    ("SessionEnd", SHORT_SECONDS),
];
const CURSOR: Events = &[
    ("sessionStart", LONG_SECONDS),
    ("beforeSubmitPrompt", SHORT_SECONDS),
    ("preToolUse", SHORT_SECONDS),
    ("beforeShellExecution", SHORT_SECONDS),
    ("beforeMCPExecution", SHORT_SECONDS),
    ("postToolUse", SHORT_SECONDS),
    ("postToolUseFailure", SHORT_SECONDS),
    ("preCompact", SHORT_SECONDS),
    ("stop", LONG_SECONDS),
    ("subagentStart", SHORT_SECONDS),
    ("subagentStop", SHORT_SECONDS),
    ("sessionEnd", SHORT_SECONDS),
];
const GEMINI: Events = &[
    ("SessionStart", LONG_SECONDS),
    ("BeforeAgent", SHORT_SECONDS),
    ("BeforeTool", SHORT_SECONDS),
    ("AfterTool", SHORT_SECONDS),
    ("PreCompress", SHORT_SECONDS),
    ("AfterAgent", LONG_SECONDS),
    ("SessionEnd", SHORT_SECONDS),
];
const WINDSURF: Events = &[
    ("pre_user_prompt", SHORT_SECONDS),
    ("pre_read_code", SHORT_SECONDS),
    ("pre_write_code", SHORT_SECONDS),
    ("pre_run_command", SHORT_SECONDS),
    ("pre_mcp_tool_use", SHORT_SECONDS),
    ("post_read_code", SHORT_SECONDS),
    ("post_write_code", SHORT_SECONDS),
    ("post_run_command", SHORT_SECONDS),
    ("post_mcp_tool_use", SHORT_SECONDS),
    ("post_cascade_response", LONG_SECONDS),
];
const CRUSH: Events = &[("PreToolUse", SHORT_SECONDS)];

/// Cline runs one script per event.
const CLINE: [&str; 9] = [
    "TaskStart",
    "TaskResume",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "TaskComplete",
    "TaskCancel",
    "TaskError",
];

pub(super) fn targets(host: &'static str, scope: Scope, system: System, layout: Layout) -> Vec<Target> {
    match host {
        "vscode-copilot" => shared_github(host, &["copilot-cli"], scope, layout),
        "copilot-cli" => shared_github(host, &["vscode-copilot"], scope, Layout::Current),
        "cline" => cline(scope, system),
        "goose" => goose(scope),
        "opencode" => {
            let path = match scope {
                Scope::Project => ".opencode/plugins/dispatch.js",
                Scope::User => ".config/opencode/plugins/dispatch.js",
            };
            vec![standalone(path, scope, Standalone::OpencodePlugin)]
        }
        _ => single(host, scope, system).into_iter().collect(),
    }
}

pub(super) fn advice(host: &str) -> Option<&'static str> {
    match host {
        "codex" => Some("Approve the hooks once inside Codex with /hooks; until then it skips them silently."),
        "cline" => Some(
            "In VS Code a refused call ends Cline's task without a word to the model: read the reason, then say how to go on.",
        ),
        "kiro" => Some("CLI 2.x reads hooks only from an agent's own file: copy the commands there."),
        "vscode-copilot" => Some("VS Code runs workspace hooks only in a trusted workspace with `chat.useHooks` on."),
        "gemini-cli" => {
            Some("Gemini CLI runs project hooks only in a trusted folder; `--skip-trust` runs without them.")
        }
        "qwen-code" => Some("Qwen Code runs project hooks only in a trusted folder."),
        "copilot-cli" => {
            Some("Copilot CLI runs project hooks only in a trusted folder; an untrusted one runs without them.")
        }
        "cursor" => Some("Cursor runs project hooks only in a trusted workspace."),
        _ => None,
    }
}

/// The hosts with one hook file per scope.
fn single(host: &'static str, scope: Scope, system: System) -> Option<Target> {
    let (project, user) = match (host, system) {
        ("claude-code", _) => (".claude/settings.json", ".claude/settings.json"),
        ("cursor", _) => (".cursor/hooks.json", ".cursor/hooks.json"),
        ("gemini-cli", _) => (".gemini/settings.json", ".gemini/settings.json"),
        ("qwen-code", _) => (".qwen/settings.json", ".qwen/settings.json"),
        ("codex", _) => (".codex/hooks.json", ".codex/hooks.json"),
        ("windsurf", _) => (".windsurf/hooks.json", ".codeium/windsurf/hooks.json"),
        ("devin", System::Unix) => (".devin/hooks.v1.json", ".config/devin/config.json"),
        ("devin", System::Windows) => (".devin/hooks.v1.json", "AppData/Roaming/devin/config.json"),
        ("kiro", _) => (".kiro/hooks/dispatch.json", ".kiro/hooks/dispatch.json"),
        ("factory-droid", _) => (".factory/hooks.json", ".factory/hooks.json"),
        ("crush", _) => ("crush.json", ".config/crush/crush.json"),
        _ => return None,
    };
    let path = match scope {
        Scope::Project => project,
        Scope::User => user,
    };
    Some(hooks(path, scope, hooks_file(host, scope)?))
}

fn hooks_file(host: &'static str, scope: Scope) -> Option<HooksFile> {
    let version_one = Some(("version", json!(1)));
    let (nesting, seed, events, handler): (_, _, _, Handler) = match host {
        "claude-code" => (Nesting::Grouped, None, CLAUDE, plain_handler),
        "cursor" => (Nesting::Flat, version_one, CURSOR, cursor_handler),
        "gemini-cli" => (Nesting::Grouped, None, GEMINI, gemini_handler),
        "codex" => (Nesting::Grouped, None, WITH_SESSION_END, codex_handler),
        "windsurf" => (Nesting::Flat, None, WINDSURF, windsurf_handler),
        "devin" if scope == Scope::Project => (Nesting::GroupedAtRoot, None, SIX, plain_handler),
        "devin" => (Nesting::Grouped, None, SIX, plain_handler),
        "kiro" => (Nesting::List, Some(("version", json!("v1"))), SIX, kiro_handler),
        "factory-droid" => (Nesting::GroupedAtRoot, None, DROID, plain_handler),
        "crush" => (Nesting::Flat, None, CRUSH, crush_handler),
        "goose" => (Nesting::Grouped, None, GOOSE, plain_handler),
        "qwen-code" => (Nesting::Grouped, Some((NEW_FILE_KEY, json!(4))), CLAUDE, gemini_handler),
        _ => return None,
    };
    Some(HooksFile { host, siblings: &[], nesting, seed, events, handler })
}

type Handler = fn(&CommandLine, &'static str, &str, u32) -> Map<String, Value>;

/// VS Code and Copilot CLI read the same folder, so they share one file.
fn shared_github(host: &'static str, siblings: &'static [&'static str], scope: Scope, layout: Layout) -> Vec<Target> {
    let nesting = Nesting::Flat;
    let file = HooksFile { host, siblings, nesting, seed: None, events: WITH_SESSION_END, handler: github_handler };
    match (scope, layout) {
        (Scope::User, _) => vec![hooks(".copilot/hooks/dispatch.json", scope, file)],
        (Scope::Project, Layout::Current) => {
            vec![hooks(".github/hooks/dispatch.json", scope, file)]
        }
        (Scope::Project, Layout::WithLegacy) => {
            vec![hooks(".github/hooks/dispatch.json", scope, file.clone()), hooks(".github/hooks.json", scope, file)]
        }
    }
}

fn cline(scope: Scope, system: System) -> Vec<Target> {
    let folder = match scope {
        Scope::Project => ".clinerules/hooks",
        Scope::User => "Documents/Cline/Hooks",
    };
    let script = |event: &'static str| match system {
        System::Unix => Target {
            executable: true,
            ..standalone(&format!("{folder}/{event}"), scope, Standalone::ClineShell(event))
        },
        System::Windows => standalone(&format!("{folder}/{event}.ps1"), scope, Standalone::ClinePowerShell(event)),
    };
    CLINE.into_iter().map(script).collect()
}

fn goose(scope: Scope) -> Vec<Target> {
    let manifest = standalone(".agents/plugins/dispatch/plugin.json", scope, Standalone::GooseManifest);
    let file = hooks_file("goose", scope).map(|file| hooks(".agents/plugins/dispatch/hooks/hooks.json", scope, file));
    std::iter::once(manifest).chain(file).collect()
}

fn hooks(path: &str, scope: Scope, file: HooksFile) -> Target {
    Target { path: path.to_owned(), scope, executable: false, kind: Kind::Hooks(file) }
}

fn standalone(path: &str, scope: Scope, file: Standalone) -> Target {
    Target { path: path.to_owned(), scope, executable: false, kind: Kind::Standalone(file) }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// The one line for hosts without a second key for Windows.
fn only_line(command: &CommandLine, host: &str, event: &str, windows: Shell) -> String {
    let shell = match command.system() {
        System::Unix => Shell::Posix,
        System::Windows => windows,
    };
    command.line(event, host, shell)
}

fn plain_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    let windows = if host == "claude-code" { Shell::Posix } else { Shell::Cmd };
    object(json!({
        "type": "command",
        "command": only_line(command, host, event, windows),
        "timeout": timeout_seconds,
    }))
}

/// Adds the line for Windows under `keys` when it is not the same as everywhere else.
fn add_windows(handler: &mut Map<String, Value>, keys: &[&str], line: String) {
    if handler.get("command").and_then(Value::as_str) != Some(line.as_str()) {
        for key in keys {
            handler.insert((*key).to_owned(), line.clone().into());
        }
    }
}

fn github_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    let mut handler = object(json!({
        "type": "command",
        "command": command.line(event, host, Shell::Posix),
        "timeout": timeout_seconds,
    }));
    let windows = command.line(event, host, Shell::PowerShell);
    add_windows(&mut handler, &["windows", "powershell"], windows);
    handler
}

fn codex_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    let mut handler = object(json!({
        "type": "command",
        "command": command.line(event, host, Shell::Posix),
        "timeout": timeout_seconds,
    }));
    let windows = command.line(event, host, Shell::Cmd);
    add_windows(&mut handler, &["commandWindows"], windows);
    handler
}

fn windsurf_handler(command: &CommandLine, host: &'static str, event: &str, _: u32) -> Map<String, Value> {
    let mut handler = object(json!({
        "command": command.line(event, host, Shell::Posix),
        // What stands there is for the person: that Dispatch is not installed.
        "show_output": event == MISSING_AT_PROMPT,
    }));
    let windows = command.line(event, host, Shell::PowerShell);
    add_windows(&mut handler, &["powershell"], windows);
    handler
}

fn cursor_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    object(json!({
        "command": only_line(command, host, event, Shell::Cmd),
        "timeout": timeout_seconds,
    }))
}

fn gemini_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    let timeout_ms = timeout_seconds * 1000;
    object(json!({
        "type": "command",
        "name": "dispatch",
        "command": only_line(command, host, event, Shell::PowerShell),
        "timeout": timeout_ms,
    }))
}

fn crush_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    object(json!({
        "name": "dispatch",
        // Crush brings its own POSIX shell to every system.
        "command": command.line(event, host, Shell::Posix),
        "timeout": timeout_seconds,
    }))
}

fn kiro_handler(command: &CommandLine, host: &'static str, event: &str, timeout_seconds: u32) -> Map<String, Value> {
    let mut handler = object(json!({
        "name": format!("dispatch-{event}"),
        "description": "Runs the Dispatch policy pipeline",
        "trigger": event,
    }));
    if event.ends_with("ToolUse") {
        handler.insert("matcher".to_owned(), ".*".into());
    }
    handler.extend(object(json!({
        "action": { "type": "command", "command": only_line(command, host, event, Shell::Cmd) },
        "timeout": timeout_seconds,
        "enabled": true,
    })));
    handler
}
