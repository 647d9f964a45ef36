//! The engine as a caller sees it: values, errors, imports, what is not there, and the caches.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

#[path = "engine/caches.rs"]
mod caches;
#[path = "engine/errors.rs"]
mod errors;
#[path = "engine/imports.rs"]
mod imports;
#[path = "engine/logs_and_host.rs"]
mod logs_and_host;
#[path = "engine/sandbox.rs"]
mod sandbox;
#[path = "engine/sequential.rs"]
mod sequential;
#[path = "engine/sources.rs"]
mod sources;
#[path = "engine/support.rs"]
mod support;
#[path = "engine/values.rs"]
mod values;
