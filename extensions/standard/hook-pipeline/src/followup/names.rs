//! One name or several, as people write them in JSON.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// `"a"` or `["a", "b"]`; it is written as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum NameList {
    /// A single name.
    One(String),
    /// A list of names.
    Many(Vec<String>),
}

impl NameList {
    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let names = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Many(names) => names.as_slice(),
        };
        names.iter().map(String::as_str)
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl Default for NameList {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl From<&str> for NameList {
    fn from(name: &str) -> Self {
        Self::One(name.to_owned())
    }
}

impl<T: Into<String>> FromIterator<T> for NameList {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        Self::Many(names.into_iter().map(Into::into).collect())
    }
}
