//! One run of a hook, as scripts and people see it.

use super::event::{ContentHash, FileChange};
use super::usage::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Names a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It waits.
    Queued,
    /// It goes.
    Running,
    /// It ended well.
    Success,
    /// It ended badly, also after every repetition.
    Failed,
    /// It was stopped at its time limit (`timeoutMs`).
    Timeout,
    /// It was canceled.
    Canceled,
    /// Its agent wanted to do something, and nothing of it was allowed.
    Refused,
}

impl Status {
    /// Whether nothing more will happen to it.
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// Every state.
    pub const ALL: [Self; 7] =
        [Self::Queued, Self::Running, Self::Success, Self::Failed, Self::Timeout, Self::Canceled, Self::Refused];

    /// The state that a word stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// The word that the database and scripts know it by.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Canceled => "canceled",
            Self::Refused => "refused",
        }
    }
}

/// A run and what became of it. Every text in it is with secrets removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionRecord {
    /// Its id.
    pub id: RunId,
    /// Its hook.
    pub hook_id: String,
    /// When its first attempt began, RFC 3339 in UTC; before that, when it was queued.
    pub start_ts: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_ts: Option<String>,
    /// Where it stands.
    pub status: Status,
    /// What the program returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How many times it was begun.
    pub attempts: u32,
    /// What its attempts printed, cut to size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<String>,
    /// What started it, in the words of the configuration.
    pub trigger: String,
    /// The files it is about.
    pub files: Vec<FileChange>,
    /// Facts of the event: the commit, the arguments of a git hook, what a sender wrote.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The content that it was started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_hash: Option<ContentHash>,
    /// Why it stands where it stands, in one sentence; empty while nothing is to be said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The workspace.
    pub workspace: String,
    /// Files of the workspace that the run wrote, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrote: Vec<String>,
    /// What it spent.
    #[serde(default)]
    pub usage: Usage,
    /// The conversation of our own agent, if one ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Whether a patch waits for `dispatch runs apply`.
    #[serde(default)]
    pub patch: bool,
    /// The run that this one repeats by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
}

impl ExecutionRecord {
    /// One line for people: which hook, about what, how it stands.
    #[must_use]
    pub fn summary(&self) -> String {
        let about = match self.files.as_slice() {
            [] => String::new(),
            [file] => format!(" {}", file.path),
            [file, more @ ..] => format!(" {} and {} more", file.path, more.len()),
        };
        let took = self.duration_ms().map(|ms| format!(" in {}.{:03} s", ms / 1000, ms % 1000));
        let code = self.exit_code.filter(|code| *code != 0).map(|code| format!(", exit code {code}"));
        let attempts = (self.attempts > 1).then(|| format!(", {} attempts", self.attempts));
        let reason = if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) };
        let [took, code, attempts] = [took, code, attempts].map(Option::unwrap_or_default);
        format!("{}{about}: {}{took}{code}{attempts}{reason}", self.hook_id, self.status.word())
    }

    /// How long it took from the beginning of its first attempt to its end.
    #[must_use]
    pub fn duration_ms(&self) -> Option<u64> {
        let end = dispatch_os::time::parse_rfc3339(self.end_ts.as_deref()?)?;
        let start = dispatch_os::time::parse_rfc3339(&self.start_ts)?;
        u64::try_from(end.saturating_sub(start)).ok()
    }
}
