//! What our own agent may do in a run of a hook, where nobody can be asked.
//!
//! Pure.

use crate::contract::AgentPermissions;
use dispatch_contracts::permission::{PermissionRule, Verdict};
use ext_session_orchestrator::contract::Ask;

/// Tools that do more than change files: they run programs or reach other machines.
const BEYOND_FILES: [&str; 4] = ["run_shell", "shell_*", "web_*", "fetch*"];
const REASON: &str = "the hook may change files and nothing else (`permissions`)";

/// Who answers questions: nobody, with a no where looking is all that is allowed, else with a yes.
pub(super) const fn ask(permissions: AgentPermissions) -> Ask {
    match permissions {
        AgentPermissions::Read => Ask::None,
        AgentPermissions::Write | AgentPermissions::Full => Ask::All,
    }
}

/// What is refused beside the user's own rules.
pub(super) fn rules(permissions: AgentPermissions) -> Vec<PermissionRule> {
    let refused = |tool: &str| PermissionRule {
        permission: tool.to_owned(),
        target: "*".to_owned(),
        verdict: Verdict::Deny,
        reason: Some(REASON.to_owned()),
    };
    match permissions {
        AgentPermissions::Write => BEYOND_FILES.into_iter().map(refused).collect(),
        AgentPermissions::Read | AgentPermissions::Full => Vec::new(),
    }
}

/// Why a run came to nothing, and what would change that.
pub(super) fn refusal(permissions: AgentPermissions, tools: &[String]) -> String {
    let more = match permissions {
        AgentPermissions::Read => "; `\"permissions\": \"write\"` allows changes to files",
        AgentPermissions::Write => "; `\"permissions\": \"full\"` allows programs",
        AgentPermissions::Full => "; a rule or a guard refuses it",
    };
    format!("{}{more}", refusal_of(tools))
}

/// The same where the hook is not known any more.
pub(super) fn refusal_of(tools: &[String]) -> String {
    format!("every tool call was refused: {}", tools.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_alone_are_changed_where_programs_are_not_allowed() {
        assert_eq!((ask(AgentPermissions::Read), rules(AgentPermissions::Read).len()), (Ask::None, 0));
        assert_eq!((ask(AgentPermissions::Full), rules(AgentPermissions::Full).len()), (Ask::All, 0));
        let rules = rules(AgentPermissions::Write);
        assert!(rules.iter().all(|rule| rule.verdict == Verdict::Deny && rule.target == "*"), "{rules:?}");
        assert!(rules.iter().any(|rule| rule.permission == "run_shell"), "{rules:?}");
        let told = refusal(AgentPermissions::Read, &["write_file".to_owned()]);
        assert!(told.starts_with("every tool call was refused: write_file;"), "{told}");
    }
}
