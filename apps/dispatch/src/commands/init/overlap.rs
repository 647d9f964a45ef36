//! Hosts that read each other's files, so that one event would reach Dispatch twice.

/// A host that also reads Claude Code's settings, and what a person can do about it.
const ALSO_READS_CLAUDE: [(&str, &str, &str); 4] = [
    ("vscode-copilot", "VS Code", "leave its setting `chat.useClaudeHooks` off"),
    ("copilot-cli", "Copilot CLI", "`dispatch init --undo --host copilot-cli`"),
    ("cursor", "Cursor", "switch off its import of third-party hooks"),
    ("devin", "Devin", "`dispatch init --undo --host devin`"),
];

/// What to know when events of some registered hosts arrive twice.
pub(super) fn warning(hosts: &[&str]) -> Option<String> {
    let doubled: Vec<_> = ALSO_READS_CLAUDE.iter().filter(|(host, ..)| hosts.contains(host)).collect();
    if doubled.is_empty() || !hosts.contains(&"claude-code") {
        return None;
    }
    let remedies: Vec<String> = doubled.iter().map(|(_, title, remedy)| format!("\n  {title}: {remedy}")).collect();
    Some(format!(
        "these hosts also read .claude/settings.json, so their events can reach Dispatch twice. A tool call that comes \
         again gets the same answer, but the log shows it twice. To avoid that:{}",
        remedies.join("")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_that_read_the_same_file_are_named() {
        assert_eq!(warning(&["cursor", "devin"]), None);
        assert_eq!(warning(&["claude-code", "codex"]), None);
        let told = warning(&["vscode-copilot", "claude-code", "cursor"]).unwrap();
        assert!(told.contains("\n  VS Code: ") && told.contains("\n  Cursor: ") && !told.contains("Devin"), "{told}");
    }
}
