//! Makes a routing hook that works, so that writing one begins with changing one.

use crate::app::Status;
use crate::commands::trust::approve_own;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_os::files::{Access, create_dir_all, create_new, exists};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a routing hook may use, for editors.
const TYPES: &str = include_str!("../../../../../sdk/routing-hook.d.ts");
const TEMPLATE: &str = include_str!("template/hook.ts");

pub(super) fn make(loaded: &Loaded, name: &str, printer: &Printer) -> Result<Status, Failure> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Failure::usage(format!("invalid hook name `{name}`")).hint("use letters, digits, `-` and `_`"));
    }
    let root = loaded.project.as_ref().map_or_else(|| loaded.start.clone(), |root| root.path.clone());
    let folder = root.join(".dispatch/hooks");
    let file = folder.join(format!("{name}.ts"));
    if exists(&file) {
        return Err(Failure::usage(format!("{} already exists", file.display())).hint("choose another name"));
    }
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot write {}", file.display())).caused_by(&error);
    create_dir_all(&folder).map_err(failed)?;
    write_new(&file, &TEMPLATE.replace("HOOK_NAME", name)).map_err(failed)?;
    let types = folder.join("routing-hook.d.ts");
    if !exists(&types) {
        write_new(&types, TYPES).map_err(failed)?;
    }
    approve_own(loaded, &file)?;
    printer.out(&format!(
        "made {shown}\n\nnext\n  dispatch event post \"hello\" --from me --wait\n  dispatch trust {shown}   after each change\n  \
         dispatch route backtest {shown}   what a change would send elsewhere",
        shown = shown(loaded, &file).display()
    ));
    Ok(Status::Done)
}

/// The file as a person types it here.
fn shown(loaded: &Loaded, file: &Path) -> PathBuf {
    file.strip_prefix(&loaded.start).unwrap_or(file).to_path_buf()
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    create_new(path, Access::Usual).map_err(std::io::Error::other)?.write_all(text.as_bytes())
}
