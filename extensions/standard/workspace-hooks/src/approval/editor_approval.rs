//! An approval that a person gives in an editor or another client, for exactly the texts that were shown.

use super::{HookApprovals, HookReview, review_hooks};
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_trust::{Trust, TrustError, fingerprint, read_content};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The approvals of contents, beside which those of hooks are kept.
const TRUST_FILE: &str = "trust.json";
/// How long to wait for `dispatch trust`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why an approval of an agent is not taken.
pub(crate) const AGENT_APPROVES: &str = "an agent cannot approve hooks; a person can, with `dispatch trust`";

/// Who is at the other end of a client that may approve hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookApprover {
    /// As far as is known, a person.
    Person,
    /// An agent started this process.
    Agent,
}

/// What a person is shown before the approval.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownReview {
    pub(crate) hooks: Vec<HookReview>,
    /// Stands for everything that is shown; an approval has to name it.
    pub(crate) token: String,
}

/// Why an approval was not given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditorApprovalError {
    /// Something has changed since it was shown.
    #[error("the hooks have changed since they were shown; review them again")]
    Changed,
    /// The approvals could not be read or kept.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// What there is to approve.
pub(crate) fn review(data_folder: &Path, hooks_file: &Path) -> Result<ShownReview, EditorApprovalError> {
    let content = read_content(hooks_file)?;
    Ok(shown(&HookApprovals::beside(&data_folder.join(TRUST_FILE)), hooks_file, &content))
}

/// Approves what was shown under this token.
pub(crate) fn approve(data_folder: &Path, hooks_file: &Path, token: &str) -> Result<(), EditorApprovalError> {
    let trust_file = data_folder.join(TRUST_FILE);
    dispatch_os::files::create_dir_owner_only(data_folder).map_err(TrustError::from)?;
    let lock = FileLock::acquire(&trust_file.with_extension("lock"), LockKind::Exclusive, LOCK_WAIT);
    let _lock = lock.map_err(TrustError::from)?;
    let content = read_content(hooks_file)?;
    let mut approvals = HookApprovals::beside(&trust_file);
    if shown(&approvals, hooks_file, &content).token != token {
        return Err(EditorApprovalError::Changed);
    }
    let mut trust = Trust::read(&trust_file)?;
    approvals.approve(hooks_file, &content)?;
    trust.approve(hooks_file.to_path_buf(), &content)?;
    trust.write(&trust_file)?;
    Ok(approvals.save()?)
}

fn shown(approvals: &HookApprovals, hooks_file: &Path, content: &[u8]) -> ShownReview {
    let hooks = review_hooks(approvals, hooks_file, content);
    let mut text = serde_json::to_vec(&hooks).unwrap_or_default();
    text.extend_from_slice(content);
    ShownReview { token: fingerprint(&text), hooks }
}
