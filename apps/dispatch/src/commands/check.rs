//! `dispatch check`: what is wrong with the files of the policy, by file, line and key.

mod json_lines;
mod known_keys;

use crate::app::Status;
use crate::compose;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::{LAYOUT_NAME, USER_HOOKS_FOLDER, WorkLayout};
use dispatch_os::files::read_at_most;
use ext_hook_pipeline::contract::{Config, MANIFEST_LIMIT_BYTES, PipelineManifest, RuleTrust, weakened_rules};
use json_lines::{Step, line_of};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

const MANIFEST: &str = "dispatch.manifest.json";
const CONFIG: &str = "config.json";
const LAYOUT: &str = LAYOUT_NAME;
const FOLLOWUP: &str = "followup-rules.json";
const DELEGATION: &str = "rlm-policy.json";
/// Keys of the manifest.
const MANIFEST_KEYS: [&str; 9] = [
    "version",
    "modules",
    "budgets",
    "rewriteOwner",
    "phasePolicy",
    "enforcePhases",
    "blockOn",
    "unattended",
    "$schema",
];

#[derive(Debug, clap::Args)]
pub(crate) struct PolicyCheckRequest {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PolicyProblem {
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The key, with `.` between its parts; empty for the file as a whole.
    pub(crate) key: String,
    pub(crate) message: String,
}

impl PolicyProblem {
    pub(crate) fn text(&self) -> String {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        format!("{}:{}: {key}{}", self.file, self.line, self.message)
    }
}

pub(crate) fn run(loaded: &Loaded, request: &PolicyCheckRequest, printer: &Printer) -> Result<Status, Failure> {
    let problems = problems(loaded);
    let weakened = weakened(loaded);
    match Format::from(request.json) {
        Format::Json => {
            let good = problems.is_empty() && weakened.is_empty();
            printer.json(&json!({ "ok": good, "problems": problems, "notInForce": weakened }))?;
        }
        Format::Text => {
            problems.iter().for_each(|problem| printer.out(&problem.text()));
            weakened.iter().for_each(|note| printer.out(note));
            if problems.is_empty() && weakened.is_empty() {
                printer.out("the policy files are in order");
            }
        }
    }
    Ok(if problems.is_empty() && weakened.is_empty() { Status::Done } else { Status::No })
}

/// Everything that is wrong with the policy files of the workspace and of the user.
pub(crate) fn problems(loaded: &Loaded) -> Vec<PolicyProblem> {
    let workspace = Workspace::of(loaded);
    let project = workspace.paths("check").hooks_root;
    let folders = [project, loaded.dirs.config.join(USER_HOOKS_FOLDER)];
    folders.iter().flat_map(|folder| of_folder(folder, &workspace)).collect()
}

/// What the project's files weaken without having been approved.
pub(crate) fn weakened(loaded: &Loaded) -> Vec<String> {
    let workspace = Workspace::of(loaded);
    weakened_rules(&workspace.paths("check"), RuleTrust::File(&loaded.trust_file))
}

fn of_folder(folder: &Path, workspace: &Workspace) -> Vec<PolicyProblem> {
    let mut found = Vec::new();
    let mut modules: Vec<String> = compose::guards().iter().map(|module| module.spec().name.to_owned()).collect();
    for name in [MANIFEST, CONFIG, LAYOUT, DELEGATION, FOLLOWUP] {
        let path = folder.join(name);
        let shown = workspace.shown(&path);
        let file =
            |line: usize, key: String, message: String| PolicyProblem { file: shown.clone(), line, key, message };
        let bytes = match read_at_most(&path, MANIFEST_LIMIT_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => continue,
            Err(error) => {
                found.push(file(1, String::new(), error.to_string()));
                continue;
            }
        };
        let text = String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned();
        let value: Value = match serde_json::from_str(&text) {
            Ok(value) => value,
            Err(error) => {
                found.push(file(error.line(), String::new(), format!("not valid JSON: {error}")));
                continue;
            }
        };
        let problems = match name {
            MANIFEST => {
                modules.extend(module_names(&value));
                of_manifest(&value, &bytes)
            }
            CONFIG => of_config(&value, &bytes, &modules),
            LAYOUT => of_layout(&bytes),
            _ => of_rule_list(&value),
        };
        found.extend(problems.into_iter().map(|(path, message)| file(line_of(&text, &path), dotted(&path), message)));
    }
    found
}

type Problems = Vec<(Vec<Step>, String)>;

fn of_manifest(value: &Value, bytes: &[u8]) -> Problems {
    let unknown = value.as_object().into_iter().flatten().filter(|(key, _)| !MANIFEST_KEYS.contains(&key.as_str()));
    let unknown = unknown.map(|(key, _)| (vec![Step::Key(key.clone())], format!("unknown key `{key}`")));
    let (_, problems) = PipelineManifest::parse(bytes);
    unknown.chain(problems.into_iter().map(|message| (quoted_path(&message), message))).collect()
}

fn of_config(value: &Value, bytes: &[u8], modules: &[String]) -> Problems {
    let keys = known_keys::problems(value, modules).into_iter().map(|problem| (problem.path, problem.message));
    let mut found: Problems = keys.collect();
    let (_, problems) = Config::parse(bytes);
    let more = problems.into_iter().map(|message| (quoted_path(&message), message));
    for (path, message) in more {
        if !found.iter().any(|(known, _)| known.first() == path.first()) {
            found.push((path, message));
        }
    }
    found
}

fn of_layout(bytes: &[u8]) -> Problems {
    let (_, problems) = WorkLayout::parse(bytes);
    problems.into_iter().map(|message| (quoted_path(&message), message)).collect()
}

/// A list of rules under `rules`.
fn of_rule_list(value: &Value) -> Problems {
    match value.get("rules") {
        Some(Value::Array(rules)) => {
            let bad = rules.iter().enumerate().filter(|(_, rule)| !rule.is_object());
            let path = |index| vec![Step::Key("rules".to_owned()), Step::Index(index)];
            bad.map(|(index, _)| (path(index), "expected an object".to_owned())).collect()
        }
        None if value.is_object() => Vec::new(),
        _ => vec![(vec![Step::Key("rules".to_owned())], "expected a list of rules".to_owned())],
    }
}

fn module_names(manifest: &Value) -> Vec<String> {
    let entries = manifest.get("modules").and_then(Value::as_array).into_iter().flatten();
    let name = |entry: &Value| entry.as_str().or_else(|| entry.get("name")?.as_str()).map(str::to_owned);
    entries.filter_map(name).collect()
}

/// The path in a message that begins with it, as in "`modules[2]` ...".
fn quoted_path(message: &str) -> Vec<Step> {
    let Some(path) = message.strip_prefix('`').and_then(|rest| rest.split('`').next()) else { return Vec::new() };
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (key, index) = part.split_once('[').unwrap_or((part, ""));
        steps.push(Step::Key(key.to_owned()));
        steps.extend(index.trim_end_matches(']').parse().ok().map(Step::Index));
    }
    steps
}

fn dotted(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
