//! Compiled forms of sources, kept where the caller decides, and never believed without a check.

use std::collections::HashMap;
use std::sync::Mutex;

use dispatch_os::environment;
use sha2::{Digest, Sha256};

/// Changes whenever compiled forms of one source may differ; part of every key.
const ENGINE_VERSION: &str = concat!("dispatch-script ", env!("CARGO_PKG_VERSION"), "; rquickjs 0.14.0; oxc 0.146.0");
const DIGEST_BYTES: usize = 32;
/// Bytes a [`MemoryCache`] holds before it starts anew.
const MAX_MEMORY_BYTES: usize = 32 * 1024 * 1024;

/// A store of bytes by key. A key is 64 hexadecimal digits, so it can be a file name.
///
/// Whoever can write to the store decides what runs in place of the source: keep it as private as the sources.
/// Losing or refusing entries is always fine.
pub trait SourceCache {
    /// The bytes last put under `key`.
    fn get(&self, key: &str) -> Option<Vec<u8>>;
    /// Keeps `bytes` under `key`; failures stay silent.
    fn put(&self, key: &str, bytes: &[u8]);
}

/// What may be read back from a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheTrust {
    /// JavaScript that TypeScript was stripped to.
    Text,
    /// Also bytecode. The engine does not verify bytecode: a forged entry corrupts this process's memory. Only for a
    /// store that nobody else can write, such as a directory with mode 0700.
    TextAndBytecode,
}

/// A store and how far it is trusted.
pub struct Cache {
    store: Box<dyn SourceCache>,
    trust: CacheTrust,
}

impl Cache {
    /// Uses `store`, trusted as said.
    pub fn new(store: impl SourceCache + 'static, trust: CacheTrust) -> Self {
        Self { store: Box::new(store), trust }
    }

    pub(crate) fn stripped(&self, key: &CacheKey) -> Option<String> {
        String::from_utf8(self.read(key)?).ok()
    }

    pub(crate) fn bytecode(&self, key: &CacheKey) -> Option<Vec<u8>> {
        if self.holds_bytecode() { self.read(key) } else { None }
    }

    pub(crate) fn holds_bytecode(&self) -> bool {
        self.trust == CacheTrust::TextAndBytecode
    }

    /// Stores with a digest in front, because a torn file must not look like an entry.
    pub(crate) fn write(&self, key: &CacheKey, payload: &[u8]) {
        let mut entry = Vec::with_capacity(DIGEST_BYTES + payload.len());
        entry.extend_from_slice(&seal(key, payload));
        entry.extend_from_slice(payload);
        self.store.put(&key.0, &entry);
    }

    fn read(&self, key: &CacheKey) -> Option<Vec<u8>> {
        let mut entry = self.store.get(&key.0)?;
        let (digest, payload) = entry.split_at_checked(DIGEST_BYTES)?;
        if digest != seal(key, payload) {
            return None;
        }
        entry.drain(..DIGEST_BYTES);
        Some(entry)
    }
}

/// The key of one compiled form of one source.
pub(crate) struct CacheKey(String);

impl CacheKey {
    pub(crate) fn stripped(digest: &str) -> Self {
        Self::of(&["stripped", digest])
    }

    /// Bytecode holds the module's name, so the name is part of the key.
    pub(crate) fn bytecode(name: &str, digest: &str) -> Self {
        Self::of(&["bytecode", environment::ARCHITECTURE, environment::OPERATING_SYSTEM, name, digest])
    }

    fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in [ENGINE_VERSION].iter().chain(parts) {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hex(&hash.finalize()))
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

fn seal(key: &CacheKey, payload: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::new();
    hash.update(key.0.as_bytes());
    hash.update(payload);
    hash.finalize().into()
}

/// A bounded cache that lives as long as the process.
#[derive(Default)]
pub struct MemoryCache(Mutex<CacheEntries>);

#[derive(Default)]
struct CacheEntries {
    by_key: HashMap<String, Vec<u8>>,
    bytes: usize,
}

impl MemoryCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }
}

impl SourceCache for MemoryCache {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.0.lock().ok()?.by_key.get(key).cloned()
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        let Ok(mut entries) = self.0.lock() else {
            return;
        };
        if entries.bytes.saturating_add(bytes.len()) > MAX_MEMORY_BYTES {
            *entries = CacheEntries::default();
        }
        if bytes.len() <= MAX_MEMORY_BYTES {
            let replaced = entries.by_key.insert(key.to_owned(), bytes.to_vec());
            entries.bytes += bytes.len();
            entries.bytes -= replaced.map_or(0, |old| old.len());
        }
    }
}

impl<T: SourceCache + ?Sized> SourceCache for std::rc::Rc<T> {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        (**self).get(key)
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        (**self).put(key, bytes);
    }
}

impl<T: SourceCache + ?Sized> SourceCache for std::sync::Arc<T> {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        (**self).get(key)
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        (**self).put(key, bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn an_entry_comes_back_only_whole_and_under_its_key() {
        let store = Rc::new(MemoryCache::new());
        let cache = Cache::new(Rc::clone(&store), CacheTrust::TextAndBytecode);
        let (one, two) = (CacheKey::bytecode("a.js", "1"), CacheKey::bytecode("b.js", "1"));
        cache.write(&one, b"payload");
        assert_eq!(cache.bytecode(&one).as_deref(), Some(&b"payload"[..]));
        assert_eq!(cache.bytecode(&two), None);

        let whole = store.get(&one.0).unwrap();
        store.put(&two.0, &whole);
        assert_eq!(cache.bytecode(&two), None, "an entry moved to another key");
        for length in 0..whole.len() {
            store.put(&one.0, &whole[..length]);
            assert_eq!(cache.bytecode(&one), None, "torn at {length}");
        }
    }

    #[test]
    fn bytecode_is_not_read_from_a_store_trusted_for_text() {
        let cache = Cache::new(MemoryCache::new(), CacheTrust::Text);
        let key = CacheKey::bytecode("a.js", "1");
        cache.write(&key, b"payload");
        assert_eq!(cache.bytecode(&key), None);
    }

    #[test]
    fn keys_are_plain_hex_and_part_boundaries_matter() {
        let key = CacheKey::bytecode("a.js", "1");
        assert_eq!(key.0.len(), 64);
        assert!(key.0.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(key.0, CacheKey::bytecode("a.js1", "").0);
    }
}
