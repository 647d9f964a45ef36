//! Every module of the workspace: which ones run, and why the others do not.

use crate::app::Status;
use crate::compose;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::Paths;
use dispatch_trust::{Trust, read_content};
use ext_hook_pipeline::contract::PipelineManifest;
use serde::Serialize;

/// The file that a script module's folder holds, in order of preference.
const FILES: [&str; 2] = ["hook.mjs", "hook.ts"];

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedModule {
    name: String,
    kind: &'static str,
    /// Whether the manifest wants it.
    enabled: bool,
    /// Whether it runs, and if not, why.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
}

pub(super) fn run(
    loaded: &Loaded,
    workspace: &Workspace,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let paths = workspace.paths("modules");
    let trust = Trust::read(&loaded.trust_file)?;
    let (manifest, problems) = workspace.manifest();
    let listed = modules(&manifest, &paths, &trust);
    match format {
        Format::Json => printer.json(&serde_json::json!({ "modules": listed }))?,
        Format::Text => printer.out(&table(&listed.iter().map(row).collect::<Vec<_>>())),
    }
    for problem in problems {
        printer.warn(&problem);
    }
    Ok(Status::Done)
}

/// The script modules that should run and do not.
pub(super) fn not_running(loaded: &Loaded, workspace: &Workspace) -> Vec<String> {
    let Ok(trust) = Trust::read(&loaded.trust_file) else { return Vec::new() };
    let listed = modules(&workspace.manifest().0, &workspace.paths("modules"), &trust);
    let stopped = listed.into_iter().filter(|module| matches!(module.state, "missing" | "not approved"));
    stopped.map(|module| format!("the module `{}` does not run: {}", module.name, module.state)).collect()
}

/// The modules of the manifest in its order, then those it does not name.
fn modules(manifest: &PipelineManifest, paths: &Paths, trust: &Trust) -> Vec<ListedModule> {
    let native = compose::guards();
    let scripts = dispatch_os::files::read_dir(paths.hooks_root.join("features"));
    let mut scripts: Vec<String> =
        scripts.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    scripts.retain(|name| FILES.iter().any(|file| dispatch_os::files::is_file(paths.module_source(name).join(file))));
    scripts.sort_unstable();
    let named = manifest.modules.iter().map(|entry| (entry.name.clone(), entry.enabled, entry.priority));
    let mut all: Vec<(String, bool, Option<i32>)> = named.collect();
    let others = native.iter().map(|module| module.spec().name.to_owned()).chain(scripts);
    for name in others {
        if !all.iter().any(|(known, ..)| *known == name) {
            all.push((name, false, None));
        }
    }
    let listed = |(name, enabled, priority): (String, bool, Option<i32>)| {
        let own = native.iter().find(|module| module.spec().name == name);
        let kind = if compose::guard_names().contains(&name.as_str()) { "native" } else { "script" };
        let state = match (enabled, own) {
            (false, _) => "off",
            (true, Some(_)) => "runs",
            (true, None) => script_state(&name, paths, trust),
        };
        ListedModule {
            kind,
            enabled,
            state,
            priority: priority.or_else(|| own.map(|module| module.spec().priority)),
            name,
        }
    };
    all.into_iter().map(listed).collect()
}

fn script_state(name: &str, paths: &Paths, trust: &Trust) -> &'static str {
    let content = FILES.iter().find_map(|file| read_content(&paths.module_source(name).join(file)).ok());
    match content {
        None => "missing",
        Some(content) if trust.is_approved(&content) => "runs",
        Some(_) => "not approved",
    }
}

fn row(listed: &ListedModule) -> Vec<String> {
    let priority = listed.priority.map(|priority| format!("priority {priority}")).unwrap_or_default();
    vec![listed.state.to_owned(), listed.name.clone(), listed.kind.to_owned(), priority]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_says_why_it_does_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::new(folder.path(), "modules");
        let mut trust = Trust::default();
        for (name, content) in [("approved", "a"), ("waiting", "b"), ("unnamed", "c")] {
            std::fs::create_dir_all(paths.module_source(name)).unwrap();
            std::fs::write(paths.module_source(name).join("hook.mjs"), content).unwrap();
        }
        trust.approve("/x".into(), b"a").unwrap();
        let text =
            br#"{"modules": ["session", "approved", "waiting", "nowhere", {"name": "self-guard", "enabled": false}]}"#;
        let listed = modules(&PipelineManifest::parse(text).0, &paths, &trust);
        let state = |name: &str| listed.iter().find(|listed| listed.name == name).unwrap().state;
        for (name, expected) in [
            ("session", "runs"),
            ("approved", "runs"),
            ("waiting", "not approved"),
            ("nowhere", "missing"),
            ("self-guard", "off"),
            ("unnamed", "off"),
        ] {
            assert_eq!(state(name), expected, "{name}");
        }
    }
}
