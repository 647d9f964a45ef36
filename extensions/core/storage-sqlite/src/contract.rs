//! What others may use: where data is kept, how to open it without a host, and how to look at a file
//! without touching it. Everybody else reaches storage through the kernel's own service.

mod location;

pub use crate::inspect::{DatabaseInspection, DatabaseProblem, inspect};
pub use crate::store::SqliteBackend;
pub use location::{DEFAULT_FILE, Location, is_for_a_server};
