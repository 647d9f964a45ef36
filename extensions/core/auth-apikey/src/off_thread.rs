//! Runs work that waits for files and processes on a thread of its own.

use crate::error::KeyError;
use futures_channel::oneshot;

/// The result of blocking work, without holding up the caller's runtime.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KeyError> + Send + 'static,
) -> Result<T, KeyError> {
    let (sender, receiver) = oneshot::channel();
    let started = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        // Nobody waiting any more is no failure.
        let _ = sender.send(work());
    });
    let lost = |why: String| KeyError::Keyring { why };
    started.map_err(|error| lost(format!("no thread could be started: {error}")))?;
    receiver.await.unwrap_or_else(|_| Err(lost("the work on keys was broken off".to_owned())))
}
