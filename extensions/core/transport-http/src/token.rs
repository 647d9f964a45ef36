//! The token that every client sends: created once, readable by its owner alone, compared in constant time.

use crate::contract::TransportError;
use dispatch_contracts::secret::Secret;
use dispatch_os::files::{create_dir_owner_only, read_text_at_most, replace_with};
use dispatch_os::ids::hex_id;
use dispatch_os::{Access, Durability, FileLock, LockKind, OsError, ReplaceOptions};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

const FILE_NAME: &str = "token";
const LOCK_NAME: &str = "token.lock";
/// 32 random bytes.
const TOKEN_DIGITS: usize = 64;
/// A user may write another token into the file.
const MIN_TOKEN_CHARS: usize = 32;
const MAX_FILE_BYTES: u64 = 4_096;
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// What a shown token is compared with.
#[derive(Clone)]
pub(crate) struct TokenCheck {
    digest: [u8; 32],
}

impl TokenCheck {
    pub(crate) fn new(token: &Secret) -> Self {
        Self { digest: digest(token.expose()) }
    }

    /// Digests are compared, so the time tells nothing about the token.
    pub(crate) fn fits(&self, shown: &str) -> bool {
        digest(shown) == self.digest
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The path of the token below the data folder.
pub(crate) fn token_file(data: &Path) -> std::path::PathBuf {
    data.join(FILE_NAME)
}

/// Reads the token, or creates it at the first start. Two programs that start at once agree on one.
pub(crate) fn read_or_make(data: &Path) -> Result<Secret, TransportError> {
    let file = token_file(data);
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
        assert_eq!(first.expose().len(), TOKEN_DIGITS);
        assert_eq!(read_or_make(&data).unwrap(), first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(token_file(&data)).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::metadata(&data).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn programs_that_start_at_once_agree() {
        let folder = tempfile::tempdir().unwrap();
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let data = folder.path().to_owned();
                std::thread::spawn(move || read_or_make(&data).unwrap().expose().to_owned())
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
        let check = TokenCheck::new(&Secret::new("abc"));
        assert!(check.fits("abc"));
        for other in ["", "ab", "abcd", "ABC", " abc"] {
            assert!(!check.fits(other), "{other}");
        }
    }
}
