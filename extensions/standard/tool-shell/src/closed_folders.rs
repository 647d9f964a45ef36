//! Refuses commands that reach for Dispatch's own data: its token, its keys, its database.
//!
//! As far as the text of a command says what it touches; a program that finds the files by itself is stopped by
//! their modes and by the approval that such a command needs, not here.

use std::path::{Path, PathBuf};

use dispatch_contracts::folders::Folders;
use dispatch_contracts::tool::ToolError;
use dispatch_os::{Confined, environment, files};
use dispatch_toolcall::{EffectPath, ShellContext, ShellEffects, analyze};

/// Refuses the command if it touches a closed folder.
pub(crate) fn check(command: &str, folder: &Path, workspace: &Confined, folders: &Folders) -> Result<(), ToolError> {
    let home = environment::variable_path("HOME");
    let home = home.as_deref().and_then(Path::to_str);
    let context = ShellContext { cwd: folder.to_str().unwrap_or_default(), home };
    let effects = analyze(command, &context);
    let outputs = folders.outputs();
    let touched = touched(&effects).find(|touched| {
        let path = Path::new(&touched.path);
        let is_output = path.starts_with(&outputs) && !touched.path.contains("/..");
        !is_output
            && (workspace.is_closed(fixed_part(touched)) || (touched.recursive && workspace.has_closed_below(path)))
    });
    let named = || {
        let written = folders.closed_to_tools().map(Path::to_path_buf);
        let real = written.iter().filter_map(|folder| files::canonicalize(folder).ok());
        let closed: Vec<PathBuf> = real.chain(written.iter().cloned()).collect();
        named(command, &closed, &outputs, home)
    };
    let place = touched.map(|touched| touched.path.clone()).or_else(named);
    match place {
        None => Ok(()),
        Some(place) => Err(ToolError(format!(
            "Nothing was run: the command touches {place}, where Dispatch keeps its own data. No tool may read or change \
             that. Leave it out; if you need something from there, ask the user for it."
        ))),
    }
}

fn touched(effects: &ShellEffects) -> impl Iterator<Item = &EffectPath> {
    let moved = effects.moves.iter().flat_map(|moved| [&moved.from, &moved.to]);
    effects.reads.iter().chain(&effects.writes).chain(&effects.creates).chain(&effects.deletes).chain(moved)
}

/// The folder above the first part of a pattern that stands for many names; the path itself if there is none.
fn fixed_part(touched: &EffectPath) -> &Path {
    let is_pattern = |part: &Path| {
        part.file_name().is_some_and(|name| name.as_encoded_bytes().iter().any(|byte| b"*?[{".contains(byte)))
    };
    let path = Path::new(&touched.path);
    if !touched.glob {
        return path;
    }
    let first = path.ancestors().filter(|part| is_pattern(part)).last();
    first.and_then(Path::parent).unwrap_or(path)
}

/// The closed folder that the text of a command spells out somewhere, as code in another language would.
fn named(command: &str, closed: &[PathBuf], outputs: &Path, home: Option<&str>) -> Option<String> {
    let spellings = closed.iter().filter(|folder| folder.components().count() > 2).flat_map(|folder| {
        let below_home =
            home.and_then(|home| folder.strip_prefix(home).ok()).filter(|below| below.components().count() > 1);
        let short = below_home.map(|below| below.to_path_buf());
        [Some(folder.clone()), short].into_iter().flatten()
    });
    let outputs = outputs.file_name().unwrap_or_default().to_string_lossy();
    let found = spellings.map(|path: PathBuf| path.display().to_string()).find(|text| {
        command.match_indices(text.as_str()).any(|(at, _)| {
            let rest = command.get(at + text.len()..).unwrap_or_default();
            let is_whole = !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '-' | '_' | '.'));
            is_whole && !rest.strip_prefix('/').is_some_and(|below| below.starts_with(outputs.as_ref()))
        })
    });
    found.or_else(|| command.contains("DISPATCH_HOME").then(|| "$DISPATCH_HOME".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_code_spells_out_is_found_and_its_outputs_are_not() {
        let closed = [PathBuf::from("/home/me/.local/share/dispatch")];
        let outputs = Path::new("/home/me/.local/share/dispatch/outputs");
        let is_named = |command: &str| named(command, &closed, outputs, Some("/home/me")).is_some();
        for command in [
            "python3 -c \"open('/home/me/.local/share/dispatch/token')\"",
            "node -e 'read(home + \"/.local/share/dispatch/keys.json\")'",
            "sqlite3 \"$DISPATCH_HOME/dispatch.db\"",
        ] {
            assert!(is_named(command), "{command}");
        }
        for command in [
            "head /home/me/.local/share/dispatch/outputs/s/1.txt",
            "cat /home/me/.local/share/dispatcher/token",
            "cat docs/.local-share-dispatch.md",
        ] {
            assert!(!is_named(command), "{command}");
        }
    }
}
