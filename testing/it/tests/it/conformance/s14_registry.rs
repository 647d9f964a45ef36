//! Section 14: the modules that come with the program, their flags, and which are on.

use dispatch_hook_module::EventName;

use super::workspace::PipelineWorkspace;
use ext_hook_pipeline::contract::native_modules;
use serde_json::Value;

/// Name, priority, hot path safe, critical, and the events that it must see.
const REGISTRY: [(&str, i32, bool, bool, &str); 8] = [
    ("session", 0, true, true, "SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact Stop"),
    ("graph-pretooluse", 10, true, true, "PreToolUse"),
    ("planGraph-exec", 20, true, false, "PreToolUse"),
    ("plan-subagent-contract", 30, false, false, "SubagentStart SubagentStop"),
    ("rlm-work", 40, true, false, "PreToolUse SubagentStart SubagentStop"),
    ("memory-journal", 50, false, false, "UserPromptSubmit PostToolUse Stop"),
    ("memory-activation", 60, true, false, "PreToolUse PostToolUse"),
    ("stop-synth", 100, false, false, "Stop"),
];

#[test]
fn s14_each_module_has_the_flags_and_events_of_the_registry() {
    let modules = native_modules();
    for (name, priority, hot_path_safe, critical, events) in REGISTRY {
        let module = modules.iter().find(|module| module.spec().name == name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(
            (module.spec().priority, module.spec().hot_path_safe, module.spec().critical),
            (priority, hot_path_safe, critical),
            "{name}"
        );
        let seen = EventName::KNOWN.iter().filter(|event| module.spec().handles(event)).map(EventName::as_str);
        let more = if name == "session" { &["SubagentStart", "SubagentStop"][..] } else { &[] };
        let seen: Vec<&str> = seen.filter(|event| !more.contains(event)).collect();
        assert_eq!(seen.join(" "), events, "{name}");
    }
}

fn enabled(arguments: &[&str]) -> Vec<String> {
    let workspace = PipelineWorkspace::with(&[]);
    std::fs::remove_dir_all(workspace.context.project().join(".ai")).unwrap();
    assert_eq!(workspace.context.dispatch(arguments).status, 0);
    let text = std::fs::read_to_string(workspace.context.project().join(".ai/hooks/dispatch.manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let is_on = |entry: &&Value| entry["enabled"] != false;
    let name = |entry: &Value| entry["name"].as_str().or(entry.as_str()).unwrap().to_owned();
    manifest["modules"].as_array().unwrap().iter().filter(is_on).map(name).collect()
}

#[test]
fn s14_1_the_minimal_set_is_on_after_init() {
    let on = enabled(&["init", "--host", "vscode-copilot"]);
    for name in ["session", "graph-pretooluse", "planGraph-exec"] {
        assert!(on.contains(&name.to_owned()), "{name} in {on:?}");
    }
    assert_eq!(on.len(), 5, "and the guard of the rules and the intents: {on:?}");
}

#[test]
fn s14_1_everything_is_on_when_asked_for() {
    let on = enabled(&["init", "--host", "vscode-copilot", "--full"]);
    for (name, ..) in REGISTRY {
        assert!(on.contains(&name.to_owned()), "{name} in {on:?}");
    }
}
