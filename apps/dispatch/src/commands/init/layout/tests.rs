//! The defaults are valid and explained, and what a user wrote is never replaced.

use super::*;
use ext_hook_pipeline::contract::{Config, PromptAudit};

fn file(set: ModuleSet, name: &str) -> LayoutFile {
    files(set).into_iter().find(|file| file.path.ends_with(name)).unwrap()
}

fn names(text: &str) -> Vec<String> {
    let (manifest, problems) = PipelineManifest::parse(text.as_bytes());
    assert_eq!(problems, [""; 0]);
    manifest.modules.into_iter().filter(|entry| entry.enabled).map(|entry| entry.name).collect()
}

#[test]
fn the_default_files_are_read_without_a_complaint() {
    let (config, problems) = Config::parse(CONFIG.as_bytes());
    assert_eq!((config.prompts, problems), (PromptAudit::Text, Vec::new()));
    let (manifest, problems) = PipelineManifest::parse(manifest_text(ModuleSet::Default).as_bytes());
    assert_eq!(problems, [""; 0]);
    let default = PipelineManifest::default();
    assert_eq!((&manifest.modules, &manifest.phase_policy), (&default.modules, &default.phase_policy));
    for event in EventName::KNOWN {
        assert_eq!(manifest.budget_ms(&event), default.budget_ms(&event), "{event}");
    }
}

#[test]
fn the_set_decides_which_modules_run() {
    assert_eq!(
        names(&manifest_text(ModuleSet::Default)),
        ["session", "self-guard", "graph-pretooluse", "intents", "planGraph-exec"]
    );
    assert_eq!(names(&manifest_text(ModuleSet::Full)), compose::guard_names());
}

#[test]
fn what_modules_say_about_themselves_is_what_the_manifest_means_by_default() {
    let guards = compose::guards();
    let on: Vec<&str> =
        guards.iter().map(|guard| guard.spec()).filter(|spec| spec.on_by_default).map(|spec| spec.name).collect();
    assert_eq!(on, wanted_modules(ModuleSet::Default));
    let owners: Vec<&str> =
        guards.iter().map(|guard| guard.spec()).filter(|spec| spec.rewrites_input).map(|spec| spec.name).collect();
    assert_eq!(owners, [PipelineManifest::default().rewrite_owner]);
}

#[test]
fn every_module_and_every_knob_is_explained() {
    for name in compose::guard_names() {
        assert!(README.contains(&format!("| `{name}` |")), "{name}");
    }
    let config: Value = serde_json::from_str(CONFIG).unwrap();
    for (section, knobs) in config.as_object().unwrap().iter().filter(|(key, _)| !key.starts_with('$')) {
        match knobs.as_object() {
            Some(knobs) => {
                for knob in knobs.keys() {
                    assert!(README.contains(&format!("| `{section}.{knob}` |")), "{section}.{knob}");
                }
            }
            None => assert!(README.contains(&format!("| `{section}` |")), "{section}"),
        }
    }
}

#[test]
fn what_a_user_wrote_stays() {
    for name in
        ["config.json", "rlm-policy.json", "followup-rules.json", "README.md", MANIFEST_NAME, ".ai/tmp/.gitignore"]
    {
        let verdict = file(ModuleSet::Default, name).judge(Some("mine"), ModuleSet::Default);
        assert_eq!(verdict, Ok(LayoutFileChange::Keep("yours")), "{name}");
    }
    let schema = file(ModuleSet::Default, "state.schema.json");
    assert!(matches!(schema.judge(Some("{}"), ModuleSet::Default), Ok(LayoutFileChange::Write(..))));
    let page = file(ModuleSet::Default, "README.md");
    let older = format!("{README_MARK}, older");
    assert!(matches!(page.judge(Some(&older), ModuleSet::Default), Ok(LayoutFileChange::Write(..))));
}

#[test]
fn the_full_set_adds_to_a_manifest_and_switches_nothing_on_that_was_off() {
    let manifest = file(ModuleSet::Full, MANIFEST_NAME);
    let mine = r#"{"unattended": "deny", "modules": ["mine", {"name": "stop-synth", "enabled": false}]}"#;
    let Ok(LayoutFileChange::Write(text, why)) = manifest.judge(Some(mine), ModuleSet::Full) else { panic!("a write") };
    assert!(why.contains("memory-journal") && !why.contains("stop-synth"), "{why}");
    let found = names(&text);
    assert!(found.contains(&"mine".to_owned()) && !found.contains(&"stop-synth".to_owned()), "{found:?}");
    assert!(text.contains("\"unattended\": \"deny\""));
    assert_eq!(
        manifest.judge(Some(&text), ModuleSet::Full),
        Ok(LayoutFileChange::Keep("yours; every native module is named"))
    );
    for broken in ["{", "[]", r#"{"modules": 3}"#] {
        assert!(manifest.judge(Some(broken), ModuleSet::Full).is_err(), "{broken}");
    }
}
