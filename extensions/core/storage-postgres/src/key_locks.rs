//! Keys and namespaces as numbers that PostgreSQL's advisory locks know.
//!
//! Pure.

use dispatch_contracts::storage::Keys;

/// One lock that a transaction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyLock {
    pub(crate) id: i64,
    pub(crate) is_shared: bool,
}

/// The locks of a transaction in the order in which they are taken: namespaces by name, then keys by text. A
/// transaction with keys shares its namespaces; one that works on everything has them alone.
pub(crate) fn locks(schema: &str, namespaces: &[String], keys: &Keys) -> Vec<KeyLock> {
    let mut spaces: Vec<&String> = namespaces.iter().collect();
    spaces.sort_unstable();
    let is_shared = matches!(keys, Keys::Named(_));
    let spaces = spaces.into_iter().map(|name| KeyLock { id: lock_id(schema, "namespace", name), is_shared });
    match keys {
        Keys::Everything => spaces.collect(),
        Keys::Named(names) => spaces.chain(names.iter().map(|name| key_lock(schema, name))).collect(),
    }
}

/// The lock of one key.
pub(crate) fn key_lock(schema: &str, key: &str) -> KeyLock {
    KeyLock { id: lock_id(schema, "key", key), is_shared: false }
}

/// FNV-1a. Two names with one number only wait for each other needlessly.
pub(crate) fn lock_id(schema: &str, kind: &str, name: &str) -> i64 {
    let bytes = ["dispatch", schema, kind, name].into_iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    hash.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_taken_in_one_order_whoever_asks() {
        let spaces = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let one = locks("public", &spaces(&["b", "a"]), &Keys::of(["y", "x"]));
        let other = locks("public", &spaces(&["a", "b"]), &Keys::of(["x", "y"]));
        assert_eq!(one, other);
        assert_eq!(one.iter().map(|lock| lock.is_shared).collect::<Vec<_>>(), [true, true, false, false]);
        let all = locks("public", &spaces(&["a"]), &Keys::Everything);
        assert_eq!(all.len(), 1);
        assert!(!all[0].is_shared && all[0].id == one[0].id, "who has everything excludes who has a key");
        assert_ne!(key_lock("public", "x").id, key_lock("other", "x").id, "schemas are apart");
        assert_ne!(key_lock("public", "a").id, one[0].id);
    }
}
