//! One message: sent, followed to the end of its turn, and told as text or as one object.

use super::turns::{Followed, Turns};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Format;
use ext_session_orchestrator::contract::Submission;

pub(super) async fn run(turns: &mut Turns<'_>, submission: Submission) -> Result<Status, Failure> {
    let outcome = match turns.say(submission).await? {
        Followed::Over(outcome) => outcome,
        Followed::Left => {
            return Err(
                Failure::internal("left before the turn was over").hint("`dispatch queue show` says what became of it")
            );
        }
    };
    match turns.format {
        Format::Json => turns.printer.json(&outcome)?,
        Format::Text => outcome.tell(turns.printer),
    }
    Ok(if outcome.is_finished() { Status::Done } else { Status::No })
}
