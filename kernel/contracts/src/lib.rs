//! The ABI: plain data and traits that every extension compiles against.
//!
//! Nothing here performs I/O, knows a runtime, reads a clock or draws a random number: what an
//! implementation needs of the world it receives as a port (see [`ports`]).
#![forbid(unsafe_code, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod auth;
pub mod cancel;
pub mod contribution;
pub mod conversation;
pub mod dynamic_host;
pub mod extension;
pub mod fault;
pub mod folders;
pub mod harness;
pub mod hook;
pub mod hooks;
pub mod host;
pub mod ids;
pub mod limits;
pub mod manifest;
pub mod migration;
pub mod permission;
pub mod ports;
pub mod provider;
pub mod secret;
pub mod service;
pub mod settings;
pub mod storage;
pub mod suggest;
pub mod tool;
pub mod turn;

pub use futures_core::future::BoxFuture;
pub use futures_core::stream::BoxStream;

/// The version of this ABI; a manifest's `apiVersion` is a range that must contain it.
pub const API_VERSION: semver::Version = semver::Version::new(0, 2, 0);
