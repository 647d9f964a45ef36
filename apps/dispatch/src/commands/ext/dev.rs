//! `dispatch ext dev`: while somebody works on an extension, each edit runs without an approval of its own.

use super::info::unknown;
use crate::app::Status;
use crate::development;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_script_extension::Place;

pub(super) fn run(loaded: &Loaded, id: &str, off: bool, printer: &Printer) -> Result<Status, Failure> {
    let found = &loaded.externals.found;
    let Some(extension) = found.iter().find(|found| found.id == id) else {
        return Err(unknown(id, found.iter().map(|found| found.id.as_str())));
    };
    let shown = extension.path.display();
    if off {
        if !development::remove(&loaded.dirs.data, &extension.path)? {
            return Err(Failure::usage(format!("`{id}` is not in development")));
        }
        printer.out(&format!("{shown} needs an approval again; `dispatch trust {id}` approves it as it is"));
        return Ok(Status::Done);
    }
    if matches!(extension.place, Place::ProjectPackages | Place::UserPackages) {
        return Err(Failure::usage(format!("`{id}` is an installed package, which nobody edits in place"))
            .hint("work on a copy in .dispatch/extensions"));
    }
    let what = format!("approve every future content of {shown}");
    crate::policy_change::confirm(loaded, &what, printer)?;
    development::add(&loaded.dirs.data, &extension.path)?;
    printer.out(&format!(
        "whatever {shown} contains is approved; a running `dispatch serve` or `chat` loads each edit\n\
         `dispatch ext dev {id} --off` ends it"
    ));
    Ok(Status::Done)
}
