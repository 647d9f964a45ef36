//! `dispatch ext reload`: asks every running process to load extensions again.

use super::info::unknown;
use crate::app::Status;
use crate::extension_reload::request_reload;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;

pub(super) fn run(loaded: &Loaded, id: Option<&str>, printer: &Printer) -> Result<Status, Failure> {
    let found = &loaded.externals.found;
    if let Some(id) = id
        && !found.iter().any(|found| found.id == id)
    {
        return Err(unknown(id, found.iter().map(|found| found.id.as_str()))
            .hint("only extensions from outside the program can be loaded again"));
    }
    if let Some(reason) = id.and_then(|id| found.iter().find(|found| found.id == id)?.reason()) {
        return Err(Failure::usage(format!("`{}` does not run: {reason}", id.unwrap_or_default())));
    }
    request_reload(&loaded.dirs.data, id)?;
    let what = id.map_or_else(|| "what changed".to_owned(), |id| format!("`{id}`"));
    printer.out(&format!("every running `serve`, `chat`, `up` and `acp` of this user loads {what} again"));
    Ok(Status::Done)
}
