//! What apps and other extensions may use of the pipeline. A module needs `dispatch-hook-module` alone.

pub use crate::config::{Config, PromptAudit};
#[cfg(feature = "extension")]
pub use crate::extension::extension_with;
pub use crate::manifest::{BlockingPolicy, DEFAULT_MODULES, MANIFEST_LIMIT_BYTES, ModuleEntry, PipelineManifest};
#[cfg(feature = "scripts")]
pub use crate::module_trial::{ModuleTrial, ModuleTrialError, ModuleTrialSetup, try_module};
pub use crate::modules::{WORKSPACE_RESULTS, native_modules};
/// The codes of the rules that are built in, for whoever names one.
#[must_use]
pub fn rule_codes() -> Vec<&'static str> {
    let fixed = ["SG01", "SG02", "SG03", "SG04", "OR01", "PL01", "PL02", "PL03", "PL04", "PHASE_POLICY"];
    crate::modules::guard_rule_codes().chain(fixed).collect()
}

pub use crate::own_rules::{
    MAX_OWN_RULES, OWN_RULES, OwnRule, OwnRuleAnswer, OwnRuleCondition, OwnRules, RuleOwner, RuledCall,
};
pub use crate::pipeline::{GuardFinding, PHASE_GATE};
pub use crate::process::{Arguments, serve, serve_command_line};
pub use crate::report::{DecisionReport, ModuleReport, ToolReport};
pub use crate::rule_trust::{RuleTrust, weakened_rules};
pub use crate::run::{Invocation, Outcome, Past, event_of, judge, run};
#[cfg(feature = "scripts")]
pub use crate::script_module::{ScriptCache, Scripts};
pub use crate::session_access::{
    RebuiltState, append_to_session, check_work_folder, is_exception_used, module_output_file, rebuild_session_state,
    rule_exceptions, session_state,
};
pub use crate::session_files::{FilesError, read_state};
#[cfg(feature = "scripts")]
pub use crate::user_scripts::UserScripts;
pub use crate::watch::Unwatched;
pub use crate::work_layout::workspace_paths;

/// Reminders: the rules of `followup-rules.json`.
pub mod followup {
    pub use crate::followup::{FollowupRules, RULES_LIMIT_BYTES};
}

/// What sessions learned: candidates, and rules made of them.
pub mod memory {
    pub use crate::memory::{
        CANDIDATES_FILE, CANDIDATES_LIMIT_BYTES, FORGOTTEN_FILE, ForgottenCandidates, JOURNAL, ListedCandidate,
        MemoryError, Promotion, find, forget, list, promote, withdraw,
    };
}

/// Whether the graph database answers.
pub mod neo4j {
    pub use crate::neo4j::{ProbeReport, probe_configured};
}

/// The plan of a session, and its progress.
pub mod plan {
    pub use crate::plan::{
        NodeStatus, PLAN_FILE_NAME, PLAN_LIMIT_BYTES, Plan, PlanError, PlanLookup, PlanNode, PlanProblem, PlanProgress,
        PlanSource, PlanTransition, ValidationResult, WorkStatus, accept, complete, open_nodes, parse, start,
    };
    pub use crate::session_access::plan_in_force;
}
