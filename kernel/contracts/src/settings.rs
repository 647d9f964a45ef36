//! Settings with the origin of each value.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a value came from, weakest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "layer", rename_all = "lowercase")]
pub enum Origin {
    /// Built into the program.
    BuiltIn,
    /// The user's own file.
    Global {
        /// The file.
        file: String,
    },
    /// The project's file.
    Project {
        /// The file.
        file: String,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// A command-line flag.
    Flag {
        /// Its name.
        flag: String,
    },
}

/// One value and where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// The merged settings, by dotted name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings {
    values: BTreeMap<String, Setting>,
}

impl Settings {
    /// Settings from leaf values.
    pub fn new(values: BTreeMap<String, Setting>) -> Self {
        Self { values }
    }

    /// One value by its dotted name.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.values.get(name)
    }

    /// The same settings with one value set for this run.
    #[must_use]
    pub fn with(&self, name: &str, value: impl Into<Value>) -> Self {
        let mut values = self.values.clone();
        values.insert(name.to_owned(), Setting { value: value.into(), origin: Origin::BuiltIn });
        Self { values }
    }

    /// One value as a type; `None` when it is not set or of another type.
    pub fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<T> {
        self.get(name).and_then(|setting| T::deserialize(&setting.value).ok())
    }

    /// All values in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.values.iter().map(|(name, setting)| (name.as_str(), setting))
    }

    /// The values below `prefix.`, with the prefix taken off.
    pub fn section(&self, prefix: &str) -> Self {
        let start = format!("{prefix}.");
        let values = self
            .values
            .iter()
            .filter_map(|(name, setting)| Some((name.strip_prefix(&start)?.to_owned(), setting.clone())))
            .collect();
        Self { values }
    }
}
