//! Reads a manifest and names everything that is wrong with it at once.

mod fields;
mod rules;

#[cfg(test)]
mod tests;

use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{
    Activation, Capability, Contributes, DeclaredMigration, Dependency, Manifest, Tier, Trust,
};
use fields::{Fields, Problems};
use serde_json::Value;
use std::fmt;

/// A manifest larger than this is refused unread.
pub const MANIFEST_BYTES: usize = 256 * 1024;

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestProblem {
    /// Where, for example `dependsOn[1].version`; empty for the file as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for ManifestProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "`{}`: ", self.path)?;
        }
        out.write_str(&self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(out, " ({hint})"))
    }
}

const FIELDS: [&str; 13] = [
    "id",
    "name",
    "description",
    "version",
    "apiVersion",
    "tier",
    "trust",
    "dependsOn",
    "activation",
    "contributes",
    "capabilities",
    "program",
    "settingsSchema",
];

/// What an extension adds, by kind.
const CONTRIBUTIONS: [&str; 9] =
    ["tools", "providers", "auth", "hooks", "services", "routes", "commands", "jobs", "migrations"];

/// Reads the text of a `manifest.json`.
pub fn parse(text: &str) -> Result<Manifest, Vec<ManifestProblem>> {
    let json = read_json(text).map_err(|problem| vec![problem])?;
    let mut problems = Problems::default();
    let manifest = read_manifest(&json, &mut problems);
    if let Some(manifest) = &manifest {
        rules::check(manifest, &mut problems);
    }
    match manifest {
        Some(manifest) if problems.is_empty() => Ok(manifest),
        _ => Err(problems.into_list()),
    }
}

/// Reads a manifest whose origin the loader knows: what the file says about its trust is not believed,
/// and only a bundled extension may be of the core or standard tier.
pub fn parse_from(text: &str, trust: Trust) -> Result<Manifest, Vec<ManifestProblem>> {
    let mut manifest = parse(text)?;
    manifest.trust = trust;
    if trust == Trust::Bundled || manifest.tier == Tier::External {
        return Ok(manifest);
    }
    let mut problems = Problems::default();
    let message = format!("`{}` is reserved for extensions that ship with the program", tier_name(manifest.tier));
    problems.add("tier", message, Some("write `external`".to_owned()));
    Err(problems.into_list())
}

/// The id and tier that a manifest claims, however broken the rest of it is.
pub(crate) fn claims(text: &str) -> (Option<ExtensionId>, Option<Tier>) {
    let Ok(json) = read_json(text) else { return (None, None) };
    let id = json.get("id").and_then(Value::as_str).filter(|id| rules::is_id(id)).map(ExtensionId::new);
    let tier = json.get("tier").and_then(|tier| serde_json::from_value(tier.clone()).ok());
    (id, tier)
}

pub(crate) fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Core => "core",
        Tier::Standard => "standard",
        Tier::External => "external",
    }
}

fn read_json(text: &str) -> Result<Value, ManifestProblem> {
    let whole = |message: String| ManifestProblem { path: String::new(), message, hint: None };
    if text.len() > MANIFEST_BYTES {
        return Err(whole(format!("the file has {} bytes; at most {MANIFEST_BYTES} are read", text.len())));
    }
    serde_json::from_str(text).map_err(|error| whole(format!("the file is not JSON: {error}")))
}

fn read_manifest(json: &Value, problems: &mut Problems) -> Option<Manifest> {
    let fields = Fields::of(json, "", problems)?;
    fields.refuse_unknown(&FIELDS, problems);
    let id = fields.required_text("id", problems);
    let name = fields.required_text("name", problems);
    let description = fields.optional_text("description", problems);
    let version = fields.required_version("version", problems);
    let api_version = fields.required_range("apiVersion", problems);
    let tier = fields.choice::<Tier>("tier", &["core", "standard", "external"], problems);
    if tier.is_none() && fields.get("tier").is_none() {
        fields.missing("tier", problems);
    }
    let trust = fields.choice("trust", &["bundled", "local", "external"], problems).unwrap_or_default();
    let depends_on = read_dependencies(&fields, problems);
    let activation = read_activation(&fields, problems);
    let contributes = read_contributes(&fields, problems);
    let capabilities = read_capabilities(&fields, problems);
    // The rules look at what could be read, so that one typing error does not hide the others.
    Some(Manifest {
        id: ExtensionId::new(id.unwrap_or_default()),
        name: name.unwrap_or_default(),
        description: description.unwrap_or_default(),
        version: version.unwrap_or(semver::Version::new(0, 0, 0)),
        api_version: api_version.unwrap_or_default(),
        tier: tier.unwrap_or(Tier::External),
        trust,
        depends_on,
        activation,
        contributes,
        capabilities,
        program: fields.texts("program", problems),
        settings_schema: fields.get("settingsSchema").cloned(),
    })
}

fn read_dependencies(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Dependency> {
    let mut found = Vec::new();
    for (path, entry) in fields.list("dependsOn", problems) {
        if let Value::String(id) = entry {
            let (id, version) = (ExtensionId::new(id.as_str()), semver::VersionReq::STAR);
            found.push(Dependency { id, version, optional: false });
            continue;
        }
        let Some(entry) = Fields::of(entry, &path, problems) else { continue };
        entry.refuse_unknown(&["id", "version", "optional"], problems);
        let id = entry.required_text("id", problems);
        let version = entry.optional_range("version", problems).unwrap_or(semver::VersionReq::STAR);
        let optional = entry.optional_flag("optional", problems);
        found.push(Dependency { id: ExtensionId::new(id.unwrap_or_default()), version, optional });
    }
    found
}

fn read_activation(fields: &Fields<'_>, problems: &mut Problems) -> Activation {
    const HINT: &str = "write `\"eager\"` or `{\"onHook\": [\"owner/name\"]}`";
    match fields.get("activation") {
        None => Activation::Eager,
        Some(Value::String(word)) if word == "eager" => Activation::Eager,
        Some(Value::Object(object)) => {
            let entry = Fields::new(object, "activation");
            entry.refuse_unknown(&["onHook"], problems);
            let hooks = entry.texts("onHook", problems);
            if hooks.is_empty() && entry.get("onHook").is_none_or(Value::is_array) {
                problems.add(
                    "activation.onHook",
                    "names no hook, so the extension would never start",
                    Some(HINT.to_owned()),
                );
            }
            Activation::OnHook(hooks)
        }
        Some(_) => {
            problems.add("activation", "is neither `eager` nor a list of hooks", Some(HINT.to_owned()));
            Activation::Eager
        }
    }
}

fn read_contributes(fields: &Fields<'_>, problems: &mut Problems) -> Contributes {
    let Some(json) = fields.get("contributes") else { return Contributes::default() };
    let Some(entry) = Fields::of(json, "contributes", problems) else { return Contributes::default() };
    entry.refuse_unknown(&CONTRIBUTIONS, problems);
    Contributes {
        tools: entry.texts("tools", problems),
        providers: entry.texts("providers", problems),
        auth: entry.texts("auth", problems),
        hooks: entry.texts("hooks", problems),
        services: entry.texts("services", problems),
        routes: entry.texts("routes", problems),
        commands: entry.texts("commands", problems),
        jobs: entry.texts("jobs", problems),
        migrations: read_migrations(&entry, problems),
    }
}

fn read_migrations(contributes: &Fields<'_>, problems: &mut Problems) -> Vec<DeclaredMigration> {
    let mut found = Vec::new();
    for (path, entry) in contributes.list("migrations", problems) {
        let Some(entry) = Fields::of(entry, &path, problems) else { continue };
        entry.refuse_unknown(&["name", "statements"], problems);
        let name = entry.required_text("name", problems).unwrap_or_default();
        let statements = entry.texts("statements", problems);
        if statements.is_empty() {
            problems.add(format!("{path}.statements"), "has no statement", None);
        }
        found.push(DeclaredMigration { name, statements });
    }
    found
}

fn read_capabilities(fields: &Fields<'_>, problems: &mut Problems) -> Vec<Capability> {
    const NAMES: [&str; 7] = ["fs", "shell", "network", "secrets", "db", "spawn", "observe"];
    let entries = fields.list("capabilities", problems);
    entries.into_iter().filter_map(|(path, entry)| fields::choose(entry, &path, &NAMES, problems)).collect()
}
