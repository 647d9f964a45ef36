//! The alarm by watchdog thread, for systems without signals.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Claim, LastLine, PREPARED, claim, last_line};
use crate::exit;

static STOP: Mutex<Option<Sender<()>>> = Mutex::new(None);

/// A file by its path.
pub(super) struct WatchdogLogPath(PathBuf);

impl WatchdogLogPath {
    pub(super) fn new(path: &Path) -> Option<Self> {
        Some(Self(path.to_path_buf()))
    }
}

/// The thread waits by the wall clock.
pub(super) const COUNTS_PROCESSOR_TIME: bool = false;

pub(super) fn start_budget(_: Duration) -> io::Result<()> {
    Ok(())
}

pub(super) fn start(timeout: Duration) -> io::Result<()> {
    let (stop, stopped) = channel();
    std::thread::Builder::new().name("alarm".to_owned()).spawn(move || watch(&stopped, timeout))?;
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    Ok(())
}

pub(super) fn stop() {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

fn watch(stopped: &Receiver<()>, timeout: Duration) {
    let time_is_up = stopped.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
    if !time_is_up || claim() == Claim::Lost {
        return;
    }
    #[allow(unsafe_code, reason = "reads the leaked answer")]
    // SAFETY: a non-null PREPARED comes from Box::leak and is never freed or changed.
    let prepared = unsafe { PREPARED.load(Ordering::Acquire).as_ref() };
    // Before the answer, because the answer ends the process.
    if let Some(line) = last_line() {
        append(line);
    }
    if let Some(prepared) = prepared {
        exit::answer(&prepared.bytes, prepared.exit_code);
    }
}

fn append(line: &LastLine) {
    if let Ok(mut file) = OpenOptions::new().append(true).create(true).open(&line.place.0) {
        // There is nobody to tell that it failed.
        let _ = file.write(line.bytes.get(1..).unwrap_or_default());
    }
}
