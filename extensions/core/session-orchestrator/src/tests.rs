//! Seeded histories of many senders and several processes that are killed, stopped and restarted, on
//! the book in memory and on SQLite, with every invariant of the queue checked at the end.

mod check;
mod faulty;
mod incidents;
mod player;
mod world;

use world::{Shelf, World};

/// How many seeds each kind of history is played with.
const SEEDS: u64 = 60;

#[test]
fn no_seed_breaks_an_invariant_in_memory() {
    for seed in 1..=SEEDS {
        World::new(seed, Shelf::Memory).storm();
    }
}

#[test]
fn the_same_histories_hold_on_sqlite() {
    for seed in 1..=SEEDS / 6 {
        World::new(seed, Shelf::Sqlite).storm();
    }
}
