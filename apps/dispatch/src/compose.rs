//! The visible, ordered list of bundled extensions. Deleting a line removes that extension.

use dispatch_contracts::extension::Extension;
use dispatch_hook_module::Module;
use dispatch_kernel::host::manifest::parse;
use ext_hook_pipeline::contract::native_modules;
use std::sync::Arc;

/// Every extension that ships with the program.
pub fn bundled() -> Vec<Arc<dyn Extension>> {
    vec![
        ext_auth_apikey::extension(),
        ext_storage_sqlite::extension(),
        ext_storage_postgres::extension(),
        ext_conversation_store::extension(),
        ext_provider_openai_compat::extension(),
        ext_session_orchestrator::extension(),
        ext_transport_http::extension(),
        ext_compaction::extension(),
        ext_event_ledger::extension(),
        ext_channel_mail::extension(),
        ext_broker::extension(),
        ext_hook_pipeline::extension(),
        ext_intents::extension(),
        ext_tools_fs::extension(),
        ext_tool_shell::extension(),
        ext_tool_search::extension(),
        ext_tool_todo::extension(),
        ext_workspace_hooks::extension(),
    ]
}

/// The ids of every extension that ships with the program.
pub(crate) fn bundled_ids() -> Vec<String> {
    let manifests = bundled().into_iter().filter_map(|extension| parse(&extension.manifest()).ok());
    manifests.map(|manifest| manifest.id.to_string()).collect()
}

/// The names of the guards, in the order they run.
pub(crate) fn guard_names() -> Vec<&'static str> {
    guards().into_iter().map(|module| module.spec().name).collect()
}

/// What judges the tool calls of any agent, ours included.
pub(crate) fn guards() -> Vec<&'static dyn Module> {
    let mut modules = native_modules();
    modules.push(ext_intents::contract::module());
    modules.sort_by_key(|module| module.spec().priority);
    modules
}
