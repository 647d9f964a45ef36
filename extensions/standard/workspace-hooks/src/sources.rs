//! The hooks of each workspace as the engine asks for them: in force now, with their globs at hand.

use crate::approval::HooksInForce;
use crate::contract::{Event, HookSet, RunsError};
use crate::engine::HookSource;
use crate::matching::{Matcher, StartedHook};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::folders::Folders;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Hooks read from files, kept as long as these do not change.
pub(crate) struct HookFiles {
    folders: Folders,
    workspaces: Mutex<BTreeMap<PathBuf, WorkspaceHookSet>>,
}

struct WorkspaceHookSet {
    in_force: HooksInForce,
    set: Arc<HookSet>,
    matcher: Arc<Matcher>,
}

impl HookFiles {
    pub(crate) fn new(folders: Folders) -> Self {
        Self { folders, workspaces: Mutex::default() }
    }

    fn workspaces(&self) -> MutexGuard<'_, BTreeMap<PathBuf, WorkspaceHookSet>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, workspace: &Path) -> Arc<HookSet> {
        let mut workspaces = self.workspaces();
        let known = workspaces.entry(workspace.to_owned()).or_insert_with(|| {
            let in_force = HooksInForce::new(workspace, &self.folders);
            let set = Arc::new(HookSet::default());
            WorkspaceHookSet { in_force, matcher: Arc::new(Matcher::new(&set)), set }
        });
        let set = known.in_force.refresh();
        if !Arc::ptr_eq(&set, &known.set) {
            known.matcher = Arc::new(Matcher::new(&set));
            known.set = Arc::clone(&set);
        }
        set
    }
}

impl HookSource for HookFiles {
    fn in_force<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Arc<HookSet>, RunsError>> {
        Box::pin(async move { Ok(self.look(workspace)) })
    }

    fn matching(&self, set: &Arc<HookSet>, event: &Event) -> Vec<StartedHook> {
        let matcher = {
            let workspaces = self.workspaces();
            let known = workspaces.get(&event.workspace).filter(|known| Arc::ptr_eq(&known.set, set));
            known.map(|known| Arc::clone(&known.matcher))
        };
        matcher.unwrap_or_else(|| Arc::new(Matcher::new(set))).matching(event)
    }
}
