//! Older versions of the file, brought to the present one before anything looks at it.
//!
//! Pure.

use super::fields::Located;
use super::findings::Findings;
use super::json::{JsonNode, JsonValue};

/// The version that this program writes and reads.
pub(crate) const SCHEMA_VERSION: u64 = 1;

/// Keys of a hook as version 0 spelt them. In a later version such a key is an error that names the new one.
pub(crate) const OLD_KEYS: &[(&str, &str)] = &[
    ("name", "id"),
    ("event", "trigger"),
    ("glob", "pattern"),
    ("patterns", "pattern"),
    ("timeout", "timeoutMs"),
    ("debounce", "debounceMs"),
    ("maxConcurrency", "concurrency"),
    ("env", "passEnv"),
    ("cron", "schedule"),
];

/// Triggers as version 0 spelt them.
pub(crate) const OLD_TRIGGERS: &[(&str, &str)] = &[
    ("onSave", "onDidSaveTextDocument"),
    ("fileSaved", "onDidSaveTextDocument"),
    ("onWillSave", "onWillSaveTextDocument"),
    ("onCreate", "onDidCreateFiles"),
    ("fileCreated", "onDidCreateFiles"),
    ("onDelete", "onDidDeleteFiles"),
    ("fileDeleted", "onDidDeleteFiles"),
    ("onRename", "onDidRenameFiles"),
    ("onCommit", "gitCommit"),
    ("git:commit", "gitCommit"),
    ("git:post-commit", "gitCommit"),
    ("cron", "schedule"),
];

/// The version that a file says it has; none when it cannot be read by this program.
pub(crate) fn version(root: &JsonNode, findings: &mut Findings) -> Option<u64> {
    let JsonValue::Object(members) = &root.json else { return Some(SCHEMA_VERSION) };
    let Some(member) = members.iter().find(|member| member.key == "schemaVersion") else {
        return Some(SCHEMA_VERSION);
    };
    let found = Located::of(&member.value, "/schemaVersion".to_owned());
    match stated(&member.value) {
        Some(version) if version <= SCHEMA_VERSION => Some(version),
        Some(version) => {
            let message =
                format!("unsupported `schemaVersion` {version}: this version of Dispatch reads up to {SCHEMA_VERSION}");
            found.wrong_hinted(findings, "schema-version", message, "update Dispatch");
            None
        }
        None => {
            let message = "invalid `schemaVersion`: expected a whole number".to_owned();
            found.wrong_hinted(findings, "schema-version", message, format!("write {SCHEMA_VERSION}"));
            None
        }
    }
}

/// `1`, and `"1"` or `"1.0"`, as other tools spell versions.
fn stated(node: &JsonNode) -> Option<u64> {
    match &node.json {
        JsonValue::Number(number) => number.as_u64(),
        JsonValue::Text(text) => text.strip_suffix(".0").unwrap_or(text).parse().ok(),
        _ => None,
    }
}

/// Changes the spelling of an older file to the present one.
pub(crate) fn migrate(root: &mut JsonNode, from: u64) {
    if from == 0 {
        from_version_0(root);
    }
}

fn from_version_0(root: &mut JsonNode) {
    let JsonValue::Object(members) = &mut root.json else { return };
    let hooks = members.iter_mut().filter(|member| member.key == "hooks");
    let hooks = hooks.filter_map(|member| match &mut member.value.json {
        JsonValue::List(hooks) => Some(hooks),
        _ => None,
    });
    for hook in hooks.flatten() {
        rename(hook);
    }
}

fn rename(hook: &mut JsonNode) {
    let JsonValue::Object(members) = &mut hook.json else { return };
    for (old, now) in OLD_KEYS {
        if members.iter().any(|member| member.key == *now) {
            continue;
        }
        if let Some(member) = members.iter_mut().find(|member| member.key == *old) {
            (*now).clone_into(&mut member.key);
        }
    }
    for member in members.iter_mut().filter(|member| member.key == "trigger") {
        if let JsonValue::Text(text) = &mut member.value.json
            && let Some(now) = present_trigger(text)
        {
            now.clone_into(text);
        }
    }
}

/// What an old trigger is called now.
pub(crate) fn present_trigger(old: &str) -> Option<&'static str> {
    OLD_TRIGGERS.iter().find(|(spelt, _)| *spelt == old).map(|(_, now)| *now)
}
