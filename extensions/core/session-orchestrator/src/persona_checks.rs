//! Asks whoever knows the personas whether one exists, before a message is taken in.

use crate::contract::{PersonaCheck, PersonaChecking, SessionsError};
use std::sync::{Arc, Mutex, PoisonError};

/// The persona that every session has which names none.
const DEFAULT: &str = "default";

/// Where the knowledge of personas comes from; nowhere at first.
#[derive(Default)]
pub(crate) struct PersonaChecks {
    check: Mutex<Option<Arc<dyn PersonaCheck>>>,
}

impl PersonaChecks {
    /// Refuses a persona that does not exist.
    pub(crate) fn check(&self, persona: Option<&str>) -> Result<(), SessionsError> {
        let Some(persona) = persona.filter(|persona| !persona.is_empty() && *persona != DEFAULT) else { return Ok(()) };
        let check = self.check.lock().unwrap_or_else(PoisonError::into_inner).clone();
        check.map_or(Ok(()), |check| check.check(persona).map_err(SessionsError::Invalid))
    }
}

impl PersonaChecking for PersonaChecks {
    fn check_with(&self, check: Arc<dyn PersonaCheck>) {
        *self.check.lock().unwrap_or_else(PoisonError::into_inner) = Some(check);
    }
}
