//! Finds secrets in text and replaces them.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]
#![forbid(unsafe_code)]

mod assignment;
mod charset;
mod command_line;
mod cookie;
pub mod credential_path;
mod edge;
mod error;
mod finding;
mod fingerprint;
mod header;
mod json;
mod jwt;
pub mod limits;
mod marker;
mod options;
mod pem;
mod prefilter;
mod redactor;
mod rule;
mod rules;
mod scan;
mod span;
mod stream;
mod url;
mod user;
mod value;

pub use error::RedactError;
pub use finding::Finding;
pub use fingerprint::FingerprintKey;
pub use options::{Allowed, Builtin, Compile, Marker, Options, UserPattern};
pub use redactor::Redactor;
pub use stream::StreamRedactor;
