//! The manifest: what an extension is, needs and adds, before any of its code runs.

use crate::ids::ExtensionId;
use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which distribution an extension belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Needed to complete one turn; its faults are fatal and shown.
    Core,
    /// Ships switched on; may be disabled when it keeps failing.
    Standard,
    /// Not from this repository; may be disabled when it keeps failing.
    External,
}

/// Where the code came from. Set by the loader for external code, never believed from the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Compiled into the program.
    Bundled,
    /// From the user's own folder.
    Local,
    /// From anywhere else.
    #[default]
    External,
}

/// What an extension may ask the host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Capability {
    /// Read and write files.
    Fs,
    /// Run programs.
    Shell,
    /// Open connections.
    Network,
    /// Read and keep its own secrets.
    Secrets,
    /// Keep data in the database.
    Db,
    /// Run work in the background, or be a separate program.
    Spawn,
    /// Watch every event.
    Observe,
}

impl Capability {
    /// The name a manifest uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fs => "fs",
            Self::Shell => "shell",
            Self::Network => "network",
            Self::Secrets => "secrets",
            Self::Db => "db",
            Self::Spawn => "spawn",
            Self::Observe => "observe",
        }
    }
}

/// Another extension that must be active first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Dependency {
    /// Which one.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: ExtensionId,
    /// Which versions of it will do; any by default.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub version: VersionReq,
    /// Whether the extension also works without it; if it is there, it is active first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// When an extension is activated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Activation {
    /// At start.
    #[default]
    Eager,
    /// Before the first of these hooks is emitted or applied.
    OnHook(Vec<String>),
}

/// What an extension adds, by name. A registration that is not declared here is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Contributes {
    /// Tools.
    pub tools: Vec<String>,
    /// Model providers.
    pub providers: Vec<String>,
    /// Credential sources.
    pub auth: Vec<String>,
    /// Hooks it owns, as `owner/name`.
    pub hooks: Vec<String>,
    /// Services it provides, as `owner/name`.
    pub services: Vec<String>,
    /// HTTP routes, as `METHOD /path`.
    pub routes: Vec<String>,
    /// Commands.
    pub commands: Vec<String>,
    /// Jobs that run on a schedule.
    pub jobs: Vec<String>,
    /// Changes of its own tables, in order; the host runs those that are new before it activates the extension. For
    /// extensions that are loaded; those in Rust declare theirs in code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub migrations: Vec<DeclaredMigration>,
}

/// One step of the tables of an extension that is loaded; its version is its place in the list, from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DeclaredMigration {
    /// What it does, in a few words.
    pub name: String,
    /// SQL statements, run in one transaction.
    pub statements: Vec<String>,
}

/// The manifest of one extension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Lower-case words joined by `-`; the same as its folder.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: ExtensionId,
    /// For people.
    pub name: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Its own version.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub version: Version,
    /// The ABI versions it was written for.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub api_version: VersionReq,
    /// Its tier.
    pub tier: Tier,
    /// Where it came from.
    #[serde(default)]
    pub trust: Trust,
    /// What must be active first.
    #[serde(default)]
    pub depends_on: Vec<Dependency>,
    /// When it is activated.
    #[serde(default)]
    pub activation: Activation,
    /// What it adds.
    #[serde(default)]
    pub contributes: Contributes,
    /// What it may ask the host for.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// The command line of the program that it is, for an extension that is a separate program: its name and arguments,
    /// started in the extension's folder. Needs the capability `spawn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub program: Vec<String>,
    /// JSON Schema of its section of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_schema: Option<Value>,
}
