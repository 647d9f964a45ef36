//! The operating system's keyring, reached through the program that comes with it.
//!
//! The key travels through pipes alone: never in an argument, which every user of the machine can read.

use crate::error::KeyError;
use dispatch_contracts::secret::Secret;
use dispatch_os::process::{ChildOutcome, ChildSpec};
use dispatch_os::{ChildEnd, environment};
use std::path::PathBuf;
use std::time::Duration;

/// How long the keyring may take; a person may have to unlock it.
const TIMEOUT: Duration = Duration::from_secs(60);
/// What the entries belong to.
const SERVICE: &str = "dispatch";
/// What the program needs to find the keyring of this session.
const SESSION_VARIABLES: [&str; 5] =
    ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"];

/// Which program is asked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keyring {
    /// `secret-tool` of libsecret.
    SecretTool(PathBuf),
    /// `security` of macOS.
    Security(PathBuf),
}

impl Keyring {
    /// The keyring of this session, as far as can be told without asking it.
    pub(crate) fn of_session() -> Option<Self> {
        if cfg!(target_os = "macos") {
            return Some(Self::Security(PathBuf::from("/usr/bin/security")));
        }
        let has_session = cfg!(unix) && environment::is_set("DBUS_SESSION_BUS_ADDRESS");
        has_session.then(|| Self::SecretTool(PathBuf::from("secret-tool")))
    }

    /// Keeps a key under a name, replacing an older one.
    pub(crate) fn put(&self, name: &str, key: &Secret) -> Result<(), KeyError> {
        let child = match self {
            Self::SecretTool(program) => self
                .child(program)
                .args(["store", &format!("--label=Dispatch key {name}"), "service", SERVICE, "name", name])
                .stdin(key.expose().as_bytes()),
            // `security -i` reads its command from standard input, arguments and all.
            Self::Security(program) => {
                let command =
                    format!("add-generic-password -U -s {SERVICE} -a {} -w {}\n", quoted(name), quoted(key.expose()));
                self.child(program).arg("-i").stdin(command)
            }
        };
        succeeded(&child.run()).map(|_| ())
    }

    /// The key of a name.
    pub(crate) fn get(&self, name: &str) -> Result<Secret, KeyError> {
        let child = match self {
            Self::SecretTool(program) => self.child(program).args(["lookup", "service", SERVICE, "name", name]),
            Self::Security(program) => {
                self.child(program).args(["find-generic-password", "-s", SERVICE, "-a", name, "-w"])
            }
        };
        let text = succeeded(&child.run())?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(KeyError::Keyring { why: format!("it has no key named `{name}`") });
        }
        Ok(Secret::new(text))
    }

    /// Removes a key; a missing one is not an error.
    pub(crate) fn remove(&self, name: &str) -> Result<(), KeyError> {
        let child = match self {
            Self::SecretTool(program) => self.child(program).args(["clear", "service", SERVICE, "name", name]),
            Self::Security(program) => self.child(program).args(["delete-generic-password", "-s", SERVICE, "-a", name]),
        };
        match child.run().end {
            // Both programs fail when there is nothing to forget.
            ChildEnd::Exited { .. } => Ok(()),
            end => Err(KeyError::Keyring { why: end.to_string() }),
        }
    }

    fn child(&self, program: &PathBuf) -> ChildSpec {
        let child = ChildSpec::new(program).timeout(TIMEOUT);
        SESSION_VARIABLES.iter().fold(child, |child, name| child.pass_variable(*name))
    }
}

/// What the program printed. What it says about a failure is not repeated: it may quote its input.
fn succeeded(outcome: &ChildOutcome) -> Result<String, KeyError> {
    if outcome.succeeded() {
        return Ok(outcome.stdout.text());
    }
    Err(KeyError::Keyring { why: outcome.end.to_string() })
}

/// A word for the command language of `security`.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|letter| match letter {
            '"' | '\\' => vec!['\\', letter],
            _ => vec![letter],
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    /// A program that behaves like `secret-tool` and writes down its arguments and environment.
    pub(crate) fn stand_in(folder: &Path) -> Keyring {
        let script = format!(
            "#!/bin/sh\ncd '{}' || exit 9\necho \"$@\" >> arguments\nenv >> environment\ncase \"$1\" in\nstore) cat > kept ;;\nlookup) [ -f kept ] && cat kept || exit 1 ;;\nclear) rm kept ;;\nesac\n",
            folder.display()
        );
        let program = folder.join("secret-tool");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Keyring::SecretTool(program)
    }

    #[test]
    fn a_key_is_kept_found_and_forgotten_and_is_in_no_argument() {
        let folder = tempfile::tempdir().unwrap();
        let keyring = stand_in(folder.path());
        let key = Secret::new("canary-key");
        keyring.put("api.openai.com", &key).unwrap();
        assert_eq!(keyring.get("api.openai.com").unwrap(), key);
        keyring.remove("api.openai.com").unwrap();
        keyring.remove("api.openai.com").unwrap();
        let missing = keyring.get("api.openai.com").unwrap_err();
        assert!(matches!(missing, KeyError::Keyring { .. }) && missing.hint().is_some(), "{missing}");
        for file in ["arguments", "environment"] {
            let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
            assert!(!written.is_empty() && !written.contains("canary-key"), "{file}: {written}");
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_without_the_key() {
        let keyring = Keyring::SecretTool(PathBuf::from("/nonexistent/secret-tool"));
        let error = keyring.put("a", &Secret::new("canary-key")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary-key"), "{error}");
    }

    #[test]
    fn words_for_security_cannot_end_early() {
        assert_eq!(quoted(r#"a"b\c"#), r#""a\"b\\c""#);
    }
}
