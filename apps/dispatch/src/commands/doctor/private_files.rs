//! The doctor's lines about files with secrets that other users of the machine could open.

use super::{DoctorFinding, wrong};
use dispatch_os::files::{Exposure, symlink_metadata};
use ext_auth_apikey::contract::KEYS_FILE;
use ext_transport_http::contract::{APPROVAL_TOKEN_FILE, TOKEN_FILE};
use std::path::Path;

/// One line for each file that is not the user's alone; none when all are. The database has a line of its own.
pub(super) fn findings(data: &Path) -> Vec<DoctorFinding> {
    [
        (TOKEN_FILE, "delete it if others may have read it"),
        (APPROVAL_TOKEN_FILE, "delete it if others may have read it"),
        (KEYS_FILE, "renew its keys if others may have read it"),
    ]
    .into_iter()
    .filter_map(|(name, then)| finding(&data.join(name), then))
    .collect()
}

fn finding(file: &Path, then: &str) -> Option<DoctorFinding> {
    let exposure = Exposure::of(&symlink_metadata(file).ok()?);
    let place = file.display();
    let detail = if !exposure.owned {
        format!("{place} belongs to another user")
    } else if exposure.open_to_others {
        format!("{place} can be opened by other users of this machine")
    } else {
        return None;
    };
    Some(wrong("private files", detail, format!("chmod 600 {place}; {then}")))
}
