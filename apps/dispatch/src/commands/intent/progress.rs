//! `dispatch intent start|complete|block|abandon`

use super::{declared, known, refused};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time::now_rfc3339;
use ext_intents::contract::{IntentEdit, IntentStatus, IntentTextField, IntentWorkspace, Reopen};

/// Sets the status of an open intent.
pub(super) fn close(
    workspace: &IntentWorkspace,
    id: &str,
    to: IntentStatus,
    printer: &Printer,
) -> Result<Status, Failure> {
    set(workspace, id, to, Reopen::No, printer)
}

/// Sets the status of an intent if the transition is allowed.
pub(super) fn set(
    workspace: &IntentWorkspace,
    id: &str,
    to: IntentStatus,
    reopen: Reopen,
    printer: &Printer,
) -> Result<Status, Failure> {
    let from = known(&declared(workspace)?, id)?.status;
    if from == to {
        printer.out(&format!("{id} is already {}", to.as_str()));
        return Ok(Status::Done);
    }
    // Work that was done shows that a planned intent was started.
    let was_started = from == IntentStatus::Planned && workspace.last_activity(id).is_some();
    let is_allowed =
        from.next(reopen).contains(&to) || (was_started && IntentStatus::InProgress.next(reopen).contains(&to));
    if !is_allowed {
        return Err(illegal(id, from, to));
    }
    let edits = [
        IntentEdit::Set(IntentTextField::Status, to.as_str().to_owned()),
        IntentEdit::Set(IntentTextField::UpdatedAt, now_rfc3339()),
    ];
    workspace.edit_intent(id, &edits).map_err(|error| refused(workspace, error))?;
    printer.out(&format!("{id}: {} -> {}", from.as_str(), to.as_str()));
    Ok(Status::Done)
}

fn illegal(id: &str, from: IntentStatus, to: IntentStatus) -> Failure {
    let failure = Failure::usage(format!("cannot set {id} from {} to {}", from.as_str(), to.as_str()));
    let next: Vec<&str> = from.next(Reopen::No).iter().map(|status| status.as_str()).collect();
    let failure = Failure { status: Status::No, ..failure };
    match next.is_empty() {
        true => failure.hint(format!("`dispatch intent start {id} --reopen` reopens it")),
        false => failure.hint(format!("{} can become {}", from.as_str(), next.join(", "))),
    }
}
