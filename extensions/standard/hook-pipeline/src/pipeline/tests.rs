//! The rules of the algorithm, one test each.

mod decisions;
mod order;
mod rewrites;
mod stand_in;
