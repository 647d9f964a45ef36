//! Seeded histories of many senders and several processes that are killed, stopped and restarted, on SQLite in memory
//! and in a file, with every invariant of the queue checked at the end.

mod check;
mod incidents;
mod seeded_runner;
mod simulation;

use simulation::{Database, Simulation};

/// How many seeds each kind of history is played with.
const SEEDS: u64 = 60;

#[test]
fn no_seed_breaks_an_invariant_in_memory() {
    for seed in 1..=SEEDS {
        Simulation::new(seed, Database::Memory).storm();
    }
}

#[test]
fn the_same_histories_hold_in_a_file() {
    for seed in 1..=SEEDS / 6 {
        Simulation::new(seed, Database::File).storm();
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 1..=3 {
        let history = || Simulation::new(seed, Database::Memory).storm();
        assert_eq!(history(), history());
    }
}
