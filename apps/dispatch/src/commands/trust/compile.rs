//! Compiles approved script modules once, so that the small hook executable, which has no TypeScript
//! compiler, finds them in the user's cache.

use dispatch_hook_module::Paths;
use ext_hook_pipeline::contract::UserScripts;
use std::path::Path;
use std::time::Duration;

/// How long one module may take to load.
const COMPILE_TIME: Duration = Duration::from_secs(5);

/// Loads every approved module of the workspace; returns what is wrong with those that do not load.
pub(super) fn compile(root: &Path) -> Vec<String> {
    let paths = Paths::new(root, "trust");
    let scripts = UserScripts::default();
    let problem = |name: &String| {
        let why = scripts.load_problem(name, &paths, COMPILE_TIME)?;
        Some(format!("module `{name}` does not load: {why}"))
    };
    module_names(&paths.hooks_root.join("features")).iter().filter_map(problem).collect()
}

fn module_names(folder: &Path) -> Vec<String> {
    let Ok(entries) = dispatch_os::files::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
