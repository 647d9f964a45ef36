//! The pure kernel: bus, extension host, turn loop and services.
//!
//! It decides and coordinates; everything it needs of the world comes in as a port.
#![forbid(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod bus;
pub mod host;
pub mod reconcile;
pub mod runtime;
pub mod services;
