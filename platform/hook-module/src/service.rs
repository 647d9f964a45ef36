//! How another extension hands its module to the pipeline of our own agent.

use dispatch_contracts::service::Service;

use crate::module::Module;

/// A module that lives as long as the program and may run on any thread.
pub type SharedModule = &'static (dyn Module + Send + Sync);

/// Takes in modules of other extensions, while these are activated.
pub const HOOK_MODULES: Service<dyn HookModules> = Service::new("hook-pipeline/modules");

/// The modules of the pipeline of our own agent.
pub trait HookModules: Send + Sync {
    /// Adds a module. It runs where the manifest enables it, from the next event on; a second one of the same name
    /// is left out.
    fn add(&self, module: SharedModule);
}
