//! Seeded histories of many saves and several processes that are killed, stopped and restarted, on the book in
//! memory and on SQLite; and what users of other tools complained about, as named tests.

mod check;
mod disk;
mod faulty;
mod guards;
pub(crate) mod hooks;
mod issues;
mod limits;
mod player;
mod storm;
mod world;

use world::{Shelf, World};

/// How many seeds each kind of history is played with.
const SEEDS: u64 = 48;

#[test]
fn no_seed_breaks_an_invariant_in_memory() {
    for seed in 1..=SEEDS {
        storm::storm(&World::new(seed, Shelf::Memory));
    }
}

#[test]
fn the_same_histories_hold_on_sqlite() {
    for seed in 1..=SEEDS / 8 {
        storm::storm(&World::new(seed, Shelf::Sqlite));
    }
}
