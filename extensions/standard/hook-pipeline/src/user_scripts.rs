//! Script modules as this user approved them, looked up only when an event needs one.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::Duration;

use dispatch_hook_module::Paths;
use dispatch_os::UserDirs;
use dispatch_script::CacheTrust;
use dispatch_trust::Trust;

use crate::run::{FoundScript, ScriptModules};
use crate::script_module::{ScriptCache, Scripts};

/// The most roots whose scripts one event runs.
const MAX_ROOTS: usize = 5;

/// The user's approvals and caches. Nothing is read before the first script is asked for.
#[derive(Default)]
pub struct UserScripts {
    /// Each root has an engine of its own, so that no script imports the files of another root.
    roots: [OnceCell<(PathBuf, Scripts)>; MAX_ROOTS],
    /// In place of the user's own file; then nothing is cached.
    trust_file: Option<PathBuf>,
}

impl UserScripts {
    /// Scripts that this file approves, without the caches.
    #[must_use]
    pub fn approved_by(trust_file: PathBuf) -> Self {
        Self { trust_file: Some(trust_file), ..Self::default() }
    }

    /// Loads an approved module, so that it is in the cache; returns why it does not load. A module that is missing or
    /// not approved has no problem.
    #[must_use]
    pub fn load_problem(&self, name: &str, paths: &Paths, time_left: Duration) -> Option<String> {
        match self.find(name, paths, time_left) {
            FoundScript::Broken(why) => Some(why),
            FoundScript::Module(_) | FoundScript::Absent | FoundScript::Refused(_) => None,
        }
    }

    fn of_root(&self, paths: &Paths) -> Option<&Scripts> {
        let is_here =
            |slot: &&OnceCell<(PathBuf, Scripts)>| slot.get().is_none_or(|(root, _)| *root == paths.hooks_root);
        let slot = self.roots.iter().find(is_here)?;
        Some(&slot.get_or_init(|| (paths.hooks_root.clone(), self.open())).1)
    }

    fn open(&self) -> Scripts {
        if let Some(trust_file) = &self.trust_file {
            return Scripts::new(Trust::load(trust_file), None);
        }
        // Without a home there are no approvals, so no script runs.
        let Ok(dirs) = UserDirs::discover() else { return Scripts::new(Trust::default(), None) };
        let cache = ScriptCache { folder: dirs.cache.join("scripts"), trust: CacheTrust::TextAndBytecode };
        Scripts::new(Trust::load(&dirs.data.join("trust.json")), Some(cache))
    }
}

impl ScriptModules for UserScripts {
    fn find<'s>(&'s self, name: &str, paths: &Paths, time_left: Duration) -> FoundScript<'s> {
        match self.of_root(paths) {
            Some(scripts) => scripts.find(name, paths, time_left),
            None => FoundScript::Broken("too many roots have scripts".to_owned()),
        }
    }

    fn was_critical(&self, name: &str, paths: &Paths) -> bool {
        self.of_root(paths).is_some_and(|scripts| scripts.was_critical(name, paths))
    }
}
