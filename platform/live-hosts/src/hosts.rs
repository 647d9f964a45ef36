//! The agents that can be driven: each takes a model's address from its configuration and runs without a terminal.
//!
//! Pure.

mod claude_code;
mod cline;
mod codex;
mod copilot_cli;
mod factory_droid;
mod gemini_cli;
mod goose;
mod opencode;
mod qwen_code;

use crate::host::HostDriver;

/// Every agent that can be driven.
#[must_use]
pub fn all() -> [&'static dyn HostDriver; 9] {
    [
        &claude_code::ClaudeCode,
        &codex::Codex,
        &gemini_cli::GeminiCli,
        &qwen_code::QwenCode,
        &opencode::OpenCode,
        &cline::Cline,
        &factory_droid::FactoryDroid,
        &goose::Goose,
        &copilot_cli::CopilotCli,
    ]
}

/// The agent of a dialect, if it can be driven.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static dyn HostDriver> {
    all().into_iter().find(|host| host.id() == id)
}
