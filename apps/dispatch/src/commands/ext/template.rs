//! `dispatch ext new`: makes an extension that works, so that writing one begins with changing one.

use crate::app::Status;
use crate::args::ExtensionKind;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_os::files::{Access, create_dir_all, create_new, exists};
use dispatch_script_extension::{MANIFEST_FILE, Place, SearchFolders};
use serde_json::json;
use std::io::Write;
use std::path::Path;

/// What an extension may use, for editors.
const TYPES: &str = include_str!("../../../../../sdk/extension.d.ts");
const TOOL: &str = include_str!("template/tool.ts");
const COMMAND: &str = include_str!("template/command.ts");
/// How editors and the TypeScript compiler read the folder.
const TSCONFIG: &str = include_str!("template/tsconfig.json");
const LOGIC: &str = include_str!("template/logic.ts");

/// Where a new extension is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewPlace {
    /// In the project.
    Project,
    /// In the user's own folder.
    User,
}

impl From<bool> for NewPlace {
    fn from(user: bool) -> Self {
        if user { Self::User } else { Self::Project }
    }
}

pub(super) fn make(
    loaded: &Loaded,
    name: &str,
    kind: ExtensionKind,
    place: NewPlace,
    printer: &Printer,
) -> Result<Status, Failure> {
    let text = manifest(name, kind)?;
    let root = loaded.project.as_ref().map_or_else(|| loaded.start.clone(), |root| root.path.clone());
    let folders = SearchFolders { project: Some(root), config: loaded.dirs.config.clone() };
    let place = match place {
        NewPlace::Project => Place::Project,
        NewPlace::User => Place::User,
    };
    let folder = folders.of(place).unwrap_or_default().join(name);
    if exists(&folder) {
        return Err(Failure::usage(format!("{} already exists", folder.display())).hint("choose another name"));
    }
    let code = match kind {
        ExtensionKind::Tool => TOOL,
        ExtensionKind::Command => COMMAND,
    };
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot write {}", folder.display())).caused_by(&error);
    create_dir_all(&folder).map_err(failed)?;
    let files = [
        (MANIFEST_FILE, text.as_str()),
        ("index.ts", &code.replace("NAME", name)),
        ("logic.ts", LOGIC),
        ("extension.d.ts", TYPES),
        ("tsconfig.json", TSCONFIG),
    ];
    for (file, text) in files {
        write_new(&folder.join(file), text).map_err(failed)?;
    }
    let tried = match kind {
        ExtensionKind::Tool => format!("dispatch chat \"call {name} {{}}\""),
        ExtensionKind::Command => format!("dispatch run {name}"),
    };
    let shown = folder.display();
    printer.out(&format!("made {shown}\n\nnext\n  dispatch trust {shown}   now and after each change\n  {tried}"));
    Ok(Status::Done)
}

/// The manifest, if the name can be an id and the name of a tool or command.
fn manifest(name: &str, kind: ExtensionKind) -> Result<String, Failure> {
    let added = match kind {
        ExtensionKind::Tool => json!({ "tools": [name] }),
        ExtensionKind::Command => json!({ "commands": [name] }),
    };
    let manifest = json!({
        "id": name,
        "name": name,
        "description": "Greets somebody.",
        "version": "0.1.0",
        "apiVersion": format!("^{}", dispatch_contracts::API_VERSION),
        "tier": "external",
        "contributes": added,
        "capabilities": [],
        "settingsSchema": {
            "type": "object",
            "additionalProperties": false,
            "properties": { "greeting": { "type": "string", "minLength": 1, "description": "How it greets." } }
        }
    });
    let mut text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    text.push('\n');
    dispatch_kernel::host::manifest::parse(&text).map(|_| text).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::usage(format!("invalid extension name `{name}`: {}", said.join("; ")))
            .hint("use lower-case words joined by `-`, for example `word-count`")
    })
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    create_new(path, Access::Usual).map_err(std::io::Error::other)?.write_all(text.as_bytes())
}
