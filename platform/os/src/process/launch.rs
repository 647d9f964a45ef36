//! Starts the child: its own process group, a scrubbed environment, a token that marks its descendants.

#[cfg(unix)]
use std::io;
use std::process::{Child, Command, Stdio};

use super::outcome::{StartCause, StartFailure, start_failure};
use super::spec::ChildSpec;
use super::{Captured, End, environment};
use crate::ids::Ulid;
use crate::{OsError, env};

/// Marks every descendant; a nested run appends to the token it was started under.
pub(super) const TOKEN_VARIABLE: &str = "DISPATCH_PROCESS_TREE";

const MAX_NESTED_TOKENS: usize = 8;

/// What a supervised child leaves behind.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
}

/// The own token of a run, and the value of the variable that carries it.
pub(super) struct Token {
    pub(super) own: String,
    pub(super) value: String,
}

pub(super) fn new_token(id: Ulid) -> Token {
    let own = id.to_string();
    let outer = env::text(TOKEN_VARIABLE).ok().flatten().unwrap_or_default();
    let mut tokens: Vec<&str> = outer.split(':').filter(|token| !token.is_empty()).collect();
    let surplus = (tokens.len() + 1).saturating_sub(MAX_NESTED_TOKENS);
    tokens.drain(..surplus);
    tokens.push(&own);
    let value = tokens.join(":");
    Token { own, value }
}

pub(super) fn start(spec: &ChildSpec, token: &Token) -> Result<Child, StartFailure> {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.arguments)
        .env_clear()
        .envs(environment::of_child(spec))
        .env(TOKEN_VARIABLE, &token.value)
        .stdin(if spec.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = &spec.working_folder {
        command.current_dir(folder);
    }
    isolate(&mut command, spec);
    command.spawn().map_err(|error| start_failure(spec, error))
}

pub(super) fn record_failure(spec: &ChildSpec, error: OsError) -> StartFailure {
    StartFailure {
        program: spec.program.to_string_lossy().into_owned(),
        cause: StartCause::BadRecordFolder(Box::new(error)),
    }
}

#[cfg(unix)]
pub(super) fn resource_failure(spec: &ChildSpec, error: io::Error) -> StartFailure {
    StartFailure { program: spec.program.to_string_lossy().into_owned(), cause: StartCause::OutOfResources(error) }
}

#[cfg(unix)]
fn isolate(command: &mut Command, spec: &ChildSpec) {
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(target_os = "linux")]
    prepare(command, spec);
    #[cfg(not(target_os = "linux"))]
    let _ = spec;
}

#[cfg(not(unix))]
fn isolate(_command: &mut Command, _spec: &ChildSpec) {}

#[cfg(target_os = "linux")]
fn prepare(command: &mut Command, spec: &ChildSpec) {
    use super::spec::Family;
    use super::{guardian, sandbox};
    let parent = std::process::id().cast_signed();
    let (family, leftovers, confinement) = (spec.family, spec.leftovers, spec.confinement.clone());
    let between = move || {
        match family {
            Family::Free => die_with(parent)?,
            Family::Guarded => guardian::stand_between(parent, leftovers)?,
        }
        confinement.as_ref().map_or(Ok(()), sandbox::enter)
    };
    #[allow(unsafe_code, reason = "both must be arranged between fork and exec")]
    // SAFETY: the closure makes plain system calls, allocates nothing and takes no lock.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(command, between);
    }
}

#[cfg(target_os = "linux")]
fn die_with(parent: i32) -> io::Result<()> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the request was in place; then nobody would send it.
    if getppid().map(Pid::as_raw_pid) == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ECANCELED))
    }
}
