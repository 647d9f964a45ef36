//! `dispatch ext new`: makes an extension that works, so that writing one begins with changing one.

mod kinds;

use crate::app::Status;
use crate::args::ExtensionKind;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use dispatch_os::files::{Access, create_dir_all, create_new, exists};
use dispatch_script_extension::{MANIFEST_FILE, Place, SearchFolders};
use kinds::{KindTemplate, SHARED_FILES, template};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

const README: &str = include_str!("template/README.md");
/// What stands in the templates for the extension's name.
const NAME: &str = "NAME";

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
    let template = template(kind);
    let manifest = manifest(name, &template)?;
    let root = loaded.project.as_ref().map_or_else(|| loaded.start.clone(), |root| root.path.clone());
    let folders = SearchFolders { project: Some(root), config: loaded.dirs.config.clone(), ..SearchFolders::default() };
    let place = match place {
        NewPlace::Project => Place::Project,
        NewPlace::User => Place::User,
    };
    let folder = folders.of(place).unwrap_or_default().join(name);
    if exists(&folder) {
        return Err(Failure::usage(format!("{} already exists", folder.display())).hint("choose another name"));
    }
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot write {}", folder.display())).caused_by(&error);
    create_dir_all(&folder).map_err(failed)?;
    let package = package(name, &template);
    let made = [(MANIFEST_FILE, manifest.as_str()), ("package.json", &package)];
    for (file, text) in made.into_iter().chain(template.files.iter().copied()).chain([("README.md", README)]) {
        let is_own = !matches!(file, MANIFEST_FILE | "package.json") && !SHARED_FILES.contains(&file);
        let text = if is_own { text.replace(NAME, name) } else { text.to_owned() };
        write_new(&folder.join(file), &text).map_err(failed)?;
    }
    let shown = folder.display();
    let tried = template.tried.replace(NAME, name);
    let granted = if template.capabilities.is_empty() { "" } else { " --grant" };
    // A program is not run before it is approved, not even by its tests.
    let test = format!("  dispatch ext test {shown}\n");
    let trust = format!("  dispatch trust {shown}{granted}   now and after each change\n");
    let next = if template.program.is_empty() { test + &trust } else { trust + &test };
    printer.out(&format!("made {shown}\n\nnext\n{next}  {tried}"));
    Ok(Status::Done)
}

/// The manifest, if the name can be an id and the name of what the extension adds.
fn manifest(name: &str, template: &KindTemplate) -> Result<String, Failure> {
    let settings: Value = serde_json::from_str(template.settings).unwrap_or_default();
    let added =
        template.contributes.iter().map(|(kind, added)| ((*kind).to_owned(), json!([added.replace(NAME, name)])));
    let mut manifest = json!({
        "id": name,
        "name": name,
        "description": template.description,
        "version": "0.1.0",
        "apiVersion": format!("^{}", dispatch_contracts::API_VERSION),
        "tier": "external",
        "contributes": added.collect::<serde_json::Map<_, _>>(),
        "capabilities": template.capabilities,
        "settingsSchema": { "type": "object", "additionalProperties": false, "properties": settings }
    });
    if !template.program.is_empty() {
        manifest["program"] = json!(template.program);
    }
    let text = pretty(&manifest);
    dispatch_kernel::host::manifest::parse(&text).map(|_| text).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::usage(format!("invalid extension name `{name}`: {}", said.join("; ")))
            .hint("use lower-case words joined by `-`, for example `word-count`")
    })
}

/// The package, ready to be published; found by its name and its keyword.
fn package(name: &str, template: &KindTemplate) -> String {
    let code = if template.program.is_empty() { "*.ts" } else { "*.py" };
    pretty(&json!({
        "name": format!("dispatch-ext-{name}"),
        "version": "0.1.0",
        "description": template.description,
        "keywords": ["dispatch-extension"],
        "license": "MIT",
        "type": "module",
        "files": [MANIFEST_FILE, code, "AGENTS.md"]
    }))
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    create_new(path, Access::Usual).map_err(std::io::Error::other)?.write_all(text.as_bytes())
}
