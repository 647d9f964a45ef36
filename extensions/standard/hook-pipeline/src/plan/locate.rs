//! Finds the plan that is in force.
//!
//! Pure.

use std::path::{Component, Path, PathBuf};

use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::{Paths, SessionState, SessionView};

use super::check::{PLAN_LIMIT_BYTES, parse};
use super::model::Plan;
use super::problem::{PlanProblem, PlanProblemKind};

/// Where a plan is kept with the repository.
pub(super) const PLAN_FILE: &str = ".ai/plan/planGraph.json";
/// The name of a plan's file.
pub const PLAN_FILE_NAME: &str = "planGraph.json";
/// The module whose output folder is looked into last.
const OWNER: &str = "planGraph-exec";

/// Where a plan came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSource {
    /// Relative to the workspace, with `/` between the parts.
    pub path: String,
    /// When the file changed last, in Unix milliseconds.
    pub mtime_ms: i64,
    /// SHA-256 of the content.
    pub hash: String,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanLookup {
    /// There is no plan.
    Nothing,
    /// There is one that cannot be used.
    Invalid {
        /// Where, relative to the workspace.
        path: String,
        /// Everything that is wrong with it.
        problems: Vec<PlanProblem>,
    },
    /// There is one.
    Valid {
        /// The plan.
        plan: Plan,
        /// Where it came from.
        source: PlanSource,
    },
}

/// The plan in force: the one the state points at, else the repository's, else the session's own.
/// The first file that exists decides.
#[must_use]
pub(crate) fn find(paths: &Paths, state: &SessionState, session: &dyn SessionView) -> PlanLookup {
    for file in candidates(paths, state) {
        let (Some(mtime_ms), Some(path)) = (session.modified_ms(&file), paths.repo_relative(&file)) else {
            continue;
        };
        let Some(bytes) = session.read(&file, PLAN_LIMIT_BYTES) else {
            let kind = PlanProblemKind::Unreadable { limit: PLAN_LIMIT_BYTES };
            return PlanLookup::Invalid { path, problems: vec![PlanProblem { place: String::new(), kind }] };
        };
        return match parse(&bytes) {
            Ok(plan) => PlanLookup::Valid { plan, source: PlanSource { path, mtime_ms, hash: sha256_hex(&bytes) } },
            Err(problems) => PlanLookup::Invalid { path, problems },
        };
    }
    PlanLookup::Nothing
}

fn candidates(paths: &Paths, state: &SessionState) -> Vec<PathBuf> {
    let current = state.plan_path().map(Path::new);
    // The state is a file that anyone could have written: it may only point into the workspace.
    let inside = |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let current = current.filter(inside).map(|path| paths.repo_root.join(path));
    let known = [paths.repo_root.join(PLAN_FILE), paths.module_output(OWNER).join(PLAN_FILE_NAME)];
    current.into_iter().chain(known).collect()
}
