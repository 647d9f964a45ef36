//! What is on disk about a child from before it starts.

use super::ChildEnd;
use super::launch::{self, TreeToken};
use super::marker::ExitMarker;
use super::outcome::{StartCause, StartFailure};
use super::record::GroupRecord;
use super::spec::{ChildSpec, DescendantPolicy};
use crate::OsError;
use crate::ids::Ulid;

/// The files of one child, and the token that it is known by.
pub(super) struct ChildFiles {
    pub(super) token: TreeToken,
    pub(super) record: Option<GroupRecord>,
    pub(super) marker: Option<ExitMarker>,
}

impl ChildFiles {
    pub(super) fn prepare(spec: &ChildSpec) -> Result<Self, StartFailure> {
        let token = launch::new_token(Ulid::generate());
        let record = match spec.record_folder.as_deref() {
            None => None,
            Some(folder) => Some(GroupRecord::create(folder, &token).map_err(|error| record_failure(spec, error))?),
        };
        let marker = match spec.exit_marker.as_deref() {
            None => None,
            Some(path) => Some(ExitMarker::create(path).map_err(|error| marker_failure(spec, error))?),
        };
        Ok(Self { token, record, marker })
    }

    /// Adds who the child is, now that it runs.
    pub(super) fn add_group(&self, spec: &ChildSpec, leader: i32) -> Result<(), StartFailure> {
        let added = self.record.as_ref().map_or(Ok(()), |record| record.add_group(leader));
        added.map_err(|error| record_failure(spec, error))
    }

    /// To be called before anything is done that could end the child.
    pub(super) fn announce_stop(&self) {
        if let Some(marker) = &self.marker {
            marker.stop();
        }
    }

    /// Notes how the child ended, unless its guardian has.
    pub(super) fn note_end(&self, spec: &ChildSpec, end: &ChildEnd) {
        let has_guardian = cfg!(target_os = "linux") && spec.descendants == DescendantPolicy::Guarded;
        if let Some(marker) = self.marker.as_ref().filter(|_| !has_guardian) {
            marker.end(end);
        }
    }

    /// For a child that never ran.
    pub(super) fn withdraw(&self) {
        if let Some(marker) = &self.marker {
            marker.remove();
        }
    }
}

fn record_failure(spec: &ChildSpec, error: OsError) -> StartFailure {
    failure(spec, StartCause::BadRecordFolder(Box::new(error)))
}

fn marker_failure(spec: &ChildSpec, error: OsError) -> StartFailure {
    failure(spec, StartCause::BadExitMarker(Box::new(error)))
}

fn failure(spec: &ChildSpec, cause: StartCause) -> StartFailure {
    StartFailure { program: spec.program.to_string_lossy().into_owned(), cause }
}
