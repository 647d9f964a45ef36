//! The faults that the suite puts into an extension, and how its manifest must change for them.
//!
//! Pure.

use dispatch_contracts::manifest::Capability;
use serde_json::{Value, json};

/// The tool that a fault adds to the extension.
pub(crate) const PROBE_TOOL: &str = "compliance_probe";
/// A second tool, which shows that the extension still works.
pub(crate) const ECHO_TOOL: &str = "compliance_echo";
/// A tool that no manifest names.
pub(crate) const UNDECLARED_TOOL: &str = "compliance_undeclared";
/// What every injected error says.
pub(crate) const MARK: &str = "injected fault";

/// One thing that an extension does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The module throws while it is loaded.
    LoadThrows,
    /// `activate` throws.
    ActivateThrows,
    /// The handler of an event rejects.
    EventRejects,
    /// A filter of `tool.before` throws.
    BeforeToolThrows,
    /// A filter of `tool.before` never answers.
    BeforeToolHangs,
    /// A filter of `request.before` throws.
    RequestThrows,
    /// A filter of `request.before` never answers.
    RequestHangs,
    /// Work that nobody waits for fails after `activate` returned.
    LaterThrows,
    /// A filter of `tool.before` answers with another call than the one it was asked about.
    BeforeToolMutates,
    /// A filter of `request.before` answers with something that is no request.
    RequestGarbage,
    /// A tool throws.
    ToolThrows,
    /// A tool never returns and never waits.
    ToolLoops,
    /// A tool takes memory without end.
    ToolEatsMemory,
    /// A tool prints without end.
    ToolFloods,
    /// A tool whose worker is killed from outside while it runs.
    ToolCrashes,
    /// An event handler is far slower than the events.
    SlowEvents,
    /// `activate` adds a tool that the manifest does not name.
    UndeclaredTool,
    /// A tool uses a capability that the manifest does not ask for.
    Undeclared(Capability),
    /// A tool uses a capability that the user did not grant.
    Ungranted(Capability),
}

/// The manifest that the extension needs to have this fault: it starts at once, and it may add the probe.
pub(crate) fn manifest_with_fault(text: &str, fault: InjectedFault) -> String {
    let Ok(mut manifest) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let Some(fields) = manifest.as_object_mut() else { return text.to_owned() };
    fields.remove("activation");
    let contributes = fields.entry("contributes").or_insert_with(|| json!({}));
    if let Some(kinds) = contributes.as_object_mut() {
        let names = kinds.entry("tools").or_insert_with(|| json!([]));
        names.as_array_mut().into_iter().for_each(|names| names.extend([PROBE_TOOL.into(), ECHO_TOOL.into()]));
    }
    let asked = fields.entry("capabilities").or_insert_with(|| json!([]));
    let Some(asked) = asked.as_array_mut() else { return text.to_owned() };
    match fault {
        InjectedFault::Undeclared(capability) => asked.retain(|name| name != capability.name()),
        InjectedFault::Ungranted(capability) if !asked.iter().any(|name| name == capability.name()) => {
            asked.push(capability.name().into());
        }
        _ => {}
    }
    manifest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_gets_the_probe_and_gains_or_loses_the_capability() {
        let text = r#"{"id":"a","activation":{"onHook":["b/c"]},"capabilities":["fs"]}"#;
        let changed = |fault| serde_json::from_str::<Value>(&manifest_with_fault(text, fault)).unwrap_or_default();
        let undeclared = changed(InjectedFault::Undeclared(Capability::Fs));
        assert_eq!(undeclared["contributes"]["tools"], json!([PROBE_TOOL, ECHO_TOOL]));
        assert_eq!((&undeclared["capabilities"], &undeclared["activation"]), (&json!([]), &Value::Null));
        assert_eq!(changed(InjectedFault::Ungranted(Capability::Db))["capabilities"], json!(["fs", "db"]));
        assert_eq!(changed(InjectedFault::Ungranted(Capability::Fs))["capabilities"], json!(["fs"]));
        assert_eq!(manifest_with_fault("no JSON", InjectedFault::LoadThrows), "no JSON");
    }
}
