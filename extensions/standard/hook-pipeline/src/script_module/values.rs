//! The context as a script sees it: plain data, with the names that scripts rely on.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use dispatch_hook_module::{Capabilities, Context, Ids, ModuleFolders, Paths, SessionState};
use dispatch_os::files::read_text_at_most;
use dispatch_os::paths::resolve_inside;
use dispatch_script::HostFunctions;
use dispatch_toolcall::{PathAccess, ToolKind};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

const TEXT_LIMIT_BYTES: u64 = 1024 * 1024;

/// The second argument of `handle`; the entry script adds the functions.
#[derive(Serialize)]
pub(super) struct Seen<'a> {
    ids: &'a Ids,
    event: SeenEvent<'a>,
    paths: NamedPaths<'a, 12>,
    state: &'a SessionState,
    config: ModuleConfig<'a>,
    feature: NamedPaths<'a, 3>,
    cap: &'a Capabilities,
    timers: SeenTimers,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeenEvent<'a> {
    name: &'a str,
    host: &'a str,
    tool_name: Option<&'a str>,
    tool_input: &'a Value,
    tool_use_id: Option<&'a str>,
    kind: Option<ToolKind>,
    paths: Option<&'a [PathAccess]>,
    command: Option<&'a str>,
    tool_response: &'a Value,
    prompt: Option<&'a str>,
    transcript_path: Option<&'a str>,
    cwd: Option<&'a str>,
    raw: &'a Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SeenTimers {
    start_ms: i64,
    budget_ms: u64,
}

impl<'a> Seen<'a> {
    pub(super) fn new(ctx: &'a Context<'_>) -> Self {
        Self {
            ids: ctx.ids,
            event: SeenEvent::new(ctx),
            paths: NamedPaths::of_workspace(ctx.paths),
            state: ctx.state,
            config: ModuleConfig(ctx.config),
            feature: NamedPaths::of_feature(&ctx.folders),
            cap: &ctx.cap,
            timers: SeenTimers { start_ms: ctx.timers.start_ms, budget_ms: ctx.timers.budget_ms },
        }
    }
}

impl<'a> SeenEvent<'a> {
    fn new(ctx: &'a Context<'_>) -> Self {
        let event = ctx.event;
        Self {
            name: event.name.as_str(),
            host: event.host,
            tool_name: event.tool_name.as_deref(),
            tool_input: &event.tool_input,
            tool_use_id: event.tool_use_id.as_deref(),
            kind: ctx.call.map(|call| call.kind),
            paths: ctx.call.map(|call| call.paths.as_slice()),
            command: ctx.call.and_then(|call| call.command.as_deref()),
            tool_response: &event.tool_response,
            prompt: event.prompt.as_deref(),
            transcript_path: event.transcript_path.as_deref(),
            cwd: event.cwd.as_deref(),
            raw: &event.raw,
        }
    }
}

/// Paths by name, each as text, whatever it is made of.
struct NamedPaths<'a, const COUNT: usize>([(&'static str, Cow<'a, Path>); COUNT]);

impl<'a> NamedPaths<'a, 12> {
    fn of_workspace(paths: &'a Paths) -> Self {
        Self([
            ("repoRoot", paths.repo_root.as_path().into()),
            ("hooksRoot", paths.hooks_root.as_path().into()),
            ("workRoot", paths.work_root.as_path().into()),
            ("sessionRoot", paths.session_root.as_path().into()),
            ("stateFile", paths.state_file().into()),
            ("eventsFile", paths.events_file().into()),
            ("registryFile", paths.registry_file().into()),
            ("configFile", paths.config_file().into()),
            ("policyFile", paths.policy_file().into()),
            ("followupRulesFile", paths.followup_rules_file().into()),
            ("manifestFile", paths.manifest_file().into()),
            ("schemaDir", paths.schema_dir().into()),
        ])
    }
}

impl<'a> NamedPaths<'a, 3> {
    fn of_feature(feature: &'a ModuleFolders) -> Self {
        Self([
            ("root", feature.root.as_path().into()),
            ("logs", feature.logs.as_path().into()),
            ("output", feature.output.as_path().into()),
        ])
    }
}

impl<const COUNT: usize> Serialize for NamedPaths<'_, COUNT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, path)| (name, path.to_string_lossy())))
    }
}

/// A module without configuration sees an empty one.
struct ModuleConfig<'a>(&'a Value);

impl Serialize for ModuleConfig<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_map(Some(0))?.end(),
            config => config.serialize(serializer),
        }
    }
}

/// JSON text, as the engine takes its arguments.
pub(super) fn text_of(value: &impl Serialize) -> String {
    // Plain data with names for keys always serialises.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// What scripts may ask for beyond their arguments.
pub(super) fn host_functions(repo_root: PathBuf) -> HostFunctions {
    HostFunctions::new().with("readText", move |arguments| {
        let path = arguments.first().and_then(Value::as_str).ok_or("readText needs a path")?;
        let found = resolve_inside(&repo_root, Path::new(path)).map_err(|error| error.to_string())?;
        if !found.is_inside() {
            return Err("only files of the workspace can be read".to_owned());
        }
        match read_text_at_most(&found.path, TEXT_LIMIT_BYTES) {
            Ok(content) => Ok(content.into()),
            Err(error) if error.is_not_found() => Ok(Value::Null),
            Err(error) => Err(error.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dispatch_hook_module::testing::TestInvocation;
    use dispatch_hook_module::{EventName, HookAction, Module, ModuleError, ModuleSpec};
    use dispatch_kernel::services::schema::check;

    /// Hands the context back as a script would see it.
    struct Mirror;

    impl Module for Mirror {
        fn spec(&self) -> ModuleSpec<'_> {
            ModuleSpec { events: &EventName::KNOWN, priority: 0, hot_path_safe: true, ..ModuleSpec::named("mirror") }
        }

        fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
            Ok(HookAction::none().with_state(serde_json::to_value(Seen::new(ctx)).expect("data")))
        }
    }

    #[test]
    fn the_context_of_a_script_fits_its_schema() {
        let schema = crate::schema::ALL.iter().find(|schema| schema.name == "ctx").expect("ctx").to_value();
        let scenes = [
            TestInvocation::command("cat src/*.rs > out.txt"),
            TestInvocation::before_tool("Write", json!({"file_path": "/repo/x", "content": ""}))
                .config(json!({"a": 1})),
            TestInvocation::prompt("hello").state(json!({"core": {"phase": "PLANNING", "lastTurnId": 1}})),
            TestInvocation::new(EventName::Stop),
        ];
        for scene in scenes {
            let value = scene.handle(&Mirror).state_patch.expect("the mirror answers");
            assert_eq!(check(&schema, &value), [], "{value:#}");
        }
    }
}
