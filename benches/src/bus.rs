//! What it costs to emit an event and to apply a filter.

use crate::sample::Samples;
use crate::{row, table};
use anyhow::Result;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::fault::Fault;
use dispatch_contracts::hook::{Event, Filter};
use dispatch_contracts::ports::{Clock, LogRecord, LogSink, Spawner};
use dispatch_kernel::bus::{Bus, BusPorts, FaultSink, Subscriber, WaitLog};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

const TICK: Event<u64> = Event::new("bench/tick");
const SHAPE: Filter<u64> = Filter::new("bench/shape");

/// How many times each thing is done per measurement.
const TIMES: u32 = 1_000;

pub(crate) fn run() -> Result<()> {
    let mut rows = vec![row!["what", "handlers", "best ns each", "median ns each"]];
    for handlers in [0, 1, 10] {
        let (bus, tasks) = bus();
        for number in 0..handlers {
            bus.on(&subscriber(number), TICK.id(), Arc::new(|_| Box::pin(std::future::ready(Ok(())))));
        }
        let samples = Samples::of(50, || {
            for number in 0..TIMES {
                bus.emit(&TICK, u64::from(number));
                tasks.run();
            }
        });
        rows.push(line("emit, delivery included", handlers, &samples));
    }
    for handlers in [0, 1, 10] {
        let (bus, _tasks) = bus();
        for number in 0..handlers {
            let handler = |value| -> BoxFuture<'static, _> { Box::pin(std::future::ready(Ok(value))) };
            bus.filter(&subscriber(number), SHAPE.id(), 0, Arc::new(handler));
        }
        let waits = WaitLog::default();
        let samples = Samples::of(50, || {
            for number in 0..TIMES {
                let applied = std::pin::pin!(bus.apply(&SHAPE, u64::from(number), &waits));
                let _ = std::hint::black_box(applied.poll(&mut Context::from_waker(Waker::noop())));
            }
        });
        rows.push(line("apply a filter", handlers, &samples));
    }
    table::print(&rows);
    Ok(())
}

fn line(what: &str, handlers: u32, samples: &Samples) -> Vec<String> {
    let each = |us: f64| format!("{:.0}", us * 1e3 / f64::from(TIMES));
    row![what, handlers, each(samples.best_us()), each(samples.median_us())]
}

fn subscriber(number: u32) -> Subscriber {
    Subscriber { extension: format!("extension-{number}").as_str().into(), rank: number, generation: 0 }
}

/// Runs what the bus spawns when it is told to.
#[derive(Default)]
struct Tasks {
    waiting: Mutex<Vec<BoxFuture<'static, ()>>>,
}

impl Tasks {
    fn run(&self) {
        let due = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        for mut task in due {
            let mut context = Context::from_waker(Waker::noop());
            while task.as_mut().poll(&mut context) == Poll::Pending {}
        }
    }
}

impl Spawner for Tasks {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(future);
    }
}

/// A clock that is read and not waited on.
struct BenchClock(Instant);

impl Clock for BenchClock {
    fn now_ms(&self) -> u64 {
        self.monotonic_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep_ms(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

struct SilentSink;

impl LogSink for SilentSink {
    fn write(&self, _record: LogRecord) {}
}

impl FaultSink for SilentSink {
    fn report(&self, _fault: Fault) {}
}

fn bus() -> (Bus, Arc<Tasks>) {
    let tasks = Arc::new(Tasks::default());
    let ports = BusPorts {
        clock: Arc::new(BenchClock(Instant::now())),
        spawner: Arc::clone(&tasks) as Arc<dyn Spawner>,
        log: Arc::new(SilentSink),
    };
    (Bus::new(ports, Arc::new(SilentSink)), tasks)
}
