//! Pauses of the machine itself. A virtual machine can stand still for tens of milliseconds, which no program in it can
//! help; measurements that met such a pause are told apart from the others.
//!
//! On each core a thread does nothing but sleep for a moment, again and again. The system lets it in ahead of whoever
//! works, so that a sleep which takes far too long is the machine's doing.

use crate::sample::Samples;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(2);
/// A nap that takes longer met a pause.
const PAUSE: Duration = Duration::from_millis(5);

type Spans = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Watches for pauses until it is dropped.
pub(crate) struct Pauses {
    found: Spans,
    over: Arc<AtomicBool>,
    sleepers: Vec<JoinHandle<()>>,
}

/// Measurements, each with the moment it began.
#[derive(Default)]
pub(crate) struct TimedSamples(Vec<(Instant, Duration)>);

impl TimedSamples {
    pub(crate) fn add(&mut self, start: Instant, time: Duration) {
        self.0.push((start, time));
    }
}

impl Pauses {
    pub(crate) fn watch() -> Self {
        let (found, over) = (Spans::default(), Arc::new(AtomicBool::new(false)));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let sleepers = (0..cores)
            .map(|core| {
                let (found, over) = (Arc::clone(&found), Arc::clone(&over));
                std::thread::spawn(move || sleep(core, &found, &over))
            })
            .collect();
        Self { found, over, sleepers }
    }

    /// The measurements that met no pause, and all of them.
    pub(crate) fn apart(&self, measured: &TimedSamples) -> (Samples, Samples) {
        // Whoever sleeps through the last pause has to wake up to tell of it.
        std::thread::sleep(PAUSE * 4);
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut calm, mut all) = (Samples::default(), Samples::default());
        for (start, time) in &measured.0 {
            all.add(*time);
            if !found.iter().any(|(from, until)| from < &(*start + *time) && start < until) {
                calm.add(*time);
            }
        }
        (calm, all)
    }
}

impl Drop for Pauses {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.sleepers.drain(..).for_each(|sleeper| _ = sleeper.join());
    }
}

fn sleep(core: usize, found: &Spans, over: &AtomicBool) {
    stay_on(core);
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        std::thread::sleep(NAP);
        if start.elapsed() > PAUSE {
            found.lock().unwrap_or_else(PoisonError::into_inner).push((start, Instant::now()));
        }
    }
}

/// Keeps this thread on one core. Where that is not possible, the system spreads the threads by itself.
#[cfg(target_os = "linux")]
fn stay_on(core: usize) {
    let mut cores = rustix::thread::CpuSet::new();
    cores.set(core);
    let _ = rustix::thread::sched_setaffinity(None, &cores);
}

#[cfg(not(target_os = "linux"))]
fn stay_on(_core: usize) {}
