//! What hosts keep about folders and hooks that their user trusts; without that they skip the hooks of a project.
//!
//! Pure.

use dispatch_hook_dialects::register::Document;
use serde_json::Value;
use std::path::Path;

/// Codex approves hooks one by one, and skips the others without a word. A project that it does not know yet is asked about.
pub(super) fn codex(text: &str, project: &Path) -> Option<String> {
    let file: toml::Table = toml::from_str(text).ok()?;
    let known = file.get("projects")?.get(project.to_str()?)?;
    if known.get("trust_level").and_then(toml::Value::as_str) == Some("untrusted") {
        return Some("does not trust this project, so its hooks do not run (`trust_level`)".to_owned());
    }
    let states = file.get("hooks").and_then(|hooks| hooks.get("state")).and_then(toml::Value::as_table);
    let of_calls = |name: &&String| name.contains(".codex/hooks.json:pre_tool_use:");
    let ours = states.into_iter().flatten().find(|(name, _)| of_calls(name)).map(|(_, state)| state);
    match ours {
        Some(state) if state.get("enabled").and_then(toml::Value::as_bool) == Some(false) => {
            Some("switches the hook off (`hooks.state`)".to_owned())
        }
        Some(_) => None,
        None => {
            Some("does not hold an approval of the hooks, so Codex skips them: approve them with /hooks".to_owned())
        }
    }
}

/// Gemini CLI and Qwen Code keep a rule for each folder; the one nearest to the project holds.
pub(super) fn folder_rules(text: &str, project: &Path) -> Option<String> {
    let rules = Document::parse(text, String::new).ok()?.root;
    let applies = |(folder, rule): &(&String, &Value)| {
        let folder = Path::new(folder.as_str());
        let of_parent = rule.as_str() == Some("TRUST_PARENT");
        project.starts_with(if of_parent { folder.parent().unwrap_or(folder) } else { folder })
    };
    let (folder, rule) = rules.iter().filter(applies).max_by_key(|(folder, _)| folder.len())?;
    (rule.as_str() == Some("DO_NOT_TRUST"))
        .then(|| format!("does not trust {folder}, so the hooks of the project do not run (`DO_NOT_TRUST`)"))
}

/// Copilot CLI keeps a list of folders; another folder runs without hooks once its tools are allowed.
pub(super) fn trusted_folders(text: &str, project: &Path) -> Option<String> {
    let settings = Document::parse(text, String::new).ok()?.root;
    let listed = settings.get("trusted_folders").or_else(|| settings.get("trustedFolders"))?.as_array()?;
    let trusted = listed.iter().filter_map(Value::as_str).any(|folder| project.starts_with(folder));
    (!trusted)
        .then(|| "does not list this folder, so the hooks of the project do not run (`trusted_folders`)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_was_told_not_to_trust_is_found() {
        let approved = "[hooks.state.\"/shop/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:0\"\n";
        let known = "[projects.\"/shop\"]\ntrust_level = \"trusted\"\n";
        let project = Path::new("/shop");
        for (text, skipped) in [
            (String::new(), false),
            ("model = \"x\"\n".to_owned(), false),
            (known.to_owned(), true),
            (format!("{known}{approved}"), false),
            (format!("{known}{approved}enabled = false\n"), true),
            (known.replace("trusted", "untrusted") + approved, true),
        ] {
            assert_eq!(codex(&text, project).is_some(), skipped, "{text}");
        }
        for (text, skipped) in [
            ("{}", false),
            ("{\"/shop\": \"DO_NOT_TRUST\"}", true),
            ("{\"/\": \"DO_NOT_TRUST\", // one\n\"/shop\": \"TRUST_FOLDER\"}", false),
            ("{\"/shop\": \"DO_NOT_TRUST\", \"/\": \"TRUST_FOLDER\"}", true),
            ("{\"/other\": \"DO_NOT_TRUST\"}", false),
            ("nonsense", false),
        ] {
            assert_eq!(folder_rules(text, project).is_some(), skipped, "{text}");
        }
        for (text, skipped) in [
            ("{}", false),
            ("{\"trusted_folders\": [\"/home\"]}", true),
            ("{\"trusted_folders\": [\"/shop\"]}", false),
            ("{\"trustedFolders\": [\"/\"]}", false),
        ] {
            assert_eq!(trusted_folders(text, project).is_some(), skipped, "{text}");
        }
    }
}
