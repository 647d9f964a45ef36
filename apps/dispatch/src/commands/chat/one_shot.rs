//! One message: sent, followed to the end of its turn, and printed as text or as one JSON object.

use super::turns::{FollowResult, MessageSender};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Format;
use ext_session_orchestrator::contract::Submission;

pub(super) async fn run(turns: &mut MessageSender<'_>, submission: Submission) -> Result<Status, Failure> {
    let outcome = match turns.say(submission).await? {
        FollowResult::Over(outcome) => outcome,
        FollowResult::Left => {
            return Err(
                Failure::internal("interrupted before the turn ended").hint("`dispatch queue show` shows its state")
            );
        }
    };
    match turns.format {
        Format::Json => turns.printer.json(&outcome)?,
        Format::Text => outcome.tell(turns.printer),
    }
    Ok(if outcome.is_finished() { Status::Done } else { Status::No })
}
