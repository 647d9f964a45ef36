//! Replies that are kept until their reader takes them.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// A reply of a channel whose readers fetch it, such as `web` and `cli`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptReply {
    /// Its number among the kept replies. A higher one of the same peer was committed later.
    pub sequence: u64,
    /// The id of the message in the outbox.
    pub id: String,
    /// For whom.
    pub peer_id: String,
    /// In which thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The event that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// What it says.
    pub content: String,
    /// `text`, ...
    pub content_type: String,
    /// When it was kept, in Unix milliseconds.
    pub timestamp: u64,
}
