//! The only reader of the process environment, so that every variable the product looks at is found here by search.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::OsError;

/// The variable as it is, unset told apart from empty.
pub fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The variable as text; an empty one counts as unset.
///
/// A value that is not UTF-8 is an error that names the variable and never shows the value.
pub fn text(name: &str) -> Result<Option<String>, OsError> {
    match raw(name) {
        None => Ok(None),
        Some(value) => match value.into_string() {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(OsError::VariableNotUtf8 { name: name.to_owned() }),
        },
    }
}

/// The variable as a path, byte for byte; an empty one counts as unset.
pub fn path(name: &str) -> Option<PathBuf> {
    raw(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Whether the variable is set to something other than the empty string.
pub fn is_set(name: &str) -> bool {
    raw(name).is_some_and(|value| !value.is_empty())
}

/// Every variable of this process.
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}

/// The command line without the program name.
pub fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// The folder this process works in.
pub fn current_dir() -> Result<PathBuf, OsError> {
    std::env::current_dir().map_err(|source| OsError::io("find the working folder", ".".as_ref(), source))
}

/// The executable file of this process.
pub fn current_exe() -> Result<PathBuf, OsError> {
    std::env::current_exe().map_err(|source| OsError::io("find the executable", "self".as_ref(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unset_variable_is_absent_in_every_form() {
        let name = "DISPATCH_OS_TEST_NEVER_SET";
        assert_eq!(raw(name), None);
        assert_eq!(text(name).unwrap(), None);
        assert_eq!(path(name), None);
        assert!(!is_set(name));
    }

    #[test]
    fn a_set_variable_is_read_and_listed() {
        let path_variable = text("PATH").unwrap().unwrap();
        assert!(is_set("PATH"));
        assert!(all().any(|(name, value)| name == "PATH" && value == path_variable.as_str()));
    }
}
