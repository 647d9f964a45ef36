//! How the programs of other agents are called, as data.
//!
//! Pure.

use super::reply_format::ReplyFormat;

/// Another agent's program.
#[derive(Debug)]
pub(crate) struct KnownAgent {
    /// Its name in the configuration.
    pub(crate) name: &'static str,
    /// Program and arguments. The prompt goes where a word holds `{prompt}`, else to standard input, where it
    /// is neither limited in length nor shown to other users of the machine nor taken for an option.
    pub(crate) command: &'static [&'static str],
    /// The variables that it logs in with.
    pub(crate) login: &'static [&'static str],
    /// What it prints.
    pub(crate) form: ReplyFormat,
}

/// What an agent may do without being asked is for its own settings to say; none is called with more rights here.
pub(crate) const KNOWN_AGENTS: [KnownAgent; 7] = [
    KnownAgent {
        name: "claude",
        command: &["claude", "-p", "--output-format", "json"],
        login: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
        form: ReplyFormat::ResultDocument,
    },
    KnownAgent {
        name: "codex",
        command: &["codex", "exec", "--json", "-"],
        login: &["CODEX_API_KEY", "OPENAI_API_KEY"],
        form: ReplyFormat::CodexLines,
    },
    KnownAgent {
        name: "copilot",
        command: &["copilot", "-s", "--no-ask-user"],
        login: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
        form: ReplyFormat::Text,
    },
    KnownAgent {
        name: "gemini",
        command: &["gemini", "--output-format", "json"],
        login: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        form: ReplyFormat::GeminiDocument,
    },
    KnownAgent {
        name: "opencode",
        command: &["opencode", "run", "--format", "json"],
        login: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
        form: ReplyFormat::OpencodeLines,
    },
    KnownAgent {
        name: "goose",
        command: &["goose", "run", "--no-session", "-i", "-"],
        login: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
        form: ReplyFormat::Text,
    },
    KnownAgent {
        name: "cursor",
        command: &["cursor-agent", "-p", "--output-format", "json", "{prompt}"],
        login: &["CURSOR_API_KEY"],
        form: ReplyFormat::ResultDocument,
    },
];

/// What a hook writes for our own agent.
pub(crate) const OWN_AGENT: &str = "agent";

/// The names that a hook can give as its `runner`.
pub(crate) fn runner_names() -> Vec<&'static str> {
    [OWN_AGENT].into_iter().chain(KNOWN_AGENTS.iter().map(|agent| agent.name)).collect()
}

/// The template of this name; also by the name of its program.
pub(crate) fn known_agent(name: &str) -> Option<&'static KnownAgent> {
    KNOWN_AGENTS.iter().find(|template| template.name == name || template.command.first() == Some(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_prompt_has_one_place() {
        for (index, found) in KNOWN_AGENTS.iter().enumerate() {
            assert_eq!(known_agent(found.name).map(|known| known.name), Some(found.name));
            assert!(KNOWN_AGENTS[..index].iter().all(|before| before.name != found.name));
            assert!(found.command.iter().filter(|word| word.contains("{prompt}")).count() <= 1);
            assert!(!found.login.is_empty());
        }
        assert_eq!(known_agent("cursor-agent").map(|known| known.name), Some("cursor"));
        assert!(known_agent("custom").is_none() && known_agent("").is_none());
    }
}
