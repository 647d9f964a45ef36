//! The modules that come with the program, one line each.

mod graph_pretooluse;
mod memory_activation;
mod memory_journal;
mod plan_graph_exec;
mod plan_subagent_contract;
mod rlm_work;
mod self_guard;
mod session;
mod stop_synth;
mod subagent_output;
mod workspace_results;

use dispatch_hook_module::Module;

pub(crate) use graph_pretooluse::{GraphPretooluse, guard_rule_codes};
pub(crate) use memory_activation::MemoryActivation;
pub(crate) use memory_journal::MemoryJournal;
pub(crate) use plan_graph_exec::PlanGraphExec;
pub(crate) use plan_subagent_contract::PlanSubagentContract;
#[cfg(test)]
pub(crate) use rlm_work::DelegationRule;
pub(crate) use rlm_work::RlmWork;
pub(crate) use self_guard::SelfGuard;
pub(crate) use session::Session;
pub(crate) use stop_synth::StopSynth;
pub use workspace_results::NAME as WORKSPACE_RESULTS;
pub(crate) use workspace_results::WorkspaceResults;

/// Every module of this crate. A new one adds its line here and nothing else.
#[must_use]
pub fn native_modules() -> Vec<&'static dyn Module> {
    vec![
        &Session,
        &SelfGuard,
        &GraphPretooluse,
        &PlanGraphExec,
        &PlanSubagentContract,
        &RlmWork,
        &MemoryJournal,
        &MemoryActivation,
        &WorkspaceResults,
        &StopSynth,
    ]
}
