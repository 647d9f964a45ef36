//! What the kernel gives every extension: settings, permission rules, migrations, logging.
//!
//! Everything here is a function from values to values; files, variables and tables are read by
//! the caller.

pub mod builtin;
pub mod command_line;
pub mod config;
pub mod dotted;
pub mod logger;
pub mod migration;
pub mod permission;
pub mod schema;
