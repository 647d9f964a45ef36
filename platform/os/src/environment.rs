//! The only reader of the process environment, so that every variable the product looks at is found here by search.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::OsError;

/// The processor family this program was built for, such as `x86_64`.
pub const ARCHITECTURE: &str = std::env::consts::ARCH;
/// The operating system this program was built for, such as `linux`.
pub const OPERATING_SYSTEM: &str = std::env::consts::OS;
/// What the file names of programs end with: `.exe` on Windows, else nothing.
pub const PROGRAM_SUFFIX: &str = std::env::consts::EXE_SUFFIX;

/// The variable as it is; unset differs from empty.
#[inline]
pub fn variable_os(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The variable as text; an empty one counts as unset.
///
/// # Errors
/// When the value is not UTF-8. The error names the variable and does not show the value.
pub fn variable(name: &str) -> Result<Option<String>, OsError> {
    match variable_os(name) {
        None => Ok(None),
        Some(value) => match value.into_string() {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(OsError::VariableNotUtf8 { name: name.to_owned() }),
        },
    }
}

/// The name of this machine, as people know it in a network; "unknown" where it has none.
#[must_use]
pub fn machine_name() -> String {
    #[cfg(unix)]
    let name = Some(rustix::system::uname().nodename().to_string_lossy().into_owned());
    #[cfg(not(unix))]
    let name = variable("COMPUTERNAME").ok().flatten();
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// The name of the user as the system's own variables give it; "unknown" where there are none.
#[must_use]
pub fn user_name() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| variable(name).ok().flatten());
    named.unwrap_or_else(|| "unknown".to_owned())
}

/// The variable as a path, byte for byte; an empty one counts as unset.
pub fn variable_path(name: &str) -> Option<PathBuf> {
    variable_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether the variable is set to something other than the empty string.
pub fn is_set(name: &str) -> bool {
    variable_os(name).is_some_and(|value| !value.is_empty())
}

/// Every variable of this process.
#[inline]
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// The folders in a variable such as `PATH`.
#[inline]
pub fn split_paths(value: &OsStr) -> impl Iterator<Item = PathBuf> + '_ {
    std::env::split_paths(value)
}

/// The folders as one value of a variable such as `PATH`; a folder that cannot stand in it is left out.
pub fn join_paths(folders: &[PathBuf]) -> OsString {
    let possible = folders.iter().filter(|folder| std::env::join_paths([folder]).is_ok());
    std::env::join_paths(possible).unwrap_or_default()
}

/// The system's place for temporary files.
#[inline]
pub fn temporary_folder() -> PathBuf {
    std::env::temp_dir()
}

/// The name that the program was called by, without folders and without the system's suffix: that of a link where it was
/// called through one.
pub fn called_as() -> Option<String> {
    let words = std::env::args_os().next()?;
    Some(Path::new(&words).file_stem()?.to_string_lossy().into_owned())
}

/// The command line without the program name.
#[inline]
pub fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// The folder this process works in.
///
/// # Errors
/// When it was removed or may not be read.
pub fn current_folder() -> Result<PathBuf, OsError> {
    std::env::current_dir().map_err(|source| OsError::io("find the working folder", ".".as_ref(), source))
}

/// The executable file of this process.
///
/// # Errors
/// When the system does not tell.
pub fn current_program() -> Result<PathBuf, OsError> {
    std::env::current_exe().map_err(|source| OsError::io("find the executable", "self".as_ref(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unset_variable_is_absent_in_every_form() {
        let name = "DISPATCH_OS_TEST_NEVER_SET";
        assert_eq!(variable_os(name), None);
        assert_eq!(variable(name).unwrap(), None);
        assert_eq!(variable_path(name), None);
        assert!(!is_set(name));
    }

    #[test]
    fn a_set_variable_is_read_and_listed() {
        let path_variable = variable("PATH").unwrap().unwrap();
        assert!(is_set("PATH"));
        assert!(variables().any(|(name, value)| name == "PATH" && value == path_variable.as_str()));
    }
}
