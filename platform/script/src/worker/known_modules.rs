//! Which modules a worker was sent, so that none is sent with every request.

use super::protocol::{ModuleWire, ScriptWire};
use super::serve::MAX_KEPT_SCRIPTS;

/// The modules of one worker, by the number that it keeps them under.
#[derive(Default)]
pub(super) struct KnownModules {
    sent: Vec<(u64, ScriptWire)>,
    last_number: u64,
}

impl KnownModules {
    /// How a request names a module that is kept: in full the first time. A worker that has lost it asks for it.
    pub(super) fn name(&mut self, script: &ScriptWire) -> ModuleWire {
        if let Some((number, _)) = self.sent.iter().find(|(_, sent)| sent == script) {
            return ModuleWire::Known(*number);
        }
        self.last_number += 1;
        if self.sent.len() >= MAX_KEPT_SCRIPTS {
            self.sent.remove(0);
        }
        self.sent.push((self.last_number, script.clone()));
        ModuleWire::New(self.last_number, Box::new(script.clone()))
    }
}
