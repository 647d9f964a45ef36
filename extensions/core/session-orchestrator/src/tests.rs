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

/// How many seeds each kind of history is played with.
const SEEDS: u64 = 60;
/// The same in the slow lane: in memory, and on a server.
const SLOW_SEEDS: u64 = 100_000;
const SLOW_SERVER_SEEDS: u64 = 1_000;
/// How many of them are played on a server.
const SERVER_SEEDS: u64 = 4;
/// The seeds are played in so many tests, which run side by side.
const PARTS: u64 = 4;

fn is_slow_lane() -> bool {
    std::env::var("DISPATCH_SLOW_TESTS").is_ok_and(|value| value == "1")
}

fn no_seed_breaks_an_invariant(part: u64) {
    let seeds = if is_slow_lane() { SLOW_SEEDS } else { SEEDS };
    for seed in (1..=seeds).filter(|seed| seed % PARTS == part) {
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
fn the_same_histories_hold_on_a_server() {
    let server = PostgresServer::start();
    let seeds = if is_slow_lane() { SLOW_SERVER_SEEDS } else { SERVER_SEEDS };
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
