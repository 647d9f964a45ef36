//! What a transaction works on: the keys that it holds alone while it runs, taken in one order, so that the same work
//! is right where transactions run one after the other and where they run side by side.

use super::StorageError;
use std::collections::BTreeSet;

/// The keys of a transaction. Transactions that have a key in common run one after the other; others may run side by
/// side. A key is text that stands for what is read and changed, such as `session:ID`. Keys are shared by all
/// namespaces of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// The whole of the store's namespaces: nobody else changes anything in them meanwhile.
    Everything,
    /// These, and those that are taken with [`Transaction::lock`](super::Transaction::lock).
    Named(BTreeSet<String>),
}

impl Keys {
    /// No key from the start: for statements that are right whatever others do, and for work that finds out what it
    /// works on.
    #[must_use]
    pub const fn none() -> Self {
        Self::Named(BTreeSet::new())
    }

    /// These keys.
    pub fn of<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self::Named(keys.into_iter().map(Into::into).collect())
    }
}

/// The keys that a running transaction holds, for backends. Keys that are waited for are taken in the order of their
/// text, so that no two transactions wait for each other.
#[derive(Debug)]
pub struct HeldKeys {
    held: Keys,
    last: Option<String>,
}

impl HeldKeys {
    /// The keys that a transaction begins with.
    #[must_use]
    pub fn new(keys: Keys) -> Self {
        let last = match &keys {
            Keys::Everything => None,
            Keys::Named(names) => names.last().cloned(),
        };
        Self { held: keys, last }
    }

    /// Whether a key is held already.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        match &self.held {
            Keys::Everything => true,
            Keys::Named(names) => names.contains(key),
        }
    }

    /// Whether a key may be waited for.
    ///
    /// # Errors
    /// When it stands before one that was waited for.
    pub fn check_order(&self, key: &str) -> Result<(), StorageError> {
        match &self.last {
            Some(last) if !self.has(key) && key < last.as_str() => {
                Err(StorageError::GivenUp(format!("key `{key}` is taken behind `{last}`: name it from the start")))
            }
            _ => Ok(()),
        }
    }

    /// Notes a key that was waited for.
    pub fn waited_for(&mut self, key: &str) {
        if self.last.as_deref().is_none_or(|last| last < key) {
            self.last = Some(key.to_owned());
        }
        self.tried(key);
    }

    /// Notes a key that was free. It may stand anywhere: nobody waited for it.
    pub fn tried(&mut self, key: &str) {
        if let Keys::Named(names) = &mut self.held {
            names.insert(key.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_waited_for_in_one_order_and_tried_in_any() {
        let mut held = HeldKeys::new(Keys::of(["b", "d"]));
        assert!(held.has("b") && !held.has("e"));
        assert_eq!(held.check_order("b"), Ok(()), "it is held");
        held.check_order("a").unwrap_err();
        held.check_order("c").unwrap_err();
        held.tried("a");
        assert_eq!(held.check_order("a"), Ok(()));
        assert_eq!(held.check_order("e"), Ok(()));
        held.waited_for("e");
        assert!(held.check_order("dd").unwrap_err().to_string().contains("`dd` is taken behind `e`"));
        let all = HeldKeys::new(Keys::Everything);
        assert!(all.has("x"));
        assert_eq!(all.check_order("x"), Ok(()));
    }
}
