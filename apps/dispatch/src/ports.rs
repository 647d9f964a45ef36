//! The kernel's ports, backed by the operating system.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::{Clock, Ids, Level, LogRecord, LogSink, Spawner};
use dispatch_os::{MonotonicWall, Ulid, time};
use std::io::Write;
use std::time::Duration;

/// The machine's clock; the wall clock never goes back within a process.
#[derive(Default)]
pub(crate) struct SystemClock {
    wall: MonotonicWall,
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.wall.now_ms()).unwrap_or_default()
    }

    fn monotonic_ms(&self) -> u64 {
        time::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}

/// Sortable identifiers.
pub(crate) struct UlidIds;

impl Ids for UlidIds {
    fn next_id(&self) -> String {
        Ulid::generate().to_string()
    }
}

/// Spawns onto the runtime that is running.
pub(crate) struct RuntimeSpawner;

impl Spawner for RuntimeSpawner {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }
}

/// Log records of warnings and errors as lines on stderr.
pub(crate) struct StderrLog {
    pub(crate) minimum: Level,
}

impl LogSink for StderrLog {
    fn write(&self, record: LogRecord) {
        if record.level < self.minimum {
            return;
        }
        let fields: String = record.fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        let level = format!("{:?}", record.level).to_lowercase();
        // A failure to write the log cannot be reported anywhere.
        let _ = writeln!(std::io::stderr().lock(), "{level}: {}: {}{fields}", record.source, record.message);
    }
}
