//! Lets a child write below chosen folders only, where the kernel can enforce that (Landlock).

use std::path::Path;

/// Why writes cannot be confined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfinementError {
    /// The system has no such thing, or it is switched off.
    #[error("this system cannot confine the writes of a command: {reason}")]
    Unavailable {
        /// Why, for a person.
        reason: String,
    },
    /// A folder that should stay writable cannot be opened.
    #[error(transparent)]
    Folder(#[from] crate::OsError),
}

/// Where a child may write. Clones are the same confinement.
#[derive(Clone, Debug)]
pub struct WriteConfinement {
    #[cfg(target_os = "linux")]
    rules: std::sync::Arc<std::os::fd::OwnedFd>,
}

impl WriteConfinement {
    /// Writing, creating, removing and renaming below these folders, and in the devices every program
    /// uses (`/dev/null` and its like); nowhere else. Reading and running stay as they are. A set-id
    /// program gains nothing under it.
    ///
    /// # Errors
    /// When the system cannot do it (needs Linux 6.2 with Landlock switched on), or a folder is missing.
    pub fn below(folders: &[&Path]) -> Result<Self, ConfinementError> {
        #[cfg(target_os = "linux")]
        {
            linux::rules(folders).map(|rules| Self { rules: std::sync::Arc::new(rules) })
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = folders;
            Err(ConfinementError::Unavailable { reason: "it is not Linux".to_owned() })
        }
    }
}

#[cfg(target_os = "linux")]
pub(super) use linux::enter;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::path::Path;

    use super::{ConfinementError, WriteConfinement};
    use crate::OsError;

    const WRITE_FILE: u64 = 1 << 1;
    /// Removing and making things of every type (bits 4 to 12), and moving them between folders.
    const CHANGE_FOLDERS: u64 = 0b1_1111_1111 << 4;
    const REFER: u64 = 1 << 13;
    const TRUNCATE: u64 = 1 << 14;
    const EVERYTHING: u64 = WRITE_FILE | CHANGE_FOLDERS | REFER | TRUNCATE;
    /// Truncating files could not be confined before this version.
    const MINIMUM_VERSION: libc::c_long = 3;
    const ASK_VERSION: u32 = 1;
    const RULE_PATH_BENEATH: u32 = 1;
    /// What programs write to without a second thought.
    const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx"];

    #[repr(C, packed)]
    struct PathBeneath {
        allowed: u64,
        parent: i32,
    }

    pub(super) fn rules(folders: &[&Path]) -> Result<OwnedFd, ConfinementError> {
        let version = version();
        if version < MINIMUM_VERSION {
            let reason = match version {
                ..=0 => "the kernel has no Landlock, or it is switched off".to_owned(),
                _ => format!("the kernel's Landlock is version {version}, and {MINIMUM_VERSION} is needed"),
            };
            return Err(ConfinementError::Unavailable { reason });
        }
        let rules = new_ruleset()?;
        for folder in folders {
            allow(&rules, folder, EVERYTHING)?;
        }
        for device in DEVICES.iter().map(Path::new).filter(|device| device.exists()) {
            allow(&rules, device, WRITE_FILE | TRUNCATE)?;
        }
        Ok(rules)
    }

    fn version() -> libc::c_long {
        #[allow(unsafe_code, reason = "Landlock has no wrapper in rustix")]
        // SAFETY: asking for the version takes no memory.
        unsafe {
            libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ASK_VERSION)
        }
    }

    fn new_ruleset() -> Result<OwnedFd, ConfinementError> {
        let handled = EVERYTHING;
        #[allow(unsafe_code, reason = "Landlock has no wrapper in rustix")]
        // SAFETY: the attribute is live for the call and its length is true; a descriptor that comes back is ours.
        unsafe {
            let made = libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, size_of::<u64>(), 0_u32);
            match i32::try_from(made) {
                Ok(descriptor) if descriptor >= 0 => Ok(OwnedFd::from_raw_fd(descriptor)),
                _ => Err(ConfinementError::Unavailable { reason: io::Error::last_os_error().to_string() }),
            }
        }
    }

    fn allow(rules: &OwnedFd, path: &Path, allowed: u64) -> Result<(), ConfinementError> {
        use rustix::fs::{CWD, Mode, OFlags, openat};
        let failed = |source: io::Error| OsError::io("open", path, source);
        let opened =
            openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let rule = PathBeneath { allowed, parent: opened.as_raw_fd() };
        #[allow(unsafe_code, reason = "Landlock has no wrapper in rustix")]
        // SAFETY: the rule and both descriptors are live for the call.
        let added = unsafe {
            libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), RULE_PATH_BENEATH, &raw const rule, 0_u32)
        };
        if added == 0 { Ok(()) } else { Err(failed(io::Error::last_os_error()).into()) }
    }

    /// Puts the calling process under the confinement. Called between fork and exec: plain system calls.
    pub(in crate::process) fn enter(confinement: &WriteConfinement) -> io::Result<()> {
        #[allow(unsafe_code, reason = "Landlock has no wrapper in rustix")]
        // SAFETY: plain system calls; the descriptor is live, because the caller holds the confinement.
        let entered = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::syscall(libc::SYS_landlock_restrict_self, confinement.rules.as_raw_fd(), 0_u32) == 0
        };
        if entered { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
