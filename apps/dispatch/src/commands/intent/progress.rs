//! `dispatch intent start|complete|block|abandon`

use super::{declared, known, refused};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use dispatch_os::time::now_rfc3339;
use ext_intents::file::{Change, TextField, change, update};
use ext_intents::intent::IntentStatus;
use ext_intents::layout::Layout;
use ext_intents::status::Reopen;

/// Moves an intent that is open.
pub(super) fn close(layout: &Layout, id: &str, to: IntentStatus, printer: &Printer) -> Result<Status, Failure> {
    set(layout, id, to, Reopen::No, printer)
}

/// Moves an intent along a legal edge.
pub(super) fn set(
    layout: &Layout,
    id: &str,
    to: IntentStatus,
    reopen: Reopen,
    printer: &Printer,
) -> Result<Status, Failure> {
    let from = known(&declared(layout)?, id)?.status;
    if from == to {
        printer.out(&format!("{id} is {} already", to.as_str()));
        return Ok(Status::Done);
    }
    if !from.next(reopen).contains(&to) {
        return Err(illegal(id, from, to));
    }
    let changes =
        [Change::Set(TextField::Status, to.as_str().to_owned()), Change::Set(TextField::UpdatedAt, now_rfc3339())];
    update(layout, |text| change(text, id, &changes)).map_err(|error| refused(layout, error))?;
    printer.out(&format!("{id}: {} -> {}", from.as_str(), to.as_str()));
    Ok(Status::Done)
}

fn illegal(id: &str, from: IntentStatus, to: IntentStatus) -> Failure {
    let failure = Failure::usage(format!("{id} is {}, and does not become {}", from.as_str(), to.as_str()));
    let next: Vec<&str> = from.next(Reopen::No).iter().map(|status| status.as_str()).collect();
    let failure = Failure { status: Status::No, ..failure };
    match next.is_empty() {
        true => failure.hint(format!("`dispatch intent start {id} --reopen` opens it again")),
        false => failure.hint(format!("from {} it goes to {}", from.as_str(), next.join(", "))),
    }
}
