//! Reads every layer of settings and merges them, with a clear word about each file.

use crate::args::CommonArgs;
use crate::failure::Failure;
use crate::{development, external_extensions};
use dispatch_contracts::extension::Extension;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::settings::{Origin, Settings};
use dispatch_kernel::services::builtin::{NEEDS_TRUST, builtin_layer, builtin_schema};
use dispatch_kernel::services::config::{ConfigProblem, Layer, from_environment, from_flag, merge};
use dispatch_os::files::read_text_at_most;
use dispatch_os::paths::{ProjectRoot, find_project_root};
use dispatch_os::{UserDirs, environment};
use dispatch_script_extension::{Discovered, SearchFolders};
use dispatch_trust::{Approval, Trust, read_content};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest settings file.
const LIMIT_BYTES: u64 = 1024 * 1024;

/// The name of a settings file.
pub(crate) const FILE_NAME: &str = "dispatch.toml";

/// The settings schema of each extension that has one.
pub(crate) type ExtensionSchemas = BTreeMap<ExtensionId, Value>;

/// The settings in force and where everything is.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    pub(crate) dirs: UserDirs,
    pub(crate) project: Option<ProjectRoot>,
    /// The folder that commands work on.
    pub(crate) start: PathBuf,
    /// How that folder was chosen.
    pub(crate) start_is: StartIs,
    pub(crate) files: Vec<SettingsFile>,
    pub(crate) trust_file: PathBuf,
    pub(crate) disabled_file: PathBuf,
    pub(crate) minimal: bool,
    /// The extensions from outside this program.
    pub(crate) externals: Discovered,
    /// The extensions of this program itself.
    pub(crate) own: Vec<Arc<dyn Extension>>,
    /// What was asked for on the command line, to read everything again.
    pub(crate) common: CommonArgs,
    problems: Vec<ConfigProblem>,
}

/// How the folder that commands work on was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartIs {
    /// The process runs there.
    CurrentFolder,
    /// `--project` names it.
    Named,
}

/// One settings file and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    #[serde(flatten)]
    pub(crate) state: FileState,
}

/// What became of a settings file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub(crate) enum FileState {
    /// It is not there; nothing is wrong with that.
    Absent,
    /// Every setting in it counts.
    Read,
    /// It came with the project and is not approved: these settings in it do not count.
    Withheld { settings: Vec<String>, changed: bool },
}

/// The schema of the settings: that of the kernel, and the section that the hook reads by itself.
pub(crate) fn settings_schema() -> Value {
    let mut schema = builtin_schema();
    schema["properties"]["intents"] = serde_json::json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "mode": {
                "enum": ["observe", "warn", "enforce"],
                "description": "What becomes of changes outside an intent: recorded, told to the agent, or refused."
            },
            "exclude": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Globs of files that `trace check` ignores, as they are in the base of the comparison."
            }
        }
    });
    schema
}

impl Loaded {
    /// Reads and merges all layers. Where something is wrong the built-in settings count, and
    /// [`Self::problems`] says what.
    ///
    /// The schemas get those of the extensions from outside, none of which may have an id of the core.
    pub(crate) fn read(
        common: &CommonArgs,
        extensions: &mut ExtensionSchemas,
        own: Vec<Arc<dyn Extension>>,
    ) -> Result<Self, Failure> {
        let dirs = UserDirs::discover()?;
        let (start, start_is) = match &common.project {
            Some(folder) => (existing_folder(folder)?, StartIs::Named),
            None => (environment::current_folder()?, StartIs::CurrentFolder),
        };
        let project = find_project_root(&start);
        let trust_file = dirs.data.join("trust.json");
        let folders = SearchFolders {
            project: project.as_ref().map(|root| root.path.clone()),
            config: dirs.config.clone(),
            development: development::folders(&dirs.data),
        };
        let externals = external_extensions::find(&folders, &trust_file, &external_extensions::core_ids(&own));
        external_extensions::add_schemas(extensions, &externals);
        let mut layers = vec![builtin_layer()];
        let mut files = Vec::new();
        let mut problems = Vec::new();

        let global = dirs.config.join(FILE_NAME);
        let global_values = read_toml(&global, &mut problems);
        files.push(SettingsFile { path: global.clone(), state: read_state(global_values.is_some()) });
        layers.extend(global_values.map(|values| Layer::new(Origin::Global { file: shown(&global) }, values)));

        if let Some(root) = &project {
            let path = root.path.join(".dispatch").join(FILE_NAME);
            let values = read_toml(&path, &mut problems);
            let (layer, state) = project_layer(&path, values, &trust_file)?;
            layers.extend(layer);
            files.push(SettingsFile { path, state });
        }
        match from_environment(&text_variables()) {
            Ok(more) => layers.extend(more),
            Err(more) => problems.extend(more),
        }
        for flag in &common.set {
            match from_flag(flag) {
                Ok(layer) => layers.push(layer),
                Err(problem) => problems.push(problem),
            }
        }
        let settings = match merge(&layers, &settings_schema(), extensions) {
            Ok(settings) if problems.is_empty() => settings,
            merged => {
                problems.extend(merged.err().unwrap_or_default());
                merge(&[builtin_layer()], &settings_schema(), &BTreeMap::new()).unwrap_or_default()
            }
        };
        let disabled_file = dirs.data.join("extensions.json");
        Ok(Self {
            settings,
            dirs,
            project,
            start,
            start_is,
            files,
            trust_file,
            disabled_file,
            minimal: common.minimal,
            externals,
            own,
            common: common.clone(),
            problems,
        })
    }

    /// The folders that extensions receive.
    pub(crate) fn folders(&self) -> Folders {
        let project = self.project.as_ref().map(|root| root.path.clone());
        Folders {
            config: self.dirs.config.clone(),
            data: self.dirs.data.clone(),
            state: self.dirs.state.clone(),
            cache: self.dirs.cache.clone(),
            workdir: project.clone().unwrap_or_else(|| self.start.clone()),
            project,
        }
    }

    /// Everything that is wrong with the settings.
    pub(crate) fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    /// Refuses to go on with settings that are wrong.
    pub(crate) fn require_valid(&self) -> Result<(), Failure> {
        if self.problems.is_empty() { Ok(()) } else { Err(wrong_settings(&self.problems)) }
    }

    /// The project's settings file, if there is a project.
    pub(crate) fn project_file(&self) -> Option<PathBuf> {
        self.project.as_ref().map(|root| root.path.join(".dispatch").join(FILE_NAME))
    }
}

fn existing_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let missing =
        || Failure::usage(format!("no such folder: {}", folder.display())).hint("--project takes an existing folder");
    let absolute = dispatch_os::files::absolute(folder).map_err(|_| missing())?;
    if dispatch_os::files::is_dir(&absolute) { Ok(absolute) } else { Err(missing()) }
}

fn read_state(present: bool) -> FileState {
    if present { FileState::Read } else { FileState::Absent }
}

/// A TOML file as values; `None` when it is absent or cannot be read (then with a problem).
fn read_toml(path: &Path, problems: &mut Vec<ConfigProblem>) -> Option<Value> {
    let mut wrong = |message: String, hint: Option<&str>| {
        problems.push(ConfigProblem {
            name: String::new(),
            message,
            origin: Origin::Global { file: shown(path) },
            hint: hint.map(str::to_owned),
        });
        None
    };
    let text = match read_text_at_most(path, LIMIT_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => return None,
        Err(error) => return wrong(error.to_string(), error.hint()),
    };
    match toml::from_str::<Value>(&text) {
        Ok(values) => Some(values),
        Err(error) => wrong(syntax_message(&text, &error), Some("the file must be valid TOML")),
    }
}

fn syntax_message(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().and_then(|span| text.get(..span.start)).map(|before| {
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: ")
    });
    format!("{}{}", place.unwrap_or_default(), error.message().trim())
}

/// The project's layer without what its owner has not approved.
fn project_layer(path: &Path, values: Option<Value>, trust_file: &Path) -> Result<(Option<Layer>, FileState), Failure> {
    let Some(values) = values else { return Ok((None, FileState::Absent)) };
    let layer = Layer::new(Origin::Project { file: shown(path) }, values);
    let content = read_content(path)?;
    let approval = Trust::read(trust_file)?.approval(path, &content);
    if approval == Approval::Approved {
        return Ok((Some(layer), FileState::Read));
    }
    let (layer, settings) = layer.withhold(&NEEDS_TRUST);
    let state = if settings.is_empty() {
        FileState::Read
    } else {
        FileState::Withheld { settings, changed: approval == Approval::Changed }
    };
    Ok((Some(layer), state))
}

fn text_variables() -> Vec<(String, String)> {
    environment::variables()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn wrong_settings(problems: &[ConfigProblem]) -> Failure {
    let mut hints: Vec<String> = Vec::new();
    for hint in problems.iter().filter_map(|problem| problem.hint.clone()) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    Failure {
        messages: problems.iter().map(ToString::to_string).collect(),
        hints,
        ..Failure::configuration(String::new())
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
