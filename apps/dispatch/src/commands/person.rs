//! What only a person may do: refused inside the process tree of an agent, whose tools could otherwise answer for it.

use crate::failure::Failure;
use dispatch_os::process::parent_programs;

/// The program of our own agent.
const OWN_PROGRAM: &str = "dispatch";

/// Refuses when one of the processes above this one is our agent: then a tool call has started it.
pub(crate) fn require_person(what: &str) -> Result<(), Failure> {
    let inside = parent_programs().iter().any(|program| program == OWN_PROGRAM);
    if !inside {
        return Ok(());
    }
    Err(Failure::usage(format!("an agent cannot {what}: this command was started by a tool call"))
        .hint("run it in a terminal of your own"))
}
