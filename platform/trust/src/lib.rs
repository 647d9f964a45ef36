//! What the user approved: the content of files that came with a project, so that cloning one runs nothing.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod approvals;
mod fingerprint;

pub use approvals::{Approval, CONTENT_LIMIT_BYTES, Trust, TrustError, read_content};
pub use fingerprint::fingerprint;
