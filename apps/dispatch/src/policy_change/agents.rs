//! How a process below an agent is recognised: by the programs above it, and by what agents set for their children.
//!
//! Pure.

/// One agent and its marks.
pub(super) struct AgentMarks {
    /// Its program, as the process above goes by.
    program: &'static str,
    /// Variables that it sets for the commands it runs and that a terminal of a person does not have.
    variables: &'static [&'static str],
}

const fn agent(program: &'static str, variables: &'static [&'static str]) -> AgentMarks {
    AgentMarks { program, variables }
}

/// Whatever runs below one of these was started by an agent.
const AGENTS: &[AgentMarks] = &[
    agent("claude", &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PROJECT_DIR"]),
    agent("codex", &["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI"]),
    agent("gemini", &["GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR"]),
    agent("qwen", &["QWEN_CODE"]),
    agent("opencode", &["OPENCODE", "OPENCODE_CLIENT"]),
    agent("cline", &["CLINE_ACTIVE"]),
    agent("droid", &["FACTORY_PROJECT_DIR", "DROID_PLUGIN_ROOT"]),
    agent("goose", &["GOOSE_TERMINAL"]),
    agent("copilot", &["COPILOT_CLI", "COPILOT_AGENT_PROMPT"]),
    agent("cursor-agent", &["CURSOR_AGENT", "CURSOR_PROJECT_DIR", "CURSOR_TRANSCRIPT_PATH"]),
    agent("crush", &["CRUSH", "CRUSH_SESSION_ID"]),
    agent("kiro-cli", &[]),
    agent("devin", &["DEVIN_PROJECT_DIR"]),
    agent("windsurf", &[]),
    agent("amp", &["AMP_CURRENT_THREAD_ID"]),
    agent("aider", &[]),
    agent("pi", &["PI_CODING_AGENT"]),
    agent("auggie", &["AUGMENT_AGENT"]),
    // Several set it, to their own name.
    agent("agent", &["AI_AGENT"]),
];

/// Programs that type into a terminal of their own making, in place of a person.
const TYPING: [&str; 7] = ["script", "expect", "unbuffer", "autoexpect", "sexpect", "socat", "empty"];

/// What is known of this process and of those above it.
pub(super) trait ProcessFacts {
    /// Whether a process above goes by this name.
    fn is_below(&self, program: &str) -> bool;
    /// Whether this process, or one above, has this variable with something in it.
    fn has_variable(&self, name: &str) -> bool;
}

/// Why this process does not speak for a person, in words.
pub(super) fn impostor(facts: &dyn ProcessFacts) -> Option<String> {
    let above = |agent: &&AgentMarks| agent.program != "agent" && facts.is_below(agent.program);
    if let Some(agent) = AGENTS.iter().find(above) {
        return Some(format!("an agent (`{}`)", agent.program));
    }
    let variable = AGENTS.iter().flat_map(|agent| agent.variables).find(|name| facts.has_variable(name));
    if let Some(name) = variable {
        return Some(format!("an agent (it sets `{name}`)"));
    }
    TYPING.iter().find(|name| facts.is_below(name)).map(|name| format!("a program that types (`{name}`)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Facts(&'static [&'static str], &'static [&'static str]);

    impl ProcessFacts for Facts {
        fn is_below(&self, program: &str) -> bool {
            self.0.contains(&program)
        }

        fn has_variable(&self, name: &str) -> bool {
            self.1.contains(&name)
        }
    }

    #[test]
    fn an_agent_is_known_by_its_program_its_variables_or_the_terminal_it_makes() {
        assert_eq!(
            impostor(&Facts(&["bash", "tmux", "sshd"], &["TERM", "CURSOR_TRACE_ID", "CLAUDE_CODE_SSE_PORT"])),
            None
        );
        for (facts, expected) in [
            (Facts(&["bash", "codex"], &[]), "an agent (`codex`)"),
            (Facts(&["bash"], &["CLAUDECODE"]), "an agent (it sets `CLAUDECODE`)"),
            (Facts(&["bash"], &["AI_AGENT"]), "an agent (it sets `AI_AGENT`)"),
            (Facts(&["bash", "script"], &[]), "a program that types (`script`)"),
        ] {
            assert_eq!(impostor(&facts).as_deref(), Some(expected));
        }
    }
}
