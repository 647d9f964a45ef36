//! Names of files that never mean a save: what editors leave for a moment, and what Dispatch writes itself.
//!
//! Pure.

use std::path::Path;

/// Folders, relative to the workspace, that programs write to and no person does.
const FOLDERS: [&str; 5] = [".akira/logs", ".akira/inbox", ".ai/tmp", ".dispatch", ".orchestration"];
/// Folders that tools fill, at any depth.
const BUILT: [&str; 16] = [
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    ".venv",
    "venv",
    "__pycache__",
    ".next",
    ".nuxt",
    ".cache",
    ".gradle",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    "coverage",
];
/// A repository's own folder, at any depth.
const REPOSITORY: &str = ".git";
const ENDINGS: [&str; 8] = ["~", ".swp", ".swo", ".swx", ".swpx", "___jb_tmp___", "___jb_old___", ".tmp-dispatch"];
const BEGINNINGS: [&str; 2] = [".#", ".goutputstream-"];
/// What Vim makes to find out whether it may write.
const VIM_PROBE: &str = "4913";

/// Whether a path relative to the workspace is never looked at, nor anything below it.
pub(super) fn is_skipped(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name == REPOSITORY || FOLDERS.iter().any(|folder| path == Path::new(folder)) || is_passing(&name)
}

/// Whether a path is a folder that tools fill, or below one.
pub(super) fn is_built(path: &Path, is_folder: bool) -> bool {
    let folders = if is_folder { Some(path) } else { path.parent() };
    let names = folders.into_iter().flat_map(Path::components).filter_map(|part| part.as_os_str().to_str());
    names.into_iter().any(|name| BUILT.contains(&name))
}

/// Whether an editor leaves a file of this name for a moment.
fn is_passing(name: &str) -> bool {
    let autosave = name.len() > 1 && name.starts_with('#') && name.ends_with('#');
    let replaced = name.starts_with(".dispatch-") && name.ends_with(".tmp");
    name == VIM_PROBE
        || autosave
        || replaced
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_files_and_our_own_are_left_out() {
        for (path, left_out) in [
            (".git", true),
            ("vendor/library/.git", true),
            (".akira/logs", true),
            (".akira/hooks.json", false),
            (".akira", false),
            (".dispatch", true),
            ("nested/.dispatch", false),
            ("src/main.rs", false),
            ("src/main.rs~", true),
            ("src/.main.rs.swp", true),
            ("src/4913", true),
            ("src/49134", false),
            ("src/#main.rs#", true),
            ("src/#", false),
            ("src/.#main.rs", true),
            ("src/swp", false),
            (".gitignore", false),
        ] {
            assert_eq!(is_skipped(Path::new(path)), left_out, "{path}");
        }
    }
}
