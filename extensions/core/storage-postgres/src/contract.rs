//! What others may use: the address of a database, how to open it without a host, and how to look at it without
//! changing it. Everybody else reaches storage through the kernel's own service.

mod address;

pub use crate::layout::{SchemaState, inspect};
pub use crate::store::PostgresBackend;
pub use address::DatabaseAddress;
pub(crate) use address::TlsUse;
