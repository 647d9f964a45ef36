//! Bounded runs of nonsense: whatever comes in, nobody panics, nobody hangs, and the host gets a valid answer.
//!
//! Every failure names its seed and its case. `DISPATCH_FUZZ_SEED` sets the seed, `DISPATCH_FUZZ_CASES` multiplies the
//! number of cases.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answer_check;
mod files;
mod payload_generator;
mod payloads;
mod process;
mod shell;

use payload_generator::PayloadGenerator;
use std::cell::Cell;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

/// No single case takes longer, however loaded the machine is.
const CASE_DEADLINE: Duration = Duration::from_secs(30);
const SEED: u64 = 20_260_102;

thread_local! {
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Counts panics of each thread, those that the pipeline catches included.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.with(|count| count.set(count.get() + 1));
            before(panic);
        }));
    });
}

/// Runs `case` so many times, each with dice of its own. A case that panics, fails or does not end fails the test.
fn fuzz(cases: u64, case: impl Fn(&mut PayloadGenerator) + Send + 'static) {
    count_panics();
    let seed = number("DISPATCH_FUZZ_SEED").unwrap_or(SEED);
    let cases = cases * number("DISPATCH_FUZZ_CASES").unwrap_or(1);
    let (alive, progress) = channel();
    let at = Arc::new(Mutex::new(0));
    let current = Arc::clone(&at);
    let worker = std::thread::spawn(move || {
        for number in 0..cases {
            *current.lock().unwrap() = number;
            let mut generator = PayloadGenerator::new(seed, number);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&mut generator)));
            let panics = PANICS.with(|count| count.replace(0));
            if outcome.is_err() || panics > 0 {
                return Err(number);
            }
            let _ = alive.send(());
        }
        Ok(())
    });
    loop {
        match progress.recv_timeout(CASE_DEADLINE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("seed {seed}, case {} does not end", at.lock().unwrap()),
        }
    }
    let ended = worker.join().expect("the worker catches everything");
    assert_eq!(ended, Ok(()), "seed {seed}: this case failed, its message is above");
}
