//! Seeded histories of many saves and several processes that are killed, stopped and restarted, on SQLite in
//! memory and in a file; and what users of other tools complained about, as named tests.

mod check;
mod disk;
mod guards;
pub(crate) mod hooks;
mod issues;
mod limits;
mod simulated_executor;
mod simulation;
mod storm;

use simulation::{Database, Simulation};

/// How many seeds each kind of history is played with.
const SEEDS: u64 = 48;

#[test]
fn no_seed_breaks_an_invariant_in_memory() {
    for seed in 1..=SEEDS {
        storm::storm(&Simulation::new(seed, Database::Memory));
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let history = || storm::storm(&Simulation::new(1, Database::Memory));
    assert_eq!(history(), history());
}

#[test]
fn the_same_histories_hold_in_a_file() {
    for seed in 1..=SEEDS / 8 {
        storm::storm(&Simulation::new(seed, Database::File));
    }
}
