//! One run as the store keeps it.

use crate::contract::{Change, ContentHash, ExecutionRecord, FileChange, RunId, Source, Status, Usage};
use dispatch_os::time::rfc3339;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What runs of one hook must not handle at the same time: a file, everything, or one event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunKey {
    pub(crate) workspace: String,
    pub(crate) hook: String,
    pub(crate) subject: String,
}

/// The subject of runs that handle all files which change together.
pub(crate) const BATCH_SUBJECT: &str = "#batch";

/// Whether a change that the file system reported may be the work of a run of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChangeSuspicion {
    /// It is not.
    #[default]
    Certain,
    /// Some run went when it was reported.
    Doubtful,
    /// A run that went then was seen to write the file.
    Held,
}

/// A file of an event without the secrets of its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFile {
    #[serde(flatten)]
    pub(crate) shown: FileChange,
    /// The digest of the true name, if a secret was taken out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) veil: Option<String>,
}

/// A run. The times are Unix milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    /// Its place in the store; 0 until it has one.
    pub(crate) number: u64,
    pub(crate) id: RunId,
    pub(crate) key: RunKey,
    pub(crate) status: Status,
    /// The content that the last event reported; once it is claimed, what the file held then.
    pub(crate) content: Option<ContentHash>,
    pub(crate) attempts: u32,
    pub(crate) reason: String,
    pub(crate) queued_ms: u64,
    pub(crate) not_before_ms: u64,
    /// When the last attempt began.
    pub(crate) started_ms: Option<u64>,
    pub(crate) ended_ms: Option<u64>,
    pub(crate) owner: Option<String>,
    /// Whether somebody wants it to stop.
    pub(crate) stop: bool,
    /// Grows with every change of any run.
    pub(crate) version: u64,
    pub(crate) facts: RunFacts,
}

/// What no statement asks about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunFacts {
    pub(crate) trigger: String,
    pub(crate) source: Source,
    pub(crate) files: Vec<StoredFile>,
    pub(crate) metadata: Map<String, Value>,
    /// What the file held when the run ended, if the run wrote it; empty if the file was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<ContentHash>,
    #[serde(default)]
    pub(crate) doubt: ChangeSuspicion,
    /// Failed attempts with the present content.
    #[serde(default)]
    pub(crate) failures: u32,
    /// How many times its process died.
    #[serde(default)]
    pub(crate) interruptions: u32,
    /// When the changes that it waits out began.
    pub(crate) burst_ms: u64,
    /// When the last event about it came.
    pub(crate) heard_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) wrote: Vec<String>,
    #[serde(default)]
    pub(crate) usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<String>,
    /// Whether somebody has applied the patch.
    #[serde(default)]
    pub(crate) patch_applied: bool,
    /// When the first attempt began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_started_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_of: Option<RunId>,
    /// Whether it is to stop because a newer run handles its files.
    #[serde(default)]
    pub(crate) superseded: bool,
    /// How many runs of other hooks led to this one.
    #[serde(default)]
    pub(crate) chain_depth: u32,
}

impl Run {
    /// Whether it stands for its content: it goes, or it ended well.
    fn stands(&self) -> bool {
        matches!(self.status, Status::Running | Status::Success)
    }

    /// Whether this content needs no further run. What a run left may have been written by somebody else a moment
    /// before it ended: an editor that says so is believed.
    pub(crate) fn settles(&self, content: Option<&ContentHash>, source: Source) -> bool {
        let settled = match &self.facts.left {
            Some(left) if source == Source::Editor && self.content.as_ref() != Some(left) => return false,
            Some(left) => Some(left),
            None => self.content.as_ref(),
        };
        content.is_some() && self.stands() && settled == content
    }

    /// Whether this run of files that change together handled a content of a file. What it wrote itself it handles
    /// again if somebody puts it back.
    pub(crate) fn handled(&self, file: &StoredFile, present: Option<&ContentHash>) -> bool {
        let same = |known: &StoredFile| {
            known.path_digest() == file.path_digest() && known.shown.content_hash.as_ref() == present
        };
        let wrote = self.facts.wrote.contains(&file.shown.path);
        present.is_some() && self.stands() && !wrote && self.facts.files.iter().any(same)
    }

    /// Whether a person asked for exactly this run.
    pub(crate) fn is_personal(&self) -> bool {
        self.facts.source == Source::Person
    }

    /// Whether it is about a file that should be there.
    pub(crate) fn needs_its_file(&self) -> bool {
        let gone = |file: &StoredFile| file.shown.change == Change::Deleted;
        !self.is_personal() && self.key.is_of_a_file() && !self.facts.files.iter().any(gone)
    }

    /// Ends it.
    pub(crate) fn end(&mut self, status: Status, reason: impl Into<String>, now_ms: u64) {
        self.status = status;
        self.reason = reason.into();
        self.ended_ms = Some(now_ms);
        self.owner = None;
        self.stop = false;
    }

    /// Makes it wait.
    pub(crate) fn wait_until(&mut self, not_before_ms: u64, reason: impl Into<String>) {
        self.status = Status::Queued;
        self.reason = reason.into();
        self.not_before_ms = not_before_ms;
        self.owner = None;
        self.stop = false;
    }

    /// What scripts and people see.
    pub(crate) fn record(&self, logs: Option<String>) -> ExecutionRecord {
        let facts = &self.facts;
        ExecutionRecord {
            id: self.id.clone(),
            hook_id: self.key.hook.clone(),
            start_ts: timestamp(facts.first_started_ms.or(self.started_ms).unwrap_or(self.queued_ms)),
            end_ts: self.ended_ms.map(timestamp),
            status: self.status,
            exit_code: facts.exit_code,
            attempts: self.attempts,
            logs,
            trigger: facts.trigger.clone(),
            files: facts.files.iter().map(|file| file.shown.clone()).collect(),
            metadata: facts.metadata.clone(),
            content_hash: self.content.clone(),
            reason: self.reason.clone(),
            workspace: self.key.workspace.clone(),
            wrote: facts.wrote.clone(),
            usage: facts.usage,
            session: facts.session.clone(),
            patch: facts.patch.is_some() && !facts.patch_applied,
            retry_of: facts.retry_of.clone(),
        }
    }
}

impl StoredFile {
    /// The digest of its true name.
    pub(crate) fn path_digest(&self) -> String {
        self.veil.clone().unwrap_or_else(|| crate::engine::redaction_policy::digest(&self.shown.path))
    }
}

impl RunKey {
    /// Whether it stands for all files that change together.
    pub(crate) fn is_batch(&self) -> bool {
        self.subject == BATCH_SUBJECT
    }

    /// Whether the subject is a file.
    pub(crate) fn is_of_a_file(&self) -> bool {
        !self.subject.is_empty() && !self.subject.starts_with('#')
    }
}

fn timestamp(unix_ms: u64) -> String {
    rfc3339(i64::try_from(unix_ms).unwrap_or(i64::MAX))
}
