//! The turn loop: a model, tools and a history in; rows, events and a named end out.

mod call;
mod input;
mod live_output;
mod recorder;
mod reply;
mod schedule;
mod step;
mod truncate;
mod turn;

#[cfg(test)]
mod tests;

pub use call::{FULL_OUTPUT_IN, PLACE_ENDS};
pub use input::{OfferedTool, TurnInput};
pub use schedule::{CallSchedule, Claim};
pub use turn::run_turn;
