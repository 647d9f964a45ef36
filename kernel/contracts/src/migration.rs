//! Schema changes that an extension declares; the kernel decides which of them to run.

use serde::{Deserialize, Serialize};

/// One forward step of an extension's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// From 1, without gaps.
    pub version: u32,
    /// What it does, in a few words.
    pub name: &'static str,
    /// Statements in the portable subset, run in one transaction.
    pub statements: &'static [&'static str],
}

impl Migration {
    /// A fingerprint of the statements (FNV-1a), to notice that an applied step was edited.
    pub fn checksum(&self) -> u64 {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for statement in self.statements {
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
