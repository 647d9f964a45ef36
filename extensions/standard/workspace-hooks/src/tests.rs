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
/// The seeds are played in so many tests, which run side by side.
const PARTS: u64 = 4;

fn no_seed_breaks_an_invariant(part: u64) {
    for seed in (1..=SEEDS).filter(|seed| seed % PARTS == part) {
        storm::storm(&Simulation::new(seed, Database::Memory));
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
