//! What a tool prints while it runs: shown as text under its call id, and its end kept.

use super::truncate::tail;
use dispatch_contracts::ids::CallId;
use dispatch_contracts::tool::{OutputSink, OutputStream};
use dispatch_contracts::turn::TurnEvent;
use std::sync::{Arc, Mutex, PoisonError};

/// How much of a call's output is kept for the case that its end is never seen.
const KEPT_BYTES: usize = 4 * 1024;

/// The live output of one call.
#[derive(Default)]
pub(super) struct LiveOutput {
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    kept: String,
}

impl LiveOutput {
    /// A sink for a tool; every piece is passed on under the call's id.
    pub(super) fn sink(self: &Arc<Self>, call: CallId, emit: Arc<dyn Fn(TurnEvent) + Send + Sync>) -> OutputSink {
        let output = Arc::clone(self);
        Arc::new(move |stream, bytes| {
            let text = output.take(stream, bytes);
            if !text.is_empty() {
                emit(TurnEvent::CallOutput { call: call.clone(), stream, text });
            }
        })
    }

    /// The end of what was printed so far.
    pub(super) fn kept(&self) -> String {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).kept.clone()
    }

    /// Adds bytes; returns the text that is complete. A character cut in two waits for its rest.
    fn take(&self, stream: OutputStream, bytes: &[u8]) -> String {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = match stream {
            OutputStream::Stdout => &mut streams.stdout,
            OutputStream::Stderr => &mut streams.stderr,
        };
        pending.extend_from_slice(bytes);
        let text = drain_text(pending);
        streams.kept.push_str(&text);
        if streams.kept.len() > 2 * KEPT_BYTES {
            streams.kept = tail(&streams.kept, KEPT_BYTES).to_owned();
        }
        text
    }
}

fn drain_text(pending: &mut Vec<u8>) -> String {
    let incomplete = match std::str::from_utf8(pending) {
        Err(error) if error.error_len().is_none() => pending.len() - error.valid_up_to(),
        _ => 0,
    };
    let rest = pending.split_off(pending.len() - incomplete);
    let text = String::from_utf8_lossy(pending).into_owned();
    *pending = rest;
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_is_put_together_again() {
        let output = LiveOutput::default();
        let bytes = "aé".as_bytes();
        assert_eq!(output.take(OutputStream::Stdout, &bytes[..2]), "a");
        assert_eq!(output.take(OutputStream::Stderr, b"x"), "x");
        assert_eq!(output.take(OutputStream::Stdout, &bytes[2..]), "é");
        assert_eq!(output.take(OutputStream::Stdout, &[0xff, b'b']), "\u{fffd}b");
    }

    #[test]
    fn only_the_end_is_kept() {
        let output = LiveOutput::default();
        for _ in 0..100 {
            output.take(OutputStream::Stdout, &[b'x'; 1024]);
        }
        assert!(output.kept().len() <= 2 * KEPT_BYTES);
    }
}
