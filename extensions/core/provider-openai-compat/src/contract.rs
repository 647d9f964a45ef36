//! What other extensions and the program may use of this one.

pub use crate::choice::{ProviderChoice, choose_provider, needs_discovery};
pub use crate::discovery::{LocalServer, discover};

/// The provider that speaks with servers.
pub const OPENAI_COMPAT: &str = "openai-compat";

/// The provider that needs no server: it answers by rule and drives the tools.
pub const REHEARSAL: &str = "rehearsal";
