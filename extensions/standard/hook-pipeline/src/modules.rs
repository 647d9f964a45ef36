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

pub use graph_pretooluse::GraphPretooluse;
pub use memory_activation::MemoryActivation;
pub use memory_journal::MemoryJournal;
pub use plan_graph_exec::PlanGraphExec;
pub use plan_subagent_contract::PlanSubagentContract;
#[cfg(any(test, feature = "schema"))]
pub(crate) use rlm_work::DelegationRule;
pub use rlm_work::RlmWork;
pub use self_guard::SelfGuard;
pub use session::Session;
pub use stop_synth::StopSynth;
pub use workspace_results::WorkspaceResults;

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
