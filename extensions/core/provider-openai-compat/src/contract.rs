//! What other extensions and the program may use of this one.

pub use crate::choice::{ProviderChoice, choose_provider, needs_discovery};
pub use crate::discovery::discover;
pub use crate::local_server::{LocalServer, OPENAI_COMPAT, REHEARSAL};
