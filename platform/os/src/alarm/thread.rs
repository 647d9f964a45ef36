//! The alarm by watchdog thread, for systems without signals.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Claim, PREPARED, claim};
use crate::exit;

static STOP: Mutex<Option<Sender<()>>> = Mutex::new(None);

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
    if let Some(prepared) = prepared {
        exit::answer(&prepared.bytes, prepared.exit_code);
    }
}
