//! Starts a program that outlives this one: in a new session, without a terminal and without our streams.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use super::launch::TOKEN_VARIABLE;
use crate::{OsError, environment};

/// Starts it and does not wait. It gets this process's environment without the variables that `hides` names; gives its
/// process number.
///
/// # Errors
/// When it cannot be started.
pub fn start_detached<A: AsRef<OsStr>>(
    program: &Path,
    arguments: impl IntoIterator<Item = A>,
    folder: &Path,
    hides: impl Fn(&str) -> bool,
) -> Result<u32, OsError> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // With the mark of a run that this process belongs to, it would be ended with that run.
    command.env_remove(TOKEN_VARIABLE);
    for (name, _) in environment::variables() {
        if name.to_str().is_some_and(&hides) {
            command.env_remove(name);
        }
    }
    leave_session(&mut command);
    let child = command.spawn().map_err(|source| OsError::io("start", program, source))?;
    Ok(child.id())
}

#[cfg(unix)]
fn leave_session(command: &mut Command) {
    let leave = || rustix::process::setsid().map(drop).map_err(std::io::Error::from);
    #[allow(unsafe_code, reason = "a session can only be left between fork and exec")]
    // SAFETY: the closure makes one system call, allocates nothing and takes no lock.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, leave);
    }
}

#[cfg(windows)]
fn leave_session(command: &mut Command) {
    const DETACHED_PROCESS: u32 = 0x0000_0008;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
    std::os::windows::process::CommandExt::creation_flags(command, DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
}

#[cfg(not(any(unix, windows)))]
fn leave_session(_: &mut Command) {}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn it_leads_a_session_of_its_own_in_the_folder_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $$ $(cut -d' ' -f6 /proc/$$/stat) ${CARGO_MANIFEST_DIR-hidden} > said.tmp; mv said.tmp said";
        let hides = |name: &str| name.starts_with("CARGO_");
        start_detached(Path::new("/bin/sh"), ["-c", script], folder.path(), hides).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let said = loop {
            if let Ok(said) = std::fs::read_to_string(folder.path().join("said")) {
                break said;
            }
            assert!(Instant::now() < deadline, "it never ran");
            std::thread::sleep(Duration::from_millis(5));
        };
        let words: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(words[0], words[1], "it leads its session");
        assert_eq!(words[2], "hidden");
        let missing = start_detached::<&str>(Path::new("/no/such/program"), [], folder.path(), |_| false);
        assert!(missing.unwrap_err().is_not_found());
    }
}
