//! Whether a file tells a host to skip its hooks, or not to trust them: then it does not matter that they are registered.

mod trust;

use super::super::init::registration_root::RegistrationRoot;
use dispatch_hook_dialects::register::Document;
use serde_json::Value;
use std::path::Path;

/// What in a file switches hooks off.
#[derive(Debug, Clone, Copy)]
enum Switch {
    /// A flag of a JSON file that is true.
    Flag(&'static str),
    /// A flag of a JSON file that is false, by its path.
    FalseAt(&'static [&'static str]),
    /// `features.hooks = false` in a TOML file.
    CodexFeature,
    /// Our name in a list of what is disabled, by its path in a JSON file.
    Listed(&'static [&'static str]),
    /// The plugin in a file of Goose.
    GoosePlugin,
    /// What Codex keeps of approved projects and hooks.
    CodexTrust,
    /// The folders that Gemini CLI and Qwen Code were told about.
    FolderRules,
    /// The folders that Copilot CLI trusts.
    TrustedFolders,
}

/// Host, file relative to the project or the home, and what it may say.
const SWITCHES: &[(&str, &str, Switch)] = &[
    ("claude-code", ".claude/settings.json", Switch::Flag("disableAllHooks")),
    ("claude-code", ".claude/settings.local.json", Switch::Flag("disableAllHooks")),
    ("qwen-code", ".qwen/settings.json", Switch::Flag("disableAllHooks")),
    ("copilot-cli", ".github/copilot/settings.json", Switch::Flag("disableAllHooks")),
    ("copilot-cli", ".github/copilot/settings.local.json", Switch::Flag("disableAllHooks")),
    ("copilot-cli", ".claude/settings.json", Switch::Flag("disableAllHooks")),
    ("copilot-cli", ".github/hooks/dispatch.json", Switch::Flag("disableAllHooks")),
    ("factory-droid", ".factory/hooks.json", Switch::Flag("hooksDisabled")),
    ("gemini-cli", ".gemini/settings.json", Switch::FalseAt(&["hooksConfig", "enabled"])),
    ("gemini-cli", ".gemini/settings.json", Switch::Listed(&["hooksConfig", "disabled"])),
    ("vscode-copilot", ".vscode/settings.json", Switch::FalseAt(&["chat.useHooks"])),
    ("codex", ".codex/config.toml", Switch::CodexFeature),
    ("goose", ".config/goose/config.yaml", Switch::GoosePlugin),
    ("codex", ".codex/config.toml", Switch::CodexTrust),
    ("gemini-cli", ".gemini/trustedFolders.json", Switch::FolderRules),
    ("qwen-code", ".qwen/trustedFolders.json", Switch::FolderRules),
    ("copilot-cli", ".copilot/config.json", Switch::TrustedFolders),
];

/// The file that switches the host's hooks off, with the key, if there is one in the project or the home.
pub(super) fn find(host: &str, places: &[RegistrationRoot]) -> Option<String> {
    let of_host = SWITCHES.iter().filter(|(name, ..)| *name == host);
    of_host.clone().find_map(|(_, file, switch)| {
        places.iter().find_map(|place| {
            let text = place.read(file).ok().flatten()?;
            let project = places.first().map(|first| first.root.as_path());
            let said = said(&text, *switch, project)?;
            Some(format!("{} {said}", place.root.join(file).display()))
        })
    })
}

/// What a file says against the hooks, behind its name.
fn said(text: &str, switch: Switch, project: Option<&Path>) -> Option<String> {
    match switch {
        Switch::CodexTrust => trust::codex(text, project?),
        Switch::FolderRules => trust::folder_rules(text, project?),
        Switch::TrustedFolders => trust::trusted_folders(text, project?),
        _ => switched_off(text, switch, project).map(|key| format!("switches its hooks off (`{key}`)")),
    }
}

/// The key with which a file switches hooks off.
fn switched_off(text: &str, switch: Switch, project: Option<&Path>) -> Option<String> {
    let json = || Document::parse(text, String::new).ok().map(|document| Value::Object(document.root));
    let at = |path: &[&str]| path.iter().try_fold(json()?, |value, key| value.get(*key).cloned());
    match switch {
        Switch::Flag(key) => (at(&[key])? == Value::Bool(true)).then(|| key.to_owned()),
        Switch::FalseAt(path) => (at(path)? == Value::Bool(false)).then(|| path.join(".")),
        Switch::Listed(path) => {
            let ours = |item: &Value| item.as_str().is_some_and(|name| name.contains("dispatch"));
            at(path)?.as_array()?.iter().any(ours).then(|| path.join("."))
        }
        Switch::CodexFeature => {
            let file: toml::Table = toml::from_str(text).ok()?;
            let off = file.get("features")?.get("hooks")?.as_bool() == Some(false);
            off.then(|| "features.hooks".to_owned())
        }
        Switch::GoosePlugin => {
            let plugin = project?.join(".agents/plugins/dispatch").to_string_lossy().into_owned();
            let mut lines = text.lines().skip_while(|line| !line.contains(&plugin));
            lines.next()?;
            let off = lines.next()?.trim().replace(' ', "") == "enabled:false";
            off.then(|| format!("plugins.{plugin}.enabled"))
        }
        Switch::CodexTrust | Switch::FolderRules | Switch::TrustedFolders => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_switch_is_read_and_its_opposite_is_not() {
        let project = Path::new("/shop");
        let goose = |flag: &str| format!("plugins:\n  /shop/.agents/plugins/dispatch:\n    enabled: {flag}\n");
        let table = [
            (
                Switch::Flag("disableAllHooks"),
                "{\n  // for now\n  \"disableAllHooks\": true,\n}".to_owned(),
                "{\"disableAllHooks\": false}".to_owned(),
            ),
            (
                Switch::FalseAt(&["hooksConfig", "enabled"]),
                "{\"hooksConfig\": {\"enabled\": false}}".to_owned(),
                "{}".to_owned(),
            ),
            (
                Switch::Listed(&["hooksConfig", "disabled"]),
                "{\"hooksConfig\": {\"disabled\": [\"dispatch\"]}}".to_owned(),
                "{\"hooksConfig\": {\"disabled\": [\"x\"]}}".to_owned(),
            ),
            (Switch::CodexFeature, "[features]\nhooks = false\n".to_owned(), "[features]\nhooks = true\n".to_owned()),
            (Switch::GoosePlugin, goose("false"), goose("true")),
        ];
        for (switch, off, on) in table {
            assert!(said(&off, switch, Some(project)).is_some(), "{off}");
            assert!(said(&on, switch, Some(project)).is_none(), "{on}");
        }
    }
}
