//! The program that is registered with hosts.

use super::host_detection::HostSurroundings as _;
use super::registration_root::RegistrationRoot;
use dispatch_hook_dialects::register::Scope;
use dispatch_os::environment::PROGRAM_SUFFIX;
use std::path::Path;

/// The small program for hook events alone. A link to `dispatch` of this name does the same.
pub(crate) const HOOK_PROGRAM: &str = "dispatch-hook";

/// What to say where registrations name the program and it cannot be found.
pub(super) fn missing_from_path(place: &RegistrationRoot) -> Option<String> {
    let is_missing = place.scope == Scope::Project && !place.on_path(HOOK_PROGRAM);
    is_missing.then(|| {
        format!(
            "`{HOOK_PROGRAM}` is not on PATH, so agents go on without Dispatch; install it there, or a link to \
             `dispatch` of that name"
        )
    })
}

/// The words before the event: the small program if it stands beside this one, else `dispatch hook`.
pub(super) fn words(own: &Path, is_file: impl Fn(&Path) -> bool) -> Vec<String> {
    let beside = own.with_file_name(format!("{HOOK_PROGRAM}{}", PROGRAM_SUFFIX));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    if is_file(&beside) { vec![text(&beside)] } else { vec![text(own), "hook".to_owned()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_small_program_is_preferred_where_it_is_installed() {
        let own = Path::new("/opt/dispatch/bin/dispatch");
        assert_eq!(words(own, |_| false), ["/opt/dispatch/bin/dispatch", "hook"]);
        let small = format!("/opt/dispatch/bin/dispatch-hook{}", std::env::consts::EXE_SUFFIX);
        assert_eq!(words(own, |path| path == Path::new(&small)), [small.as_str()]);
    }
}
