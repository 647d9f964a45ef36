//! Seeded histories of many senders and several processes that are killed, stopped and restarted, on SQLite in memory
//! and in a file and on PostgreSQL, with every invariant of the queue checked at the end.

mod check;
mod incidents;
mod seeded_model;
mod simulation;

use dispatch_support::PostgresServer;
use ext_storage_postgres::contract::{DatabaseAddress, PostgresBackend};
use simulation::{Database, Simulation};
use std::sync::Arc;

/// How many seeds each kind of history is played with: in memory, in a file, and on a server.
const SEEDS: [u64; 3] = [60, 10, 4];
/// The same in the slow lane.
const SLOW_SEEDS: [u64; 3] = [100_000, 5_000, 1_000];
/// Sets the number of seeds of the slow lane.
const SEEDS_VARIABLE: &str = "DISPATCH_SLOW_SEEDS";
/// The first seed that the slow lane plays in memory.
const FIRST_VARIABLE: &str = "DISPATCH_FIRST_SEED";
/// The seeds are played in so many tests, which run side by side.
const PARTS: u64 = 4;

fn is_slow_lane() -> bool {
    std::env::var("DISPATCH_SLOW_TESTS").is_ok_and(|value| value == "1")
}

fn told(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).filter(|_| is_slow_lane())
}

fn seeds() -> [u64; 3] {
    let usual = if is_slow_lane() { SLOW_SEEDS } else { SEEDS };
    told(SEEDS_VARIABLE).map_or(usual, |seeds| [seeds; 3])
}

fn no_seed_breaks_an_invariant(part: u64) {
    let [seeds, ..] = seeds();
    let first = told(FIRST_VARIABLE).unwrap_or(1);
    for seed in (first..first + seeds).filter(|seed| seed % PARTS == part) {
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
    let [_, seeds, _] = seeds();
    for seed in 1..=seeds {
        Simulation::new(seed, Database::File).storm();
    }
}

#[test]
fn the_same_histories_hold_on_a_server() {
    let server = PostgresServer::start();
    let [.., seeds] = seeds();
    for seed in 1..=seeds {
        let name = format!("seed_{seed}");
        let address = DatabaseAddress::parse(&server.create(&name)).unwrap();
        let backend = PostgresBackend::open(&address).unwrap();
        Simulation::over(seed, Arc::new(backend)).storm();
        server.psql(&format!("DROP DATABASE {name} WITH (FORCE)"));
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 1..=3 {
        let history = || Simulation::new(seed, Database::Memory).storm();
        assert_eq!(history(), history());
    }
}
