//! Seeded histories of many senders and several processes that are killed, stopped and restarted, on SQLite in memory
//! and in a file, with every invariant of the queue checked at the end.

mod check;
mod incidents;
mod seeded_model;
mod simulation;

use simulation::{Database, Simulation};

/// How many seeds each kind of history is played with.
const SEEDS: u64 = 60;
/// The seeds are played in so many tests, which run side by side.
const PARTS: u64 = 4;

fn no_seed_breaks_an_invariant(part: u64) {
    for seed in (1..=SEEDS).filter(|seed| seed % PARTS == part) {
        Simulation::new(seed, Database::Memory).storm();
    }
}

#[test]
fn no_seed_of_the_first_part_breaks_an_invariant() {
    no_seed_breaks_an_invariant(0);
}

#[test]
fn no_seed_of_the_second_part_breaks_an_invariant() {
    no_seed_breaks_an_invariant(1);
}

#[test]
fn no_seed_of_the_third_part_breaks_an_invariant() {
    no_seed_breaks_an_invariant(2);
}

#[test]
fn no_seed_of_the_last_part_breaks_an_invariant() {
    no_seed_breaks_an_invariant(3);
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
