//! Makes a script module that works, so that writing one begins with changing one.

use crate::app::Status;
use crate::compose;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::workspace::Workspace;
use dispatch_os::files::{Access, create_new};
use std::io::Write;

/// What a script module may use, for editors.
pub(super) const TYPES: &str = include_str!("../../../../../sdk/hook-module.d.ts");
const TYPESCRIPT: &str = include_str!("templates/hook.ts");
const JAVASCRIPT: &str = include_str!("templates/hook.mjs");
const ASKED: &str = include_str!("templates/asked.event.json");
const PASSED: &str = include_str!("templates/passed.event.json");

/// What the module is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    TypeScript,
    JavaScript,
}

/// The files of a new module.
pub(super) fn files(name: &str, language: Language) -> Vec<(&'static str, String)> {
    let (file, source) = match language {
        Language::TypeScript => ("hook.ts", TYPESCRIPT),
        Language::JavaScript => ("hook.mjs", JAVASCRIPT),
    };
    vec![
        (file, source.replace("MODULE_NAME", name)),
        ("hook-module.d.ts", TYPES.to_owned()),
        ("asked.event.json", ASKED.to_owned()),
        ("passed.event.json", PASSED.to_owned()),
    ]
}

pub(super) fn make(
    workspace: &Workspace,
    name: &str,
    language: Language,
    printer: &Printer,
) -> Result<Status, Failure> {
    if compose::guard_names().contains(&name) {
        return Err(Failure::usage(format!("`{name}` is a built-in module")).hint("choose another name"));
    }
    let folder = workspace.paths("modules").module_source(name);
    if dispatch_os::files::symlink_metadata(&folder).is_ok() {
        return Err(Failure::usage(format!("{} already exists", workspace.shown(&folder)))
            .hint(format!("choose another name, or try it with `dispatch module test {name}`")));
    }
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot create {}", folder.display())).caused_by(&error);
    dispatch_os::files::create_dir_all(&folder).map_err(failed)?;
    let files = files(name, language);
    for (file, text) in &files {
        create_new(&folder.join(file), Access::Usual)?.write_all(text.as_bytes()).map_err(failed)?;
    }
    let made: Vec<String> =
        files.iter().map(|(file, _)| format!("  {}", workspace.shown(&folder.join(file)))).collect();
    printer.out(&format!(
        "made\n{}\n\nnext\n  dispatch module test {name}\n  dispatch trust {name}\n  \
         add {{\"name\": \"{name}\", \"enabled\": true}} to `modules` in .ai/hooks/dispatch.manifest.json",
        made.join("\n")
    ));
    Ok(Status::Done)
}
