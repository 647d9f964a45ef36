//! Whether a host stops for a question, in the mode that it is in.
//!
//! Pure.

use dispatch_hook_module::HookEvent;

/// What becomes of a question that a host is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskHandling {
    /// A person is asked, or the call is refused.
    Holds,
    /// The call may run all the same, or the run may end or hang.
    Lost,
    /// Another event about the same call asks, if it is registered in this file of the project or the home.
    AskedAt {
        /// The event.
        event: &'static str,
        /// The file.
        file: &'static str,
    },
    /// It holds only if the host's program has a person at its terminal, which its payload does not tell.
    NeedsTerminal {
        /// The host's program.
        program: &'static str,
        /// The words on its command line that mean that nobody is there.
        headless: &'static [&'static str],
    },
}

/// Names that Claude Code treats as its own: where a call changes one of them, its bypass mode runs what a hook wanted
/// to ask about.
const CLAUDE_PROTECTED: [&str; 16] = [
    ".git",
    ".claude",
    ".vscode",
    ".idea",
    ".husky",
    ".devcontainer",
    ".mcp.json",
    ".claude.json",
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
    ".ripgreprc",
];

/// Claude Code, version 2.1: in bypass mode a question about its own protected paths is lost.
pub(super) fn claude_code(event: &HookEvent) -> AskHandling {
    let bypass = event.permission_mode.as_deref() == Some("bypassPermissions");
    if bypass && names_protected(&event.tool_input) { AskHandling::Lost } else { AskHandling::Holds }
}

/// Gemini CLI, version 0.61, and its fork: without a terminal a question is refused or hangs, by a mode that the payload
/// does not tell.
pub(super) const GEMINI: AskHandling =
    AskHandling::NeedsTerminal { program: "gemini", headless: &["-p", "--prompt", "-y", "--yolo", "--approval-mode"] };

/// Whether any text in the input has one of the names as a part of a path.
fn names_protected(input: &serde_json::Value) -> bool {
    use serde_json::Value;
    match input {
        Value::String(text) => text
            .split(|character: char| !(character.is_alphanumeric() || matches!(character, '.' | '_' | '-')))
            .any(|part| CLAUDE_PROTECTED.iter().any(|name| part.eq_ignore_ascii_case(name))),
        Value::Array(items) => items.iter().any(names_protected),
        Value::Object(fields) => fields.values().any(names_protected),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_hook_module::EventName;
    use serde_json::json;

    #[test]
    fn claude_code_loses_questions_in_bypass_mode_about_its_protected_paths() {
        let table = [
            ("bypassPermissions", json!({"command": "rm -rf .git/hooks"}), AskHandling::Lost),
            ("bypassPermissions", json!({"file_path": "/shop/.claude/settings.json"}), AskHandling::Lost),
            ("bypassPermissions", json!({"command": "echo x > .mcp.json"}), AskHandling::Lost),
            ("bypassPermissions", json!({"file_path": "/shop/.github/x.yml"}), AskHandling::Holds),
            ("bypassPermissions", json!({"command": "git reset --hard"}), AskHandling::Holds),
            ("default", json!({"command": "rm -rf .git/hooks"}), AskHandling::Holds),
        ];
        for (mode, input, expected) in table {
            let mut event = HookEvent::new(EventName::PreToolUse, "claude-code", "PreToolUse".to_owned(), json!({}));
            event.permission_mode = Some(mode.to_owned());
            event.tool_input = input.clone();
            assert_eq!(claude_code(&event), expected, "{mode} {input}");
        }
    }
}
