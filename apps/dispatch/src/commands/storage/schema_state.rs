//! How the tables of a database differ from those that this program knows.
//!
//! Pure.

use std::collections::BTreeMap;
use std::fmt;

/// A namespace whose last migration is another one than this program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct SchemaDifference {
    namespace: String,
    found: u32,
    known: u32,
}

impl SchemaDifference {
    /// What differs. A namespace that only one side knows is no difference: its tables are made when they are needed, or
    /// belong to an extension that is not installed here.
    pub(in crate::commands) fn between(known: &BTreeMap<String, u32>, found: &BTreeMap<String, u32>) -> Vec<Self> {
        let both = known.iter().filter_map(|(name, known)| Some((name, *known, *found.get(name)?)));
        both.filter(|(_, known, found)| known != found)
            .map(|(namespace, known, found)| Self { namespace: namespace.clone(), found, known })
            .collect()
    }

    /// Whether a newer version of this program changed the tables.
    pub(in crate::commands) fn is_newer(&self) -> bool {
        self.found > self.known
    }
}

impl fmt::Display for SchemaDifference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, found, known } = self;
        match self.is_newer() {
            true => write!(formatter, "{namespace} has migration {found}, and this version knows only {known}"),
            false => write!(formatter, "{namespace} has migration {found}, and {known} is due"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_behind_and_ahead_are_told_apart() {
        let versions = |all: &[(&str, u32)]| all.iter().map(|(name, version)| ((*name).to_owned(), *version)).collect();
        let known: BTreeMap<String, u32> = versions(&[("a", 3), ("b", 2), ("c", 1), ("unused", 1)]);
        let found = versions(&[("a", 3), ("b", 1), ("c", 2), ("foreign", 9)]);
        let told: Vec<(String, bool)> = SchemaDifference::between(&known, &found)
            .iter()
            .map(|difference| (difference.to_string(), difference.is_newer()))
            .collect();
        let expected = [
            ("b has migration 1, and 2 is due".to_owned(), false),
            ("c has migration 2, and this version knows only 1".to_owned(), true),
        ];
        assert_eq!(told, expected);
    }
}
