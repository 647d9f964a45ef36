//! The conversation model: messages as providers see them, rows as the log keeps them.

mod message;
mod row;
mod transform;
mod validity;

pub use message::{Chunk, INVALID_ARGUMENTS, Image, Message, ResultStatus, Role, ToolCall, ToolResult};
pub use row::{ChunkState, Row, RowBody};
pub use transform::{explode, project};
pub use validity::{Invalid, validate};
