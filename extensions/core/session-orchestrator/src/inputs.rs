//! Input as rows of a turn and as a message for the model.
//!
//! Pure.

use crate::contract::{DispatchId, MAX_IMAGES, MAX_TEXT_BYTES, SessionsError, Submission};
use crate::queue::WaitingInput;
use crate::queue_store::TurnStart;
use dispatch_contracts::conversation::{Chunk, ChunkState, Message, Role, Row, RowBody};
use dispatch_contracts::ids::RowId;
use dispatch_kernel::reconcile::NO_REPLY;

/// What the inputs of a turn say, chunk by chunk.
fn chunks(inputs: &[WaitingInput]) -> impl Iterator<Item = Chunk> + '_ {
    inputs.iter().flat_map(|input| {
        let Submission { text, images, .. } = &input.submission;
        let said = (!text.trim().is_empty()).then(|| Chunk::Text { text: text.clone() });
        said.into_iter().chain(images.iter().cloned().map(Chunk::Image))
    })
}

/// The rows that the inputs of a turn become.
pub(crate) fn input_rows(start: &TurnStart, inputs: &[WaitingInput]) -> Vec<Row> {
    let row = |(index, chunk): (u32, Chunk)| Row {
        id: RowId::new(format!("{}-{index}", start.row_prefix)),
        turn: start.turn.clone(),
        step: 0,
        at_ms: start.now_ms,
        body: RowBody::Chunk { role: Role::User, index, part: 0, chunk, state: ChunkState::Whole },
    };
    (0..).zip(chunks(inputs)).map(row).collect()
}

/// The message that the model reads for them.
fn input_message(inputs: &[WaitingInput]) -> Message {
    Message { role: Role::User, chunks: chunks(inputs).collect() }
}

/// What the model reads: the history, then the inputs. A message that was never answered is said to be so,
/// as it will be once it stands in the history, because many servers refuse two messages of a user in a row.
pub(crate) fn conversation(mut history: Vec<Message>, inputs: &[WaitingInput]) -> Vec<Message> {
    if history.last().is_some_and(|last| last.role == Role::User) {
        history.push(Message::text(Role::Assistant, NO_REPLY));
    }
    history.push(input_message(inputs));
    history
}

/// Refuses input that no turn could use.
pub(crate) fn check(submission: &Submission) -> Result<(), SessionsError> {
    let problem = if submission.text.trim().is_empty() && submission.images.is_empty() {
        "there is nothing to say: the text is empty".to_owned()
    } else if submission.text.len() > MAX_TEXT_BYTES {
        format!("the text has {} bytes; at most {MAX_TEXT_BYTES} are taken", submission.text.len())
    } else if submission.images.len() > MAX_IMAGES {
        format!("there are {} pictures; at most {MAX_IMAGES} are taken", submission.images.len())
    } else if submission.id.as_ref().is_some_and(|id| id.is_empty() || id.len() > 256) {
        "an id has 1 to 256 characters".to_owned()
    } else {
        return ext_conversation_store::contract::check_label(&submission.session)
            .map_err(|error| SessionsError::Invalid(error.to_string()));
    };
    Err(SessionsError::Invalid(problem))
}

pub(crate) fn unknown_dispatch(id: &DispatchId) -> SessionsError {
    SessionsError::Unknown { what: "dispatch", name: id.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::conversation::validate;

    #[test]
    fn a_message_that_was_never_answered_is_followed_by_words_about_that() {
        let said = WaitingInput {
            id: DispatchId::new("d"),
            mode: crate::contract::Mode::Followup,
            partition: String::new(),
            not_before_ms: 0,
            at_ms: 0,
            attempts: 0,
            submission: Submission { text: "again".to_owned(), ..Submission::default() },
            scope: None,
        };
        let (asked, answered) = (Message::text(Role::User, "hello"), Message::text(Role::Assistant, "yes"));
        for (history, length) in [(vec![], 1), (vec![asked.clone()], 3), (vec![asked, answered], 3)] {
            let messages = conversation(history, std::slice::from_ref(&said));
            assert_eq!((messages.len(), validate(&messages)), (length, Ok(())), "{messages:?}");
        }
    }
}
