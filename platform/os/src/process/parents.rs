//! Which programs this process was started by, as far as the system tells.

use crate::files;

/// The most processes that are looked at.
const MAX_PARENTS: usize = 64;

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
