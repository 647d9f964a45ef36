//! Script modules as this user approved them, looked up only when an event needs one.

use std::cell::OnceCell;
use std::time::Duration;

use dispatch_hook_module::Paths;
use dispatch_os::UserDirs;
use dispatch_script::CacheTrust;
use dispatch_trust::Trust;

use crate::run::{FoundScript, ScriptModules};
use crate::script_module::{ScriptCache, Scripts};

/// The user's approvals and caches. Nothing is read before the first script is asked for.
#[derive(Default)]
pub struct UserScripts {
    scripts: OnceCell<Scripts>,
}

impl UserScripts {
    /// Loads an approved module, so that it is in the cache; returns why it does not load. A module that is missing or
    /// not approved has no problem.
    #[must_use]
    pub fn load_problem(&self, name: &str, paths: &Paths, time_left: Duration) -> Option<String> {
        match self.find(name, paths, time_left) {
            FoundScript::Broken(why) => Some(why),
            FoundScript::Module(_) | FoundScript::Absent | FoundScript::Refused(_) => None,
        }
    }

    fn open() -> Scripts {
        // Without a home there are no approvals, so no script runs.
        let Ok(dirs) = UserDirs::discover() else { return Scripts::new(Trust::default(), None) };
        let cache = ScriptCache { folder: dirs.cache.join("scripts"), trust: CacheTrust::TextAndBytecode };
        Scripts::new(Trust::load(&dirs.data.join("trust.json")), Some(cache))
    }
}

impl ScriptModules for UserScripts {
    fn find<'s>(&'s self, name: &str, paths: &Paths, time_left: Duration) -> FoundScript<'s> {
        self.scripts.get_or_init(Self::open).find(name, paths, time_left)
    }
}
