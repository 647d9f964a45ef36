//! Starts the child: its own process group, a scrubbed environment, a token that marks its descendants.

use std::io;
use std::process::{Child, Command, Stdio};

use super::child_files::ChildFiles;
use super::observe::{self, ChildFilter, ObservedWrites, Observer};
#[cfg(unix)]
use super::outcome::StartCause;
use super::outcome::{StartFailure, start_failure};
use super::spec::ChildSpec;
use super::{Captured, ChildEnd, child_environment};
use crate::environment;
use crate::ids::Ulid;

/// Marks every descendant; a nested run appends to the token it was started under.
pub(super) const TOKEN_VARIABLE: &str = "DISPATCH_PROCESS_TREE";

const MAX_NESTED_TOKENS: usize = 8;

/// What a supervised child leaves behind.
pub(super) struct EndedChild {
    pub(super) end: ChildEnd,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) seen: Option<ObservedWrites>,
}

/// A child that runs.
pub(super) struct StartedChild {
    pub(super) child: Child,
    pub(super) observer: Option<Observer>,
}

/// The own token of a run, and the value of the variable that carries it.
pub(super) struct TreeToken {
    pub(super) own: String,
    pub(super) value: String,
}

pub(super) fn new_token(id: Ulid) -> TreeToken {
    let own = id.to_string();
    let outer = environment::variable(TOKEN_VARIABLE).ok().flatten().unwrap_or_default();
    let mut tokens: Vec<&str> = outer.split(':').filter(|token| !token.is_empty()).collect();
    let surplus = (tokens.len() + 1).saturating_sub(MAX_NESTED_TOKENS);
    tokens.drain(..surplus);
    tokens.push(&own);
    let value = tokens.join(":");
    TreeToken { own, value }
}

pub(super) fn start(spec: &ChildSpec, files_of_child: &ChildFiles) -> Result<StartedChild, StartFailure> {
    let started = match observe::prepare(spec) {
        None => spawn(spec, files_of_child, None).map(|child| StartedChild { child, observer: None }),
        Some((observer, filter)) => match spawn(spec, files_of_child, Some(filter)) {
            Err(error) if observe::is_fault(&error) => {
                spawn(spec, files_of_child, None).map(|child| StartedChild { child, observer: None })
            }
            started => started.map(|child| StartedChild { child, observer: Some(observer) }),
        },
    };
    started.map_err(|error| {
        files_of_child.withdraw();
        start_failure(spec, error)
    })
}

fn spawn(spec: &ChildSpec, files_of_child: &ChildFiles, filter: Option<ChildFilter>) -> io::Result<Child> {
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.arguments)
        .env_clear()
        .envs(child_environment::of_child(spec))
        .env(TOKEN_VARIABLE, &files_of_child.token.value)
        .stdin(child_stdin(spec)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(folder) = &spec.working_folder {
        command.current_dir(folder);
    }
    isolate(&mut command, spec, files_of_child, filter);
    command.spawn()
}

fn child_stdin(spec: &ChildSpec) -> io::Result<Stdio> {
    match &spec.open_stdin {
        Some(reader) => Ok(reader.try_clone()?.into()),
        None if spec.stdin.is_empty() => Ok(Stdio::null()),
        None => Ok(Stdio::piped()),
    }
}

#[cfg(unix)]
pub(super) fn resource_failure(spec: &ChildSpec, error: io::Error) -> StartFailure {
    StartFailure { program: spec.program.to_string_lossy().into_owned(), cause: StartCause::OutOfResources(error) }
}

#[cfg(unix)]
fn isolate(command: &mut Command, spec: &ChildSpec, files_of_child: &ChildFiles, filter: Option<ChildFilter>) {
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(target_os = "linux")]
    prepare(command, spec, files_of_child, filter);
    #[cfg(not(target_os = "linux"))]
    let _ = (spec, files_of_child, filter);
}

#[cfg(not(unix))]
fn isolate(_command: &mut Command, _spec: &ChildSpec, _papers: &ChildFiles, _entrance: Option<ChildFilter>) {}

#[cfg(target_os = "linux")]
fn prepare(command: &mut Command, spec: &ChildSpec, files_of_child: &ChildFiles, filter: Option<ChildFilter>) {
    use super::guardian::KeptDescriptors;
    use super::marker::ExitMarker;
    use super::spec::DescendantPolicy;
    use super::{guardian, sandbox};
    let parent = std::process::id().cast_signed();
    let (family, leftovers, confinement) = (spec.descendants, spec.leftovers, spec.confinement.clone());
    let kept = KeptDescriptors {
        marker: files_of_child.marker.as_ref().map(ExitMarker::descriptor),
        inbox: filter.as_ref().map(ChildFilter::kept_by_guardian),
    };
    let between = move || {
        match family {
            DescendantPolicy::Free => die_with(parent)?,
            DescendantPolicy::Guarded => guardian::stand_between(parent, leftovers, kept)?,
        }
        confinement.as_ref().map_or(Ok(()), sandbox::enter)?;
        filter.as_ref().map_or(Ok(()), ChildFilter::enter)
    };
    #[allow(unsafe_code, reason = "both must be arranged between fork and exec")]
    // SAFETY: the closure makes plain system calls, allocates nothing and takes no lock. The descriptors are
    // live, because the files_of_child outlive the command and the filter is the closure's own.
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
