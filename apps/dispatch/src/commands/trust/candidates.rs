//! Which files of a project run or decide something, and so need the user's approval.

use crate::failure::Failure;
use crate::settings::Loaded;
use dispatch_hook_module::{HOOKS_FOLDER, LAYOUT_NAME};
use dispatch_os::files;
use dispatch_script_extension::{Discovered, ExtensionFolder, FoundExtension};
use dispatch_trust::{Trust, read_content};
use ext_intents::contract::{INTENTS_FILE, IntentWorkspace, ORCHESTRATION_FOLDER};
use ext_workspace_hooks::contract::{HOOKS_FILE, workspace_of};
use std::path::{Path, PathBuf};

/// How deep below `.ai/hooks` scripts are looked for.
const MAX_DEPTH: usize = 8;
/// The most scripts of one project.
const MAX_FILES: usize = 2_000;
/// Where modules and what they share are, below `.ai/hooks`.
const FOLDERS: [&str; 2] = ["features", "lib"];

/// Where routing hooks and what they share are.
const ROUTING_HOOKS: &str = ".dispatch/hooks";
/// Where personas are: they choose a prompt and a model for sessions.
const PERSONAS: &str = ".dispatch/personas";

/// The rule files of a project: what they weaken counts once they are approved.
pub(super) const RULE_FILES: [&str; 3] = ["dispatch.manifest.json", "config.json", LAYOUT_NAME];

/// Everything in the project that can be approved.
pub(super) fn of_project(loaded: &Loaded, root: &Path) -> Vec<PathBuf> {
    let settings = loaded.project_file().filter(|file| files::is_file(file));
    let hooks = Some(workspace_of(&loaded.start).join(HOOKS_FILE)).filter(|file| files::is_file(file));
    let scripts = FOLDERS.into_iter().flat_map(|folder| script_files(&root.join(HOOKS_FOLDER).join(folder)));
    let rules =
        RULE_FILES.into_iter().map(|name| root.join(HOOKS_FOLDER).join(name)).filter(|file| files::is_file(file));
    let routing = script_files(&root.join(ROUTING_HOOKS));
    let personas = persona_files(&root.join(PERSONAS));
    let intents = Some(IntentWorkspace::at(root).intents_file()).filter(|file| has_looser_modes(file));
    let extensions = loaded.externals.found.iter().filter(|found| found.manifest.is_some()).map(|it| it.path.clone());
    let scripts = scripts.chain(routing).chain(personas).chain(extensions);
    settings.into_iter().chain(hooks).chain(intents).chain(rules).chain(scripts).collect()
}

/// Whether this is the file of declared intents.
pub(super) fn is_intents_file(path: &Path) -> bool {
    path.ends_with(Path::new(ORCHESTRATION_FOLDER).join(INTENTS_FILE))
}

/// What an approval of the path covers: all of a file, all files of an extension, but of declared intents only the modes
/// that loosen, because the rest changes with the work.
pub(super) fn content(path: &Path) -> Result<Vec<u8>, Failure> {
    if files::is_dir(path) {
        return ExtensionFolder::read(path).map(|folder| folder.content()).map_err(|error| {
            Failure::usage(error.to_string()).hint("an extension consists of files that can be read and do not change")
        });
    }
    let root = path.parent().and_then(Path::parent).filter(|_| is_intents_file(path) && files::is_file(path));
    match root {
        Some(root) => Ok(IntentWorkspace::at(root).load_intents().looser_modes().into_bytes()),
        None => Ok(read_content(path)?),
    }
}

fn has_looser_modes(intents_file: &Path) -> bool {
    content(intents_file).is_ok_and(|modes| !modes.is_empty())
}

/// The personas in a folder, in order.
fn persona_files(folder: &Path) -> Vec<PathBuf> {
    let entries = files::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_persona = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md") && files::is_file(path);
    let mut found: Vec<PathBuf> = entries.filter(is_persona).take(MAX_FILES).collect();
    found.sort_unstable();
    found
}

/// The scripts in a folder and below, in order. Links to folders are not followed.
pub(crate) fn script_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = files::read_dir(&folder);
        for entry in entries.into_iter().flatten().flatten().take(MAX_FILES) {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => open.push((path, depth + 1)),
                Ok(kind) if !kind.is_dir() && is_script(&path) && files::is_file(&path) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort_unstable();
    found.truncate(MAX_FILES);
    found
}

/// Whether the engine would run the file; declarations of types are read by editors alone.
fn is_script(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let declares = name.ends_with(".d.ts") || name.ends_with(".d.mts");
    !declares && [".mjs", ".js", ".ts", ".mts"].iter().any(|ending| name.ends_with(ending))
}

/// The files behind what the user names: a file, a folder of scripts, a script module, or an extension, which is approved
/// as a whole. With `approved`, what is approved counts too, whether it still exists or not.
pub(super) fn named(
    root: &Path,
    names: &[PathBuf],
    externals: &Discovered,
    approved: Option<&Trust>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut named = Vec::new();
    for name in names {
        let path = files::absolute(name)
            .map_err(|error| Failure::usage(format!("invalid path {}: {error}", name.display())))?;
        let is_meant =
            |found: &&FoundExtension| found.path == path || (!files::exists(&path) && name == Path::new(&found.id));
        if let Some(extension) = externals.found.iter().find(is_meant) {
            named.push(extension.path.clone());
            continue;
        }
        let module = root.join(HOOKS_FOLDER).join("features").join(name);
        let single = name.components().count() == 1;
        let folder = if files::is_dir(&path) {
            Some(path.clone())
        } else if single && !files::exists(&path) && files::is_dir(&module) {
            Some(module)
        } else {
            None
        };
        let Some(folder) = folder else {
            named.push(path);
            continue;
        };
        let below = match approved {
            Some(trust) => trust
                .iter()
                .map(|(path, _)| path)
                .filter(|path| path.starts_with(&folder))
                .map(Path::to_path_buf)
                .collect(),
            None if folder.ends_with(PERSONAS) => persona_files(&folder),
            None => script_files(&folder),
        };
        if below.is_empty() {
            return Err(Failure::usage(format!("{} contains no scripts", folder.display()))
                .hint("`dispatch trust --list` shows what is approved and what waits"));
        }
        named.extend(below);
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_below_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a/hook.mjs", "a/more/x.ts", "a/hook.d.ts", "a/event.json", "b/hook.ts", "b/notes.md"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let found = script_files(folder.path());
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a/hook.mjs", "a/more/x.ts", "b/hook.ts"]);
        assert!(script_files(&folder.path().join("nowhere")).is_empty());
    }

    #[test]
    fn personas_are_found_in_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let personas = folder.path().join(PERSONAS);
        std::fs::create_dir_all(&personas).unwrap();
        for name in ["b.md", "a.md", "notes.txt"] {
            std::fs::write(personas.join(name), "").unwrap();
        }
        let found = named(folder.path(), std::slice::from_ref(&personas), &Discovered::default(), None).unwrap();
        assert_eq!(found, [personas.join("a.md"), personas.join("b.md")]);
    }

    #[test]
    fn a_name_is_a_file_a_folder_or_a_module() {
        let folder = tempfile::tempdir().unwrap();
        let hook = folder.path().join(HOOKS_FOLDER).join("features/mine/hook.ts");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, "").unwrap();
        let named = |name: PathBuf| named(folder.path(), &[name], &Discovered::default(), None).unwrap();
        assert_eq!(named("mine".into()), std::slice::from_ref(&hook));
        assert_eq!(named(hook.parent().unwrap().into()), std::slice::from_ref(&hook));
        assert_eq!(named(hook.clone()), [hook]);
        assert_eq!(named("/nowhere/x.ts".into()), [PathBuf::from("/nowhere/x.ts")], "reading it says what is wrong");
    }
}
