//! Seeded histories of several nodes on one database, with the ledger, the hooks, the session queue and the outbox inside:
//! nodes die between any two statements, stop past their leases and lose answers, channels time out after success. The
//! twelve invariants of routing are checked on what is left.

mod invariants;
mod node;
mod seeded_hooks;
mod storm;
mod surroundings;

use dispatch_support::{seeds, slow_lane};
use node::Death;
use storm::Storm;

/// How many seeds are played.
const SEEDS: u64 = 48;
/// The same in the slow lane.
const SLOW_SEEDS: u64 = 100_000;
/// The seeds are played in so many tests, which run side by side.
const PARTS: u64 = 4;

/// Outside the slow lane only one in so many ends of transactions is tried.
const END_STEP: usize = 9;

fn play(seed: u64) -> invariants::Left {
    // What a failing check says begins with the seed that leads to it.
    let played = std::panic::catch_unwind(|| Storm::new(seed).play());
    played.unwrap_or_else(|why| {
        eprintln!("seed {seed} breaks an invariant");
        std::panic::resume_unwind(why)
    })
}

fn no_seed_breaks_an_invariant(part: u64) {
    seeds(SEEDS, SLOW_SEEDS).filter(|seed| seed % PARTS == part).for_each(|seed| drop(play(seed)));
}

#[test]
fn no_seed_of_the_first_part_breaks_an_invariant_of_routing() {
    no_seed_breaks_an_invariant(0);
}

#[test]
fn no_seed_of_the_second_part_breaks_an_invariant_of_routing() {
    no_seed_breaks_an_invariant(1);
}

#[test]
fn no_seed_of_the_third_part_breaks_an_invariant_of_routing() {
    no_seed_breaks_an_invariant(2);
}

#[test]
fn no_seed_of_the_last_part_breaks_an_invariant_of_routing() {
    no_seed_breaks_an_invariant(3);
}

#[test]
fn the_same_seed_gives_the_same_routing() {
    for seed in 1..=2 {
        assert!(play(seed) == play(seed), "seed {seed}");
    }
}

/// A node dies before or behind each of its transactions in turn, while it takes in, routes, answers and sends.
#[test]
fn a_node_that_dies_at_any_end_of_a_transaction_loses_and_doubles_nothing() {
    for (seed, death) in [(1, Death::Seen), (2, Death::Unseen)] {
        let step = if slow_lane() { 1 } else { END_STEP };
        let ends = (0..).step_by(step).take_while(|end| Storm::new(seed).dies_at(*end, death)).count() * step;
        assert!(ends > 40, "the history has only {ends} ends of transactions");
    }
}

#[test]
fn a_planned_restart_changes_no_attempt_counter() {
    for seed in 1..=4 {
        let left = Storm::new(seed).restarts_in_order();
        assert!(left.counts_no_attempt(), "I12: seed {seed}");
    }
}
