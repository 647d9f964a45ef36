//! Rows: the append-only log of a session, written as things happen.
//!
//! Rows stand on disk in the order in which things ended; the order in which the model spoke is in
//! `step`, `index` and `part`, and [`super::project`] restores it.

use super::message::{Chunk, Role, ToolCall, ToolResult};
use crate::ids::{CallId, RowId, TurnId};
use crate::provider::{Finish, Usage};
use crate::turn::TurnEnd;
use serde::{Deserialize, Serialize};

/// One row of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Unique within the session; a repair makes the same id every time.
    pub id: RowId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The step within the turn, from 0.
    pub step: u32,
    /// When it was made, in Unix milliseconds; 0 for a repair.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub body: RowBody,
}

/// Whether a chunk is all there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChunkState {
    /// Complete, or a complete part with more to come.
    #[default]
    Whole,
    /// The stream broke here; what arrived is kept.
    Broken,
}

/// What a row records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RowBody {
    /// A piece of a message. Long text comes in several parts of one index.
    Chunk {
        /// Whose message; a `User` chunk of step n precedes the model's reply of step n.
        role: Role,
        /// Position in the message.
        index: u32,
        /// Position within the chunk.
        #[serde(default)]
        part: u32,
        /// The piece.
        chunk: Chunk,
        /// Whether it is all there.
        #[serde(default)]
        state: ChunkState,
    },
    /// Written before a tool runs. Holds the whole call, so that a lost chunk can be rebuilt.
    CallStarted {
        /// Position of the call in the model's message.
        index: u32,
        /// The call as the model made it.
        call: ToolCall,
    },
    /// Written the moment a call has its outcome.
    CallEnded {
        /// What the model will read.
        result: ToolResult,
    },
    /// Text that entered at the end of a batch; the model reads it behind the last result.
    Steer {
        /// Position among the texts of this step.
        index: u32,
        /// The text.
        text: String,
    },
    /// A repair's words in the model's place, at the end of the step.
    Marker {
        /// The words.
        text: String,
    },
    /// The model's part of a step is over.
    StepEnded {
        /// Why the model stopped.
        finish: Finish,
        /// What it cost.
        usage: Usage,
    },
    /// The turn is over.
    TurnEnded {
        /// How.
        end: TurnEnd,
    },
    /// A kind this version does not know, or a row that could not be read.
    #[serde(other)]
    Unreadable,
}

impl RowBody {
    /// The call this row speaks of, if it speaks of one.
    pub fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::Chunk { chunk: Chunk::ToolCall(call), .. } | Self::CallStarted { call, .. } => Some(&call.id),
            Self::CallEnded { result } => Some(&result.call),
            _ => None,
        }
    }

    /// Where the row belongs within its step: what the user said, what the model said, what the
    /// tools answered, what came in behind, what a repair added, what closed it.
    pub fn phase(&self) -> u8 {
        match self {
            Self::Chunk { role: Role::User, .. } => 0,
            Self::Chunk { role: Role::Assistant, .. } => 1,
            Self::Chunk { role: Role::Tool, .. } | Self::CallStarted { .. } => 2,
            Self::CallEnded { .. } => 3,
            Self::Steer { .. } => 4,
            Self::Marker { .. } => 5,
            Self::StepEnded { .. } => 6,
            Self::TurnEnded { .. } | Self::Unreadable => 7,
        }
    }
}
