//! The rules of the strictest provider, as one function that tests and repairs share.

use super::message::{Chunk, Message, Role};
use crate::ids::CallId;
use std::collections::BTreeSet;

/// Why a provider would refuse a history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Two messages that may not follow each other.
    #[error("message {at}: {role:?} may not stand here")]
    Order {
        /// Index of the second message.
        at: usize,
        /// Its role.
        role: Role,
    },
    /// A message or a chunk with nothing in it.
    #[error("message {at} is empty or has an empty part")]
    Empty {
        /// Index of the message.
        at: usize,
    },
    /// A chunk that its message's role may not have.
    #[error("message {at} has a part that its role may not have")]
    Misplaced {
        /// Index of the message.
        at: usize,
    },
    /// Calls that are not answered directly behind, one by one and in order.
    #[error("the calls of message {at} are not answered one by one in the next")]
    Unanswered {
        /// Index of the message with the calls.
        at: usize,
    },
    /// A call id that was used before.
    #[error("message {at} repeats the call id `{id}`")]
    RepeatedCall {
        /// Index of the message.
        at: usize,
        /// The id.
        id: CallId,
    },
}

/// Checks a history against the union of what known providers demand: it starts with the user;
/// user and assistant alternate; each message and chunk says something; an assistant message is
/// more than reasoning; each call has a fresh id and is answered directly behind, in order; the
/// assistant speaks before the user does again.
pub fn validate(messages: &[Message]) -> Result<(), Invalid> {
    let mut known = BTreeSet::new();
    let mut before: Option<&Message> = None;
    for (at, message) in messages.iter().enumerate() {
        check_order(at, before, message)?;
        check_content(at, message)?;
        for call in message.calls() {
            if !known.insert(&call.id) {
                return Err(Invalid::RepeatedCall { at, id: call.id.clone() });
            }
        }
        before = Some(message);
    }
    match before {
        Some(last) if last.calls().next().is_some() => Err(Invalid::Unanswered { at: messages.len() - 1 }),
        _ => Ok(()),
    }
}

fn check_order(at: usize, before: Option<&Message>, message: &Message) -> Result<(), Invalid> {
    let pending = before.is_some_and(|before| before.calls().next().is_some());
    let fits = match (before.map(|before| before.role), message.role) {
        (None, Role::User) => true,
        (Some(Role::User | Role::Tool), Role::Assistant) => true,
        (Some(Role::Assistant), Role::User) => !pending,
        (Some(Role::Assistant), Role::Tool) => pending,
        _ => false,
    };
    if !fits {
        return Err(if pending {
            Invalid::Unanswered { at: at - 1 }
        } else {
            Invalid::Order { at, role: message.role }
        });
    }
    if let (Role::Tool, Some(before)) = (message.role, before) {
        let asked = before.calls().map(|call| &call.id);
        if !asked.eq(message.results().map(|result| &result.call)) {
            return Err(Invalid::Unanswered { at: at - 1 });
        }
    }
    Ok(())
}

fn check_content(at: usize, message: &Message) -> Result<(), Invalid> {
    let allowed = |chunk: &Chunk| {
        matches!(
            (message.role, chunk),
            (Role::User, Chunk::Text { .. } | Chunk::Image(_))
                | (Role::Assistant, Chunk::Text { .. } | Chunk::Reasoning { .. } | Chunk::ToolCall(_))
                | (Role::Tool, Chunk::Text { .. } | Chunk::ToolResult(_))
        )
    };
    if !message.chunks.iter().all(allowed) || !results_come_first(message) {
        return Err(Invalid::Misplaced { at });
    }
    let says_something = message.chunks.iter().any(|chunk| !matches!(chunk, Chunk::Reasoning { .. }));
    let empty_result = message.results().any(|result| result.text.trim().is_empty());
    if !says_something || empty_result || message.chunks.iter().any(Chunk::is_empty) {
        return Err(Invalid::Empty { at });
    }
    Ok(())
}

fn results_come_first(message: &Message) -> bool {
    let first_other = message.chunks.iter().position(|chunk| !matches!(chunk, Chunk::ToolResult(_)));
    let last_result = message.chunks.iter().rposition(|chunk| matches!(chunk, Chunk::ToolResult(_)));
    first_other.zip(last_result).is_none_or(|(other, result)| result < other)
}

#[cfg(test)]
mod tests;
