//! Which variables a child gets to see: few by default, so that secrets of this process stay here.

use std::ffi::{OsStr, OsString};

use super::spec::ChildSpec;
use crate::environment;

const PASSED_ON: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"];
const PASSED_ON_WINDOWS: &[&str] = &[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "USERNAME",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "HOMEDRIVE",
    "HOMEPATH",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// Whether a variable of this process reaches a child without being asked for.
pub fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if cfg!(windows) {
        let upper = name.to_ascii_uppercase();
        return PASSED_ON.contains(&upper.as_str()) || PASSED_ON_WINDOWS.contains(&upper.as_str());
    }
    PASSED_ON.contains(&name) || name.starts_with("LC_")
}

/// The whole environment of the child: the allow-list, then what the caller allowed, then what the caller set.
pub(super) fn of_child(spec: &ChildSpec) -> Vec<(OsString, OsString)> {
    let inherited =
        environment::variables().filter(|(name, _)| is_passed_on(name) || spec.allowed_variables.contains(name));
    inherited.chain(spec.variables.iter().cloned()).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_variables_are_passed_on() {
        for name in ["PATH", "HOME", "LC_ALL", "LC_TIME", "TZ", "TMPDIR"] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "path", "LD_PRELOAD", "PATHS", "LC", "SSH_AUTH_SOCK", ""] {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
    }
}
