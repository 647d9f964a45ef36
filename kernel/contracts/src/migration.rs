//! Schema changes that an extension declares; the kernel decides which of them to run.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One forward step of an extension's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    version: u32,
    name: Cow<'static, str>,
    statements: MigrationText,
}

/// The statements: part of the program, or of an extension that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum MigrationText {
    Static(&'static [&'static str]),
    Loaded(Vec<String>),
}

impl Migration {
    /// A step of an extension that is compiled into the program. Versions count from 1, without gaps; the statements are
    /// in the portable subset and run in one transaction.
    pub const fn new(version: u32, name: &'static str, statements: &'static [&'static str]) -> Self {
        Self { version, name: Cow::Borrowed(name), statements: MigrationText::Static(statements) }
    }

    /// A step of an extension that was loaded while the program runs.
    pub const fn loaded(version: u32, name: String, statements: Vec<String>) -> Self {
        Self { version, name: Cow::Owned(name), statements: MigrationText::Loaded(statements) }
    }

    /// From 1, without gaps.
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// What it does, in a few words.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Statements in the portable subset, run in one transaction.
    pub fn statements(&self) -> impl Iterator<Item = &str> {
        let (fixed, loaded): (&[&str], &[String]) = match &self.statements {
            MigrationText::Static(fixed) => (fixed, &[]),
            MigrationText::Loaded(loaded) => (&[], loaded),
        };
        fixed.iter().copied().chain(loaded.iter().map(String::as_str))
    }

    /// A fingerprint of the statements (FNV-1a), to notice that an applied step was edited.
    pub fn checksum(&self) -> u64 {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for statement in self.statements() {
            for byte in statement.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        hash
    }
}

/// A step that a database has already taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedMigration {
    /// Its version.
    pub version: u32,
    /// The fingerprint it had then.
    pub checksum: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loaded_step_has_the_fingerprint_of_the_same_one_in_the_program() {
        let fixed = Migration::new(1, "a", &["CREATE TABLE a (id INTEGER)", "CREATE TABLE b (id INTEGER)"]);
        let statements = fixed.statements().map(str::to_owned).collect();
        let loaded = Migration::loaded(1, "a".to_owned(), statements);
        assert_eq!(fixed.checksum(), loaded.checksum());
        assert_ne!(fixed.checksum(), Migration::new(1, "a", &["CREATE TABLE a (id INTEGER)"]).checksum());
    }
}
