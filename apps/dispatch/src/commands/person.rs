//! What only a person may do: refused inside the process tree of an agent, whose tools could otherwise answer for it.

use crate::failure::Failure;
use dispatch_os::process::is_below_own_process;

/// Refuses when our agent has started this process: then it is a tool call.
pub(crate) fn require_person(what: &str) -> Result<(), Failure> {
    if !is_below_own_process() {
        return Ok(());
    }
    Err(Failure::usage(format!("an agent cannot {what}: this command was started by a tool call"))
        .hint("run it in a terminal of your own"))
}
