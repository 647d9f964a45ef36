//! `dispatch.manifest.json`: which modules run, in which order, with how much time. Read so that no mistake in it blocks.

mod blocking;
mod loosening;

use std::collections::BTreeMap;
use std::path::Path;

use dispatch_hook_module::phase::{self, PhasePolicy};
use dispatch_hook_module::{EventName, Unattended};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::read_or_default;

pub use blocking::BlockingPolicy;

/// The largest manifest that is read.
pub const MANIFEST_LIMIT_BYTES: u64 = 256 * 1024;
/// The longest budget that can be set.
const MAX_BUDGET_MS: u64 = 60_000;
const MAX_MODULES: usize = 256;
const VERSION: u32 = 1;
const DEFAULT_REWRITE_OWNER: &str = "planGraph-exec";

/// The modules that run when the manifest does not say.
pub const DEFAULT_MODULES: [&str; 5] = ["session", "self-guard", "graph-pretooluse", "intents", "planGraph-exec"];

/// One module in the manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModuleEntry {
    /// Which module.
    pub name: String,
    /// Whether it runs.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// In place of its own priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// In place of its own flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical: Option<bool>,
    /// In place of its own flag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot_path_safe: Option<bool>,
}

impl ModuleEntry {
    /// A module that runs as it says itself.
    #[must_use]
    pub fn enabled(name: impl Into<String>) -> Self {
        Self { name: name.into(), enabled: true, priority: None, critical: None, hot_path_safe: None }
    }
}

fn default_modules() -> Vec<ModuleEntry> {
    DEFAULT_MODULES.into_iter().map(ModuleEntry::enabled).collect()
}

fn yes() -> bool {
    true
}

/// The manifest in force.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(default))]
#[serde(rename_all = "camelCase")]
pub struct PipelineManifest {
    /// The version of the format.
    pub version: u32,
    /// The modules, in the order of the file.
    pub modules: Vec<ModuleEntry>,
    /// Milliseconds by event.
    pub budgets: BTreeMap<String, u64>,
    /// The one module whose rewrites count.
    pub rewrite_owner: String,
    /// The tools of each phase.
    pub phase_policy: PhasePolicy,
    /// Whether phases are enforced, or only tracked.
    pub enforce_phases: bool,
    /// What blocks the work where phases are enforced; the defaults hold if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_on: Option<BlockingPolicy>,
    /// What becomes of a question when nobody is there; it is asked if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unattended: Option<Unattended>,
}

impl Default for PipelineManifest {
    fn default() -> Self {
        Self {
            version: VERSION,
            modules: default_modules(),
            budgets: BTreeMap::new(),
            rewrite_owner: DEFAULT_REWRITE_OWNER.to_owned(),
            phase_policy: phase::default_policy(),
            enforce_phases: false,
            block_on: None,
            unattended: None,
        }
    }
}

impl PipelineManifest {
    /// Reads the manifest. Whatever is wrong with it is told, and the default stands in its place.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> (Self, Vec<String>) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if let Some(manifest) = Flawless::parse(text) {
            return (manifest, Vec::new());
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(Value::Object(fields)) => Self::from_fields(&fields),
            Ok(_) => (Self::default(), vec!["the manifest is not an object, so the defaults hold".to_owned()]),
            Err(error) => {
                let problem = format!("the manifest is not JSON, so the defaults hold: {error}");
                (Self::default(), vec![problem])
            }
        }
    }

    /// The manifest in a file, or the defaults, with what is wrong with it.
    #[must_use]
    pub fn load(path: &Path) -> (Self, Vec<String>) {
        read_or_default(path, MANIFEST_LIMIT_BYTES, Self::parse)
    }

    /// What blocks the work where phases are enforced.
    pub(crate) fn block_on(&self) -> BlockingPolicy {
        self.block_on.clone().unwrap_or_default()
    }

    /// How long an event may take.
    #[must_use]
    pub fn budget_ms(&self, event: &EventName) -> u64 {
        self.budgets.get(event.as_str()).copied().unwrap_or_else(|| Self::default_budget_ms(event))
    }

    /// How long an event may take when the manifest does not say.
    #[must_use]
    pub fn default_budget_ms(event: &EventName) -> u64 {
        match event {
            EventName::PreToolUse => 300,
            EventName::PostToolUse => 500,
            EventName::SessionStart | EventName::Stop => 5_000,
            _ => 1_000,
        }
    }

    fn from_fields(fields: &Map<String, Value>) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let default = Self::default();
        let manifest = Self {
            version: field(fields, "version", &mut problems).unwrap_or(default.version),
            modules: fields
                .get("modules")
                .filter(|list| !list.is_null())
                .map_or(default.modules, |list| modules(list, &mut problems)),
            budgets: budgets(fields, &mut problems),
            rewrite_owner: field(fields, "rewriteOwner", &mut problems).unwrap_or(default.rewrite_owner),
            phase_policy: policy(fields, default.phase_policy, &mut problems),
            enforce_phases: field(fields, "enforcePhases", &mut problems).unwrap_or(default.enforce_phases),
            block_on: field(fields, "blockOn", &mut problems),
            unattended: field(fields, "unattended", &mut problems),
        };
        (manifest, problems)
    }
}

/// A manifest without a mistake, which is read in one go; any other one is read field by field.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Flawless {
    version: Option<u32>,
    modules: Option<Vec<ModuleEntry>>,
    budgets: Option<BTreeMap<String, u64>>,
    rewrite_owner: Option<String>,
    phase_policy: Option<BTreeMap<String, phase::PhaseRule>>,
    enforce_phases: Option<bool>,
    block_on: Option<BlockingPolicy>,
    unattended: Option<Unattended>,
}

impl Flawless {
    fn parse(text: &[u8]) -> Option<PipelineManifest> {
        let read: Self = serde_json::from_slice(text).ok()?;
        let modules = read.modules.unwrap_or_else(default_modules);
        let repeats = |(index, entry): (usize, &ModuleEntry)| {
            modules.iter().take(index).any(|earlier| earlier.name == entry.name)
        };
        if modules.len() > MAX_MODULES || modules.iter().enumerate().any(repeats) {
            return None;
        }
        let mut budgets = BTreeMap::new();
        for (event, ms) in read.budgets.unwrap_or_default() {
            if !(1..=MAX_BUDGET_MS).contains(&ms) {
                return None;
            }
            budgets.insert(EventName::known(&event).map_or(event, |name| name.as_str().to_owned()), ms);
        }
        let mut phase_policy = PhasePolicy::new();
        for (name, rule) in read.phase_policy.unwrap_or_default() {
            phase_policy.insert(phase::Phase::named(&name)?, rule);
        }
        if phase_policy.len() < phase::Phase::ALL.len() {
            let mut whole = phase::default_policy();
            whole.append(&mut phase_policy);
            phase_policy = whole;
        }
        Some(PipelineManifest {
            version: read.version.unwrap_or(VERSION),
            modules,
            budgets,
            rewrite_owner: read.rewrite_owner.unwrap_or_else(|| DEFAULT_REWRITE_OWNER.to_owned()),
            phase_policy,
            enforce_phases: read.enforce_phases.unwrap_or(false),
            block_on: read.block_on,
            unattended: read.unattended,
        })
    }
}

fn field<T: DeserializeOwned>(fields: &Map<String, Value>, name: &str, problems: &mut Vec<String>) -> Option<T> {
    let value = fields.get(name).filter(|value| !value.is_null())?;
    T::deserialize(value)
        .map_err(|error| {
            problems.push(format!("`{name}` in the manifest is not usable, so its default holds: {error}"))
        })
        .ok()
}

fn modules(list: &Value, problems: &mut Vec<String>) -> Vec<ModuleEntry> {
    let Some(list) = list.as_array() else {
        problems.push("`modules` in the manifest is not a list, so the default modules run".to_owned());
        return PipelineManifest::default().modules;
    };
    let mut found: Vec<ModuleEntry> = Vec::new();
    for (index, value) in list.iter().take(MAX_MODULES).enumerate() {
        let entry = match value {
            Value::String(name) => Ok(ModuleEntry::enabled(name.as_str())),
            _ => ModuleEntry::deserialize(value),
        };
        match entry {
            Ok(entry) if found.iter().any(|other| other.name == entry.name) => {
                problems.push(format!("`modules[{index}]` names `{}` again; the first entry counts", entry.name));
            }
            Ok(entry) => found.push(entry),
            Err(error) => problems.push(format!("`modules[{index}]` in the manifest is left out: {error}")),
        }
    }
    found
}

fn budgets(fields: &Map<String, Value>, problems: &mut Vec<String>) -> BTreeMap<String, u64> {
    let Some(value) = fields.get("budgets").filter(|value| !value.is_null()) else {
        return BTreeMap::new();
    };
    let Some(map) = value.as_object() else {
        problems.push("`budgets` in the manifest is not an object, so the default budgets hold".to_owned());
        return BTreeMap::new();
    };
    let mut budgets = BTreeMap::new();
    for (event, value) in map {
        match value.as_u64().filter(|ms| (1..=MAX_BUDGET_MS).contains(ms)) {
            Some(ms) => {
                let name = EventName::known(event).map_or_else(|| event.clone(), |name| name.as_str().to_owned());
                budgets.insert(name, ms);
            }
            None => problems.push(format!("`budgets.{event}` is not between 1 and {MAX_BUDGET_MS} milliseconds")),
        }
    }
    budgets
}

/// Phases that the manifest leaves out keep their default rule.
fn policy(fields: &Map<String, Value>, mut policy: PhasePolicy, problems: &mut Vec<String>) -> PhasePolicy {
    let Some(Value::Object(rules)) = fields.get("phasePolicy") else {
        return policy;
    };
    for (name, rule) in rules {
        let rule = phase::PhaseRule::deserialize(rule);
        match (phase::Phase::named(name), rule) {
            (Some(phase), Ok(rule)) => {
                policy.insert(phase, rule);
            }
            (None, _) => problems.push(format!("`phasePolicy.{name}` is not a phase")),
            (_, Err(error)) => problems.push(format!("`phasePolicy.{name}` is not usable: {error}")),
        }
    }
    policy
}

#[cfg(test)]
mod tests;
