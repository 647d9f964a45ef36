//! What a well-formed manifest must also obey: names, ownership of ids, no duplicates.

use super::fields::Problems;
use crate::services::schema::unsupported_keywords;
use dispatch_contracts::hook::owner_of;
use dispatch_contracts::host::{SECRETS, STORAGE};
use dispatch_contracts::manifest::{Activation, Capability, Manifest, Tier};
use serde_json::Value;
use std::collections::BTreeSet;

/// The longest id.
const ID_BYTES: usize = 64;
/// The longest tool name that model providers accept.
const TOOL_NAME_BYTES: usize = 64;
/// The most words of a command line.
const PROGRAM_WORDS: usize = 64;
/// The owner of the kernel's own hooks and services.
const KERNEL: &str = "kernel";

pub(super) fn check(manifest: &Manifest, problems: &mut Problems) {
    check_id(manifest, problems);
    if manifest.name.trim().is_empty() && !problems.mention("name") {
        problems.add("name", "is empty", None);
    }
    check_dependencies(manifest, problems);
    check_activation(manifest, problems);
    check_contributes(manifest, problems);
    no_duplicates("capabilities", manifest.capabilities.iter().map(|it| it.name()), problems);
    check_program(manifest, problems);
    if let Some(schema) = &manifest.settings_schema {
        check_schema(schema, problems);
    }
}

fn check_program(manifest: &Manifest, problems: &mut Problems) {
    let Some(name) = manifest.program.first() else { return };
    if name.is_empty() {
        problems.add("program[0]", "is empty; the first word is the program's name", None);
    }
    if manifest.program.len() > PROGRAM_WORDS {
        problems.add("program", format!("has more than {PROGRAM_WORDS} words"), None);
    }
    if manifest.program.iter().any(|word| word.contains('\0')) {
        problems.add("program", "contains a zero byte", None);
    }
    if !manifest.capabilities.contains(&Capability::Spawn) {
        let hint = "add `\"spawn\"` to `capabilities`; the user grants it".to_owned();
        problems.add("program", "a separate program runs with the user's rights, so it needs `spawn`", Some(hint));
    }
    if manifest.tier != Tier::External {
        problems.add("program", "is for extensions from outside this program", None);
    }
}

/// Lower-case words joined by `-`.
pub(super) fn is_id(text: &str) -> bool {
    text.len() <= ID_BYTES
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .split('-')
            .all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
}

fn check_id(manifest: &Manifest, problems: &mut Problems) {
    let id = manifest.id.as_str();
    if problems.mention("id") {
        return;
    }
    if id == KERNEL {
        problems.add("id", "`kernel` is the kernel's own name", None);
    } else if !is_id(id) {
        let shown = crate::bus::wording::one_line(id);
        let hint = "use lower-case words joined by `-`, for example `tool-search`".to_owned();
        problems.add("id", format!("invalid extension id `{shown}`"), Some(hint));
    }
}

fn check_dependencies(manifest: &Manifest, problems: &mut Problems) {
    for (at, dependency) in manifest.depends_on.iter().enumerate() {
        let path = format!("dependsOn[{at}]");
        let id_path = format!("{path}.id");
        if dependency.id == manifest.id {
            problems.add(path, "names the extension itself", None);
        } else if !is_id(dependency.id.as_str()) && !problems.mention(&id_path) {
            let shown = crate::bus::wording::one_line(dependency.id.as_str());
            problems.add(path, format!("invalid extension id `{shown}`"), None);
        }
    }
    no_duplicates("dependsOn", manifest.depends_on.iter().map(|it| it.id.as_str()), problems);
}

fn check_activation(manifest: &Manifest, problems: &mut Problems) {
    let Activation::OnHook(hooks) = &manifest.activation else { return };
    for (at, hook) in hooks.iter().enumerate() {
        let owner = owner_of(hook);
        let reachable = owner == KERNEL
            || owner == manifest.id.as_str()
            || manifest.depends_on.iter().any(|dependency| dependency.id.as_str() == owner);
        let path = format!("activation.onHook[{at}]");
        if !is_owned_name(hook) {
            problems.add(path, format!("invalid hook id `{hook}`"), Some("write it as `owner/name`".to_owned()));
        } else if !reachable {
            let hint = format!("add `{owner}` to `dependsOn`");
            problems.add(path, format!("`{hook}` belongs to `{owner}`, which is not a dependency"), Some(hint));
        }
    }
    no_duplicates("activation.onHook", hooks.iter().map(String::as_str), problems);
}

fn check_contributes(manifest: &Manifest, problems: &mut Problems) {
    let added = &manifest.contributes;
    check_owned("contributes.hooks", &added.hooks, manifest, &[], problems);
    let kernel_services: &[&str] = if manifest.tier == Tier::Core { &[STORAGE.id(), SECRETS.id()] } else { &[] };
    check_owned("contributes.services", &added.services, manifest, kernel_services, problems);
    for (at, tool) in added.tools.iter().enumerate().filter(|(_, tool)| !is_tool_name(tool)) {
        let hint = format!("models accept letters, digits, `_` and `-`, at most {TOOL_NAME_BYTES}");
        let shown = crate::bus::wording::one_line(tool);
        problems.add(format!("contributes.tools[{at}]"), format!("invalid tool name `{shown}`"), Some(hint));
    }
    for (at, route) in added.routes.iter().enumerate().filter(|(_, route)| !is_route(route)) {
        let hint = "write it as `METHOD /path`, for example `GET /v1/sessions`".to_owned();
        let shown = crate::bus::wording::one_line(route);
        problems.add(format!("contributes.routes[{at}]"), format!("invalid route `{shown}`"), Some(hint));
    }
    for (kind, names) in [
        ("tools", &added.tools),
        ("providers", &added.providers),
        ("auth", &added.auth),
        ("hooks", &added.hooks),
        ("services", &added.services),
        ("routes", &added.routes),
        ("commands", &added.commands),
        ("jobs", &added.jobs),
    ] {
        let path = format!("contributes.{kind}");
        no_duplicates(&path, names.iter().map(String::as_str), problems);
        for (at, _) in names.iter().enumerate().filter(|(_, name)| name.is_empty()) {
            problems.add(format!("{path}[{at}]"), "is empty", None);
        }
    }
}

fn check_owned(path: &str, ids: &[String], manifest: &Manifest, also: &[&str], problems: &mut Problems) {
    for (at, id) in ids.iter().enumerate().filter(|(_, id)| !id.is_empty() && !also.contains(&id.as_str())) {
        if !is_owned_name(id) || owner_of(id) != manifest.id.as_str() {
            let hint = format!("ids start with the extension's own: `{}/...`", manifest.id);
            let shown = crate::bus::wording::one_line(id);
            problems.add(format!("{path}[{at}]"), format!("`{shown}` does not belong to this extension"), Some(hint));
        }
    }
}

fn check_schema(schema: &Value, problems: &mut Problems) {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let hint = "settings are an object: write `\"type\": \"object\"`".to_owned();
        problems.add("settingsSchema", "does not describe an object", Some(hint));
        return;
    }
    for place in unsupported_keywords(schema) {
        problems.add(format!("settingsSchema.{place}"), "is not understood, so settings could not be checked", None);
    }
}

fn no_duplicates<'a>(path: &str, names: impl Iterator<Item = &'a str>, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (at, name) in names.enumerate() {
        if !seen.insert(name) {
            problems.add(
                format!("{path}[{at}]"),
                format!("`{}` is listed twice", crate::bus::wording::one_line(name)),
                None,
            );
        }
    }
}

/// `owner/name`, the name of letters, digits, `.`, `_` and `-`.
fn is_owned_name(id: &str) -> bool {
    id.split_once('/').is_some_and(|(owner, name)| {
        is_id(owner)
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    })
}

fn is_tool_name(name: &str) -> bool {
    name.len() <= TOOL_NAME_BYTES
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn is_route(route: &str) -> bool {
    route.split_once(' ').is_some_and(|(method, path)| {
        !method.is_empty()
            && method.bytes().all(|byte| byte.is_ascii_uppercase())
            && path.starts_with('/')
            && !path.contains(char::is_whitespace)
    })
}
