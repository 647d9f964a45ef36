//! Which programs this process was started by, as far as the system tells.

use super::launch::TOKEN_VARIABLE;
use crate::{environment, files};
use std::ffi::CStr;

/// The most processes that are looked at.
const MAX_PARENTS: usize = 64;
const OWN_PROGRAM: &CStr = c"dispatch";
/// What the process is called that stands between us and what our tools start.
pub(super) const GUARDIAN_NAME: &CStr = c"dispatch-guard";

/// Whether one of our own processes started this one, as a tool call does: it stands below one, or it has the mark that
/// everything below a tool call is given. A guardian adopts what loses its parent, so a double fork and `setsid` change
/// nothing; a process that kills its guardian, which runs as the same user, and clears its environment is not found.
#[must_use]
pub fn is_below_own_process() -> bool {
    let is_marked = environment::variable(TOKEN_VARIABLE).ok().flatten().is_some_and(|value| !value.is_empty());
    let is_own = |program: &String| [OWN_PROGRAM, GUARDIAN_NAME].iter().any(|own| own.to_bytes() == program.as_bytes());
    is_marked || parent_programs().iter().any(is_own)
}

/// The names of the processes above this one, nearest first, at most 15 letters of each. Empty where the system does not
/// tell. The system names a process after its program; one that is shielded tells no more than that.
#[must_use]
pub fn parent_programs() -> Vec<String> {
    let mut found = Vec::new();
    let mut next = process("self").map(|(_, parent)| parent);
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < MAX_PARENTS) {
        let Some((name, parent)) = process(&pid.to_string()) else { break };
        found.push(name);
        next = Some(parent);
    }
    found
}

/// The name and the parent of a process: the second and fourth field of its `stat`. The name may contain anything.
fn process(id: &str) -> Option<(String, u32)> {
    let stat = files::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (before, rest) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), rest.split_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn whoever_started_the_test_is_above_it() {
        let found = parent_programs();
        assert!(!found.is_empty() && !found[0].is_empty(), "{found:?}");
    }
}
