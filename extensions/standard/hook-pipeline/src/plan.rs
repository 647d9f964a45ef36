//! The plan graph: what is to be done, in which order, where, and how a plan moves on. Pure.

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
pub use locate::{Found, PLAN_FILE, PLAN_FILE_NAME, PlanSource, find};
pub use model::{Marked, Plan, PlanNode};
pub use problem::{PlanProblem, ProblemKind, describe};
pub use progress::{NodeStatus, Progress};
pub use transition::{PlanError, Standing, Transition, ValidationResult, accept, complete, start};
