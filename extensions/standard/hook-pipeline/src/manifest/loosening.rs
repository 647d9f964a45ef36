//! What a manifest weakens against the built-in defaults, and the manifest without it.

use dispatch_hook_module::{EventName, Unattended};

use super::{DEFAULT_MODULES, ModuleEntry, PipelineManifest};

impl PipelineManifest {
    /// Whether it weakens anything. Asked for each event, so it builds nothing.
    pub(crate) fn is_looser(&self) -> bool {
        self.unattended == Some(Unattended::Allow)
            || self.has_short_budget()
            || DEFAULT_MODULES.iter().any(|name| !self.keeps(name))
    }

    /// Takes out what weakens, and names it.
    pub(crate) fn tighten(&mut self) -> Vec<String> {
        let mut removed = Vec::new();
        if self.unattended == Some(Unattended::Allow) {
            self.unattended = None;
            removed.push("unattended".to_owned());
        }
        if self.has_short_budget() {
            self.budgets.remove(EventName::PreToolUse.as_str());
            removed.push("budgets.PreToolUse".to_owned());
        }
        for name in DEFAULT_MODULES {
            if !self.keeps(name) {
                self.modules.retain(|entry| entry.name != name);
                self.modules.push(ModuleEntry::enabled(name));
                removed.push(format!("modules: `{name}` is missing or weakened"));
            }
        }
        removed
    }

    /// Whether a default module runs as it does by default.
    fn keeps(&self, name: &str) -> bool {
        self.modules.iter().any(|entry| {
            entry.name == name && entry.enabled && entry.critical != Some(false) && entry.hot_path_safe != Some(false)
        })
    }

    /// A shorter budget lets calls pass that the guards would have judged.
    fn has_short_budget(&self) -> bool {
        let event = EventName::PreToolUse;
        self.budgets.get(event.as_str()).is_some_and(|ms| *ms < Self::default_budget_ms(&event))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn removed(manifest: &serde_json::Value) -> Vec<String> {
        let (mut manifest, _) = PipelineManifest::parse(manifest.to_string().as_bytes());
        let looser = manifest.is_looser();
        let removed = manifest.tighten();
        assert_eq!(looser, !removed.is_empty());
        assert!(!manifest.is_looser(), "nothing is left to take out");
        removed
    }

    #[test]
    fn what_weakens_is_taken_out_and_what_tightens_stays() {
        let all = DEFAULT_MODULES;
        assert_eq!(removed(&json!({})), Vec::<String>::new());
        assert_eq!(
            removed(&json!({"modules": all, "enforcePhases": true, "unattended": "deny"})),
            Vec::<String>::new()
        );
        assert_eq!(removed(&json!({"unattended": "allow"})), ["unattended"]);
        assert_eq!(removed(&json!({"budgets": {"PreToolUse": 1}})), ["budgets.PreToolUse"]);
        assert_eq!(removed(&json!({"budgets": {"PreToolUse": 900}})), Vec::<String>::new());
        assert_eq!(removed(&json!({"modules": ["session"]})).len(), all.len() - 1);
        let flags = [json!({"enabled": false}), json!({"critical": false}), json!({"hotPathSafe": false})];
        for mut weakened in flags {
            weakened["name"] = json!("self-guard");
            let mut modules: Vec<_> =
                all.iter().filter(|name| **name != "self-guard").map(|name| json!(name)).collect();
            modules.push(weakened.clone());
            assert_eq!(removed(&json!({ "modules": modules })).len(), 1, "{weakened}");
        }
    }
}
