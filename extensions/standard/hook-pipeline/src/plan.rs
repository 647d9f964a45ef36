//! The plan graph: what is to be done, in which order, where, and how a plan moves on. Pure.
//!
//! Pure.

mod check;
mod graph;
mod locate;
mod model;
mod problem;
mod progress;
mod transition;

#[cfg(test)]
mod tests;

pub use check::{MAX_NODES, PLAN_LIMIT_BYTES, PLAN_VERSION, parse};
pub use graph::open_nodes;
pub use locate::{PLAN_FILE, PLAN_FILE_NAME, PlanLookup, PlanSource, find};
pub use model::{DecisionMark, Plan, PlanNode};
pub use problem::{PlanProblem, PlanProblemKind, describe};
pub use progress::{NodeStatus, PlanProgress};
pub use transition::{PlanError, PlanTransition, ValidationResult, WorkStatus, accept, complete, start};
