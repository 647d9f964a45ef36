//! `dispatch ext remove`: deletes an extension's folder and forgets that it was approved or disabled.

use super::info::unknown;
use super::purge;
use crate::app::Status;
use crate::commands::trust::forget;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Threads, disabled_store, runtime};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_kernel::host::enable;
use dispatch_script_extension::{FoundExtension, Place};
use std::sync::Arc;

pub(super) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    id: &str,
    purge: bool,
    printer: &Printer,
) -> Result<Status, Failure> {
    let found = &loaded.externals.found;
    let Some(extension) = found.iter().find(|found| found.id == id) else {
        return Err(unknown(id, found.iter().map(|found| found.id.as_str()))
            .hint("only extensions from outside the program can be removed"));
    };
    if matches!(extension.place, Place::ProjectPackages | Place::UserPackages) {
        return Err(installed(extension));
    }
    let shown = extension.path.display();
    let purged = if purge { purge::run(loaded, extensions, extension)? } else { Vec::new() };
    dispatch_os::files::remove_dir_all(&extension.path)
        .map_err(|error| Failure::internal(format!("cannot delete {shown}")).caused_by(&error))?;
    forget(loaded, &extension.path)?;
    let store = disabled_store(loaded);
    runtime(Threads::One)?
        .block_on(enable(store.as_ref(), &id.into()))
        .map_err(|error| Failure::of(Status::Configuration, &error))?;
    let next = found.iter().find(|other| other.id == id && other.path != extension.path);
    let next = next.map(|next| format!("\nthere is another one in {}", next.path.display()));
    crate::development::remove(&loaded.dirs.data, &extension.path)?;
    printer.out(&format!("removed {shown}{}", next.unwrap_or_default()));
    purged.iter().for_each(|line| printer.out(line));
    Ok(Status::Done)
}

/// A package belongs to the program that installed it.
fn installed(extension: &FoundExtension) -> Failure {
    let folder = extension.path.display();
    let package = extension.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Failure::usage(format!("`{}` is a package that was installed in {folder}", extension.id))
        .hint(format!("remove it with the program that installed it, for example `npm uninstall {package}`"))
}
