//! What the user approved: the content of files that came with a project, so that cloning one runs nothing.

mod approvals;
mod fingerprint;

pub use approvals::{Approval, CONTENT_LIMIT_BYTES, Trust, TrustError, read_content};
pub use fingerprint::fingerprint;
