//! Whether a command failed, for hosts that report its end as a success and its exit status inside the result.
//!
//! Pure.

use dispatch_hook_module::{EventName, HookEvent};
use serde_json::Value;

/// What failed, if the result of the event says so.
pub(super) fn failure(event: &HookEvent) -> Option<String> {
    if event.name != EventName::PostToolUse {
        return None;
    }
    let response = &event.tool_response;
    match event.host {
        "opencode" => failed(response.pointer("/metadata/exit")?.as_i64()?),
        "gemini-cli" | "qwen-code" if event.tool_name.as_deref() == Some("run_shell_command") => {
            let lines = response["llmContent"].as_str()?.lines();
            let status = lines.rev().find_map(|line| line.strip_prefix("Exit Code: "))?;
            failed(status.trim().parse().ok()?)
        }
        "copilot-cli" | "vscode-copilot" => {
            let text = ["text_result_for_llm", "textResultForLlm"].iter().find_map(|key| response[*key].as_str())?;
            let (_, status) = text.trim_end().rsplit_once("completed with exit code ")?;
            failed(status.strip_suffix('>')?.parse().ok()?)
        }
        "cline" => {
            let results: &[Value] = response.as_array()?;
            let bad = results.iter().find(|result| result["success"] == false)?;
            Some(bad["error"].as_str().unwrap_or("failed").to_owned())
        }
        _ => None,
    }
}

fn failed(status: i64) -> Option<String> {
    (status != 0).then(|| format!("Exit code {status}"))
}
