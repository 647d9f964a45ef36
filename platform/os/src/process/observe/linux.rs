//! The observer's two sides: one that the child takes with it, and one that listens here.

mod calls;
mod descriptor_passing;
mod filter;
mod foreign;
mod listen;

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{ObservedWrites, Observing};
use crate::process::spec::{ChildSpec, DescendantPolicy, Leftovers};

pub(in crate::process) use filter::{SeccompFilter, is_fault};
use listen::WriteLog;

/// How long after the end of the family its last calls may take to be looked at.
const LAST_CALLS_WAIT: Duration = Duration::from_secs(2);
/// Callers' code runs on it, too.
const STACK_BYTES: usize = 512 * 1024;
/// The first kernel that tells a listener when no process is left under the filter.
const MINIMUM_KERNEL: (u32, u32) = (5, 9);

/// Listens until no process is left under the filter, also after this is dropped.
pub(in crate::process) struct SeccompObserver {
    write_log: Arc<Mutex<WriteLog>>,
    /// Closed when there is nothing more to hear.
    end: Receiver<()>,
}

/// Whether this kernel has what an observer needs.
pub(in crate::process) fn is_possible() -> bool {
    kernel_version().is_some_and(|version| version >= MINIMUM_KERNEL) && filter::has_known_sizes()
}

/// `None` if it was not asked for, cannot be, or should not be: a process that outlives us would have nobody
/// to let its calls go on, so only a family that ends as a whole is observed.
pub(in crate::process) fn prepare(spec: &ChildSpec) -> Option<(SeccompObserver, SeccompFilter)> {
    let on_write = match &spec.observing {
        Observing::Off => return None,
        Observing::Silent => None,
        Observing::Reporting(on_write) => Some(Arc::clone(on_write)),
    };
    let ends_as_a_whole = spec.descendants == DescendantPolicy::Guarded && spec.leftovers == Leftovers::Kill;
    if !ends_as_a_whole || !is_possible() {
        return None;
    }
    let (inbox, outlet) = UnixStream::pair().ok()?;
    let inbox = Arc::new(inbox);
    let write_log = Arc::new(Mutex::new(WriteLog::default()));
    let (ending, end) = channel();
    let (their_inbox, their_write_log) = (Arc::clone(&inbox), Arc::clone(&write_log));
    let listening = move || {
        let _until_the_end = ending;
        listen::listen(&their_inbox, &their_write_log, on_write.as_ref());
    };
    std::thread::Builder::new().name("child-writes".to_owned()).stack_size(STACK_BYTES).spawn(listening).ok()?;
    Some((SeccompObserver { write_log, end }, SeccompFilter::new(outlet, inbox)))
}

impl SeccompObserver {
    /// What was seen, once the family is gone.
    pub(in crate::process) fn finish(self) -> Option<ObservedWrites> {
        // A member that does not die keeps the thread, and only the thread, waiting.
        let _: Result<(), RecvTimeoutError> = self.end.recv_timeout(LAST_CALLS_WAIT);
        listen::lock(&self.write_log).take()
    }
}

fn kernel_version() -> Option<(u32, u32)> {
    version_of(&std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?)
}

fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_whatever_a_distribution_adds() {
        for (release, expected) in [
            ("6.18.44-fc", Some((6, 18))),
            ("5.9", Some((5, 9))),
            ("5.15.0-91-generic", Some((5, 15))),
            ("6.1-rc3", Some((6, 1))),
            ("4.4.0", Some((4, 4))),
            ("6.8\n", Some((6, 8))),
            ("linux", None),
            ("", None),
        ] {
            assert_eq!(version_of(release), expected, "{release}");
        }
        assert!(kernel_version().is_some());
    }
}
