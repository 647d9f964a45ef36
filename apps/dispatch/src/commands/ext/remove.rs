//! `dispatch ext remove`: deletes an extension's folder and forgets that it was approved or disabled.

use super::info::unknown;
use crate::app::Status;
use crate::commands::trust::forget;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Threads, disabled_store, runtime};
use crate::settings::Loaded;
use dispatch_kernel::host::enable;
use dispatch_script_extension::{FoundExtension, Place};

pub(super) fn run(loaded: &Loaded, id: &str, printer: &Printer) -> Result<Status, Failure> {
    let found = &loaded.externals.found;
    let Some(extension) = found.iter().find(|found| found.id == id) else {
        return Err(unknown(id, found.iter().map(|found| found.id.as_str()))
            .hint("only extensions from outside the program can be removed"));
    };
    if matches!(extension.place, Place::ProjectPackages | Place::UserPackages) {
        return Err(installed(extension));
    }
    let shown = extension.path.display();
    dispatch_os::files::remove_dir_all(&extension.path)
        .map_err(|error| Failure::internal(format!("cannot delete {shown}")).caused_by(&error))?;
    forget(loaded, &extension.path)?;
    let store = disabled_store(loaded);
    runtime(Threads::One)?
        .block_on(enable(store.as_ref(), &id.into()))
        .map_err(|error| Failure::of(Status::Configuration, &error))?;
    let next = found.iter().find(|other| other.id == id && other.path != extension.path);
    let next = next.map(|next| format!("\nthere is another one in {}", next.path.display()));
    printer.out(&format!("removed {shown}{}", next.unwrap_or_default()));
    Ok(Status::Done)
}

/// A package belongs to the program that installed it.
fn installed(extension: &FoundExtension) -> Failure {
    let folder = extension.path.display();
    let package = extension.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Failure::usage(format!("`{}` is a package that was installed in {folder}", extension.id))
        .hint(format!("remove it with the program that installed it, for example `npm uninstall {package}`"))
}
