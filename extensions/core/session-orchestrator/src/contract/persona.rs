//! Where an extension that knows the personas says whether one exists.

use dispatch_contracts::service::Service;
use std::sync::Arc;

/// Where whoever knows the personas offers itself. Without one every name is taken as it is.
pub const PERSONAS: Service<dyn PersonaChecking> = Service::new("session-orchestrator/personas");

/// Takes whoever knows the personas.
pub trait PersonaChecking: Send + Sync {
    /// Asks this from the next message on, in the place of an earlier one.
    fn check_with(&self, check: Arc<dyn PersonaCheck>);
}

/// Knows the personas.
pub trait PersonaCheck: Send + Sync {
    /// Whether there is such a persona.
    ///
    /// # Errors
    /// Why not, for whoever named it.
    fn check(&self, persona: &str) -> Result<(), String>;
}
