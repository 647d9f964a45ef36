//! The child's side: it puts itself under the filter and hands the listener out, as its last act before it
//! becomes its program.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::{calls, descriptor_passing};

/// Told when the filter is in place but its listener could not be handed out: the child must not go on, since
/// nobody would answer. No system call on the way to an exec gives this error.
const FAULT: i32 = libc::EOWNERDEAD;

/// What the child needs; it may be used between fork and exec.
pub(in crate::process) struct SeccompFilter {
    program: Vec<libc::sock_filter>,
    outlet: UnixStream,
    inbox: Arc<UnixStream>,
}

/// Whether starting failed for a reason that not observing removes.
pub(in crate::process) fn is_fault(error: &io::Error) -> bool {
    error.raw_os_error() == Some(FAULT)
}

/// Whether the kernel's messages are no longer than ours.
pub(super) fn has_known_sizes() -> bool {
    let mut sizes = libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    #[allow(unsafe_code, reason = "seccomp has no wrapper")]
    // SAFETY: the sizes are live for the call.
    let asked = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes) };
    asked == 0
        && usize::from(sizes.seccomp_notif) == size_of::<libc::seccomp_notif>()
        && usize::from(sizes.seccomp_notif_resp) == size_of::<libc::seccomp_notif_resp>()
}

impl SeccompFilter {
    pub(super) fn new(outlet: UnixStream, inbox: Arc<UnixStream>) -> Self {
        Self { program: calls::program(), outlet, inbox }
    }

    /// A descriptor that keeps the listener open for as long as it is open itself. If the guardian has it, the
    /// calls of a family whose observer died wait until the family is killed, instead of failing.
    pub(in crate::process) fn kept_by_guardian(&self) -> RawFd {
        self.inbox.as_raw_fd()
    }

    /// Must be the last act before exec. A system that refuses leaves the child as it was.
    pub(in crate::process) fn enter(&self) -> io::Result<()> {
        let Some(listener) = self.install() else {
            return Ok(());
        };
        descriptor_passing::send(&self.outlet, listener).map_err(|_| io::Error::from_raw_os_error(FAULT))?;
        // Nobody takes the second one out: it is there for the one who keeps the inbox open.
        let _ = descriptor_passing::send(&self.outlet, listener);
        Ok(())
    }

    /// The listener; it closes by itself at exec.
    fn install(&self) -> Option<RawFd> {
        let length = libc::c_ushort::try_from(self.program.len()).ok()?;
        let program = libc::sock_fprog { len: length, filter: self.program.as_ptr().cast_mut() };
        let listening = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // Calls that are being looked at are then only interrupted by a deadly signal; older kernels cannot.
        let undisturbed = listening | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        match set_filter(undisturbed, &program) {
            Err(libc::EINVAL) => set_filter(listening, &program).ok(),
            installed => installed.ok(),
        }
    }
}

fn set_filter(flags: libc::c_ulong, program: &libc::sock_fprog) -> Result<RawFd, i32> {
    match try_filter(flags, program) {
        Err(libc::EACCES) => {
            #[allow(unsafe_code, reason = "rustix has no wrapper that may be used here")]
            // SAFETY: plain numbers.
            unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            }
            try_filter(flags, program)
        }
        result => result,
    }
}

fn try_filter(flags: libc::c_ulong, program: &libc::sock_fprog) -> Result<RawFd, i32> {
    #[allow(unsafe_code, reason = "seccomp has no wrapper")]
    // SAFETY: the program is live for the call, and its length is true.
    let made =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, std::ptr::from_ref(program)) };
    match RawFd::try_from(made) {
        Ok(listener) if listener >= 0 => Ok(listener),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or_default()),
    }
}
