//! `dispatch script-worker`: the child process in which a long-running Dispatch runs user scripts.

use crate::app::Status;
use crate::failure::Failure;

pub(crate) fn run() -> Result<Status, Failure> {
    dispatch_script::worker_main(std::io::stdin(), std::io::stdout())
        .map(|()| Status::Done)
        .map_err(|error| Failure::of(Status::Internal, &error))
}
