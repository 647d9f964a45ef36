//! Prints what a row costs as a session grows, and how long a long history takes to load.

#![allow(clippy::disallowed_methods, reason = "an example measures the real thing")]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement prints its result and stops at a fault")]
#![allow(clippy::expect_used, reason = "a measurement stops at a fault")]

#[path = "../tests/support/test_ledger.rs"]
mod test_ledger;

use std::time::Instant;
use test_ledger::{TestLedger, said};

const TURNS_PER_BLOCK: usize = 1_250;
const BLOCKS: usize = 4;
const SAID_BYTES: usize = 400;

fn main() {
    let ledger = TestLedger::file();
    let session = ledger.session("long");
    for block in 0..BLOCKS {
        let start = Instant::now();
        for number in 0..TURNS_PER_BLOCK {
            let turn = format!("turn-{:06}", block * TURNS_PER_BLOCK + number);
            let id = ledger.begin(&session, &turn, 1);
            let words = format!("{number} words of {turn} ").repeat(SAID_BYTES / 24);
            ledger.append_all(&session, 1, said(&turn, &words, &words));
            ledger.end(&id, 1).unwrap();
        }
        let per_turn = start.elapsed().as_secs_f64() * 1_000.0 / TURNS_PER_BLOCK as f64;
        println!(
            "turns {:>6}: {per_turn:.2} ms a turn (3 durable transactions, 4 rows)",
            (block + 1) * TURNS_PER_BLOCK
        );
    }
    for _ in 0..3 {
        let start = Instant::now();
        let history = ledger.run(ledger.conversations.history("long")).unwrap();
        println!("history of {} messages: {:.1} ms", history.messages().len(), start.elapsed().as_secs_f64() * 1_000.0);
    }
    for question in ["words", "turn-000777", "nowhere"] {
        let start = Instant::now();
        let hits = ledger.run(ledger.conversations.search(question, 20)).unwrap();
        println!("search `{question}`: {} hits in {:.1} ms", hits.len(), start.elapsed().as_secs_f64() * 1_000.0);
    }
}
