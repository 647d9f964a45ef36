//! Seeded histories of many senders and several processes that are killed, stopped and restarted, on SQLite in memory
//! and in a file and on PostgreSQL, with every invariant of the queue checked at the end.

mod check;
mod incidents;
mod seeded_model;
mod simulation;

use dispatch_support::PostgresServer;
use ext_storage_postgres::contract::{DatabaseAddress, PostgresBackend};
use simulation::{Database, Simulation};
use std::ops::Range;
use std::sync::Arc;

/// How many seeds are played in memory, and how many in the slow lane.
const IN_MEMORY: (u64, u64) = (60, 100_000);
/// The same in a file.
const IN_A_FILE: (u64, u64) = (10, 5_000);
/// The same on a server.
const ON_A_SERVER: (u64, u64) = (4, 1_000);
/// The seeds are played in so many tests, which run side by side.
const PARTS: u64 = 4;

fn seeds((fast, slow): (u64, u64)) -> Range<u64> {
    dispatch_support::seeds(fast, slow)
}

fn no_seed_breaks_an_invariant(part: u64) {
    for seed in seeds(IN_MEMORY).filter(|seed| seed % PARTS == part) {
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
    for seed in seeds(IN_A_FILE) {
        Simulation::new(seed, Database::File).storm();
    }
}

#[test]
fn the_same_histories_hold_on_a_server() {
    let server = PostgresServer::start();
    for seed in seeds(ON_A_SERVER) {
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
