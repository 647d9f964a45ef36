//! Runs a command while the call waits: on another thread, stopped when the call is dropped.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dispatch_contracts::tool::{OutputStream, ToolContext, ToolError, ToolOutput};
use dispatch_os::threads::offload;
use dispatch_os::{Canceller, ChildOutcome, ChildSpec};
use futures_util::future::{Either, select};

use crate::tool_errors::ended;
use crate::transcript::CommandTranscript;

/// Runs the child to its end. An end other than code 0 is a failure, told with all that was printed.
pub(crate) async fn run(child: ChildSpec, context: ToolContext, timeout: Duration) -> Result<ToolOutput, ToolError> {
    let transcript = Arc::new(Mutex::new(CommandTranscript::default()));
    // Dropped with this future, whether the child has ended or the caller is gone.
    let stop = StopOnDrop(Canceller::new());
    let work = {
        let (canceller, transcript, context) = (stop.0.clone(), Arc::clone(&transcript), context.clone());
        offload("shell command", move || {
            child.run_with(&canceller, &mut |stream, chunk| {
                transcript.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
                context.output(stream_of(stream), chunk);
            })
        })
    };
    let work = work.map_err(|error| ToolError(format!("Cannot start a thread for this: {error}. Try again.")))?;
    let outcome = match select(work, context.cancel.cancelled()).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(((), work)) => {
            stop.0.cancel();
            work.await
        }
    };
    let printed = transcript.lock().unwrap_or_else(PoisonError::into_inner).text();
    let text = report(&printed, &outcome, timeout);
    if outcome.succeeded() { Ok(ToolOutput::text(text)) } else { Err(ToolError(text)) }
}

pub(crate) fn stream_of(stream: dispatch_os::OutputStream) -> OutputStream {
    match stream {
        dispatch_os::OutputStream::Stdout => OutputStream::Stdout,
        dispatch_os::OutputStream::Stderr => OutputStream::Stderr,
    }
}

fn report(printed: &str, outcome: &ChildOutcome, timeout: Duration) -> String {
    let ended = ended(outcome, Some(timeout));
    match printed.trim_end() {
        "" => format!("[no output; {ended}]"),
        printed => format!("{printed}\n[{ended}]"),
    }
}

struct StopOnDrop(Canceller);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
