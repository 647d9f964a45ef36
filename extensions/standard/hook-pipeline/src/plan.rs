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

pub use check::{PLAN_LIMIT_BYTES, parse};
pub use graph::open_nodes;
pub(crate) use locate::find;
pub use locate::{PLAN_FILE_NAME, PlanLookup, PlanSource};
pub(crate) use model::DecisionMark;
pub use model::{Plan, PlanNode};
pub use problem::PlanProblem;
pub(crate) use problem::describe;
pub use progress::{NodeStatus, PlanProgress};
pub use transition::{PlanError, PlanTransition, ValidationResult, WorkStatus, accept, complete, start};
