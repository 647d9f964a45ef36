//! What other extensions and the program may use of this one.

pub use crate::audience::Audience;
pub use crate::error::KeyError;
pub use crate::key_store::{KeyEntry, KeyLocation, KeyStore, MAX_KEY_BYTES, NewKey, all_keys};
pub use crate::variables::{OWN_VARIABLE, PROVIDER_VARIABLES};

/// The file of the data folder that keeps keys and secrets.
pub const KEYS_FILE: &str = "keys.json";

/// The credential source.
pub const APIKEY: &str = "apikey";
