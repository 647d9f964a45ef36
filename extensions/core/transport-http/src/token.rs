//! The token that every client sends: created once, readable by its owner alone, compared in constant time.

use crate::contract::{APPROVAL_TOKEN_FILE, TOKEN_FILE, TransportError};
use dispatch_contracts::secret::Secret;
use dispatch_os::files::{close_to_others, create_dir_owner_only, read_text_at_most, replace_with};
use dispatch_os::ids::hex_id;
use dispatch_os::{Access, Durability, FileLock, LockKind, OsError, ReplaceOptions};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

const LOCK_NAME: &str = "token.lock";
/// 32 random bytes.
const TOKEN_DIGITS: usize = 64;
/// A user may write another token into the file.
const MIN_TOKEN_CHARS: usize = 32;
const MAX_FILE_BYTES: u64 = 4_096;
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The tokens of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerTokens {
    /// For every request.
    pub(crate) client: Secret,
    /// For every request, and for answers to questions.
    pub(crate) approval: Secret,
}

/// What a shown token is compared with.
#[derive(Clone)]
pub(crate) struct TokenCheck {
    client: [u8; 32],
    approval: [u8; 32],
}

impl TokenCheck {
    pub(crate) fn new(tokens: &ServerTokens) -> Self {
        Self { client: digest(tokens.client.expose()), approval: digest(tokens.approval.expose()) }
    }

    /// Whether the client may use the server. Digests are compared, so the time tells nothing about the token.
    pub(crate) fn fits(&self, shown: &str) -> bool {
        digest(shown) == self.client || self.may_answer(shown)
    }

    /// Whether the client may answer questions.
    pub(crate) fn may_answer(&self, shown: &str) -> bool {
        digest(shown) == self.approval
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The path of the token below the data folder.
pub(crate) fn token_file(data: &Path) -> std::path::PathBuf {
    data.join(TOKEN_FILE)
}

/// Takes the tokens away from other users who could read them; says which, and what mode each had.
pub(crate) fn close(data: &Path) -> Result<Vec<(std::path::PathBuf, u32)>, TransportError> {
    let mut closed = Vec::new();
    for file in [token_file(data), approval_token_file(data)] {
        let mode = close_to_others(&file).map_err(|source| TransportError::TokenFile { file: file.clone(), source })?;
        closed.extend(mode.map(|mode| (file, mode)));
    }
    Ok(closed)
}

/// The path of the token with which questions are answered.
pub(crate) fn approval_token_file(data: &Path) -> std::path::PathBuf {
    data.join(APPROVAL_TOKEN_FILE)
}

/// Reads the tokens, or creates them at the first start. Two programs that start at once agree on them.
pub(crate) fn read_or_make(data: &Path) -> Result<ServerTokens, TransportError> {
    let client = read_or_make_file(data, token_file(data))?;
    let approval = read_or_make_file(data, approval_token_file(data))?;
    if client == approval {
        let problem = "it is the same as the server's token";
        return Err(TransportError::InvalidToken { file: approval_token_file(data), problem });
    }
    Ok(ServerTokens { client, approval })
}

fn read_or_make_file(data: &Path, file: std::path::PathBuf) -> Result<Secret, TransportError> {
    let failed = |source: OsError| TransportError::TokenFile { file: file.clone(), source };
    create_dir_owner_only(data).map_err(failed)?;
    let lock = FileLock::acquire(&data.join(LOCK_NAME), LockKind::Exclusive, LOCK_WAIT);
    let _lock = lock.map_err(failed)?;
    match read_text_at_most(&file, MAX_FILE_BYTES) {
        Ok(text) => accept(&text).map_err(|problem| TransportError::InvalidToken { file: file.clone(), problem }),
        Err(error) if error.is_not_found() => {
            let token = hex_id(TOKEN_DIGITS);
            let options = ReplaceOptions {
                durability: Durability::ContentAndName,
                access: Access::OwnerOnly,
                ..ReplaceOptions::default()
            };
            replace_with(&file, format!("{token}\n").as_bytes(), options).map_err(failed)?;
            Ok(Secret::new(token))
        }
        Err(error) => Err(failed(error)),
    }
}

/// What the file holds, if that can be a token.
fn accept(text: &str) -> Result<Secret, &'static str> {
    let token = text.trim();
    if token.chars().count() < MIN_TOKEN_CHARS {
        return Err("it has fewer than 32 characters");
    }
    if !token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte)) {
        return Err("it has characters that a header cannot carry");
    }
    Ok(Secret::new(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_for_the_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let first = read_or_make(&data).unwrap();
        assert_eq!(first.client.expose().len(), TOKEN_DIGITS);
        assert_eq!(read_or_make(&data).unwrap(), first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            for file in [token_file(&data), approval_token_file(&data)] {
                assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
            }
            assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn programs_that_start_at_once_agree() {
        let folder = tempfile::tempdir().unwrap();
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let data = folder.path().to_owned();
                std::thread::spawn(move || read_or_make(&data).unwrap().approval.expose().to_owned())
            })
            .collect();
        let tokens: std::collections::BTreeSet<String> =
            starts.into_iter().map(|start| start.join().unwrap()).collect();
        assert_eq!(tokens.len(), 1);
    }

    #[test]
    fn a_file_that_is_no_token_is_refused_without_showing_it() {
        for bad in ["", "short", &"\u{e9}".repeat(40), &format!("{} {}", "a".repeat(32), "b".repeat(32))] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(token_file(folder.path()), bad).unwrap();
            let said = read_or_make(folder.path()).unwrap_err().to_string();
            assert!(said.contains("cannot use the token") && (bad.is_empty() || !said.contains(bad)), "{said}");
            assert_eq!(std::fs::read_to_string(token_file(folder.path())).unwrap(), bad, "nothing is overwritten");
        }
    }

    #[test]
    fn only_the_whole_token_fits() {
        let check = TokenCheck::new(&ServerTokens { client: Secret::new("abc"), approval: Secret::new("def") });
        assert!(check.fits("abc") && !check.may_answer("abc"), "the server's token answers no question");
        assert!(check.fits("def") && check.may_answer("def"));
        for other in ["", "ab", "abcd", "ABC", " abc"] {
            assert!(!check.fits(other), "{other}");
        }
    }
}
