//! The context as a script sees it: plain data, with the names that scripts rely on.

use std::path::{Path, PathBuf};

use dispatch_os::files::read_text_at_most;
use dispatch_os::paths::resolve_inside;
use dispatch_script::HostFunctions;
use serde_json::{Value, json};

use crate::context::Context;

const TEXT_LIMIT_BYTES: u64 = 1024 * 1024;

/// The second argument of `handle`; the entry script adds the functions.
pub(super) fn context_value(ctx: &Context<'_>) -> Value {
    json!({
        "ids": ctx.ids,
        "event": event_value(ctx),
        "paths": paths_value(ctx),
        "state": ctx.state.to_value(),
        "config": if ctx.config.is_null() { json!({}) } else { ctx.config.clone() },
        "feature": {
            "root": text(&ctx.feature.root),
            "logs": text(&ctx.feature.logs),
            "output": text(&ctx.feature.output),
        },
        "cap": ctx.cap,
        "timers": {"startMs": ctx.timers.start_ms, "budgetMs": ctx.timers.budget_ms},
    })
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

fn event_value(ctx: &Context<'_>) -> Value {
    let event = ctx.event;
    json!({
        "name": event.name.as_str(),
        "host": event.host,
        "toolName": event.tool_name,
        "toolInput": event.tool_input,
        "toolUseId": event.tool_use_id,
        "kind": ctx.call.map(|call| call.kind),
        "paths": ctx.call.map(|call| &call.paths),
        "command": ctx.call.and_then(|call| call.command.as_ref()),
        "toolResponse": event.tool_response,
        "prompt": event.prompt,
        "transcriptPath": event.transcript_path,
        "cwd": event.cwd,
        "raw": event.raw,
    })
}

fn paths_value(ctx: &Context<'_>) -> Value {
    let paths = ctx.paths;
    json!({
        "repoRoot": text(&paths.repo_root),
        "hooksRoot": text(&paths.hooks_root),
        "workRoot": text(&paths.work_root),
        "sessionRoot": text(&paths.session_root),
        "stateFile": text(&paths.state_file()),
        "eventsFile": text(&paths.events_file()),
        "registryFile": text(&paths.registry_file()),
        "configFile": text(&paths.config_file()),
        "policyFile": text(&paths.policy_file()),
        "followupRulesFile": text(&paths.followup_rules_file()),
        "manifestFile": text(&paths.manifest_file()),
        "schemaDir": text(&paths.schema_dir()),
    })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::HookAction;
    use crate::event::EventName;
    use crate::module::{Module, ModuleError};
    use crate::testing::Scene;
    use dispatch_kernel::services::schema::check;

    /// Hands the context back as a script would see it.
    struct Mirror;

    impl Module for Mirror {
        fn name(&self) -> &str {
            "mirror"
        }

        fn supports(&self, _: &EventName) -> bool {
            true
        }

        fn priority(&self) -> i32 {
            0
        }

        fn hot_path_safe(&self) -> bool {
            true
        }

        fn critical(&self) -> bool {
            false
        }

        fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
            Ok(HookAction::none().with_state(context_value(ctx)))
        }
    }

    #[test]
    fn the_context_of_a_script_fits_its_schema() {
        let schema = crate::schema::ALL.iter().find(|schema| schema.name == "ctx").expect("ctx").to_value();
        let scenes = [
            Scene::command("cat src/*.rs > out.txt"),
            Scene::before_tool("Write", json!({"file_path": "/repo/x", "content": ""})).config(json!({"a": 1})),
            Scene::prompt("hello").state(json!({"core": {"phase": "PLANNING", "lastTurnId": 1}})),
            Scene::new(EventName::Stop),
        ];
        for scene in scenes {
            let value = scene.handle(&Mirror).state_patch.expect("the mirror answers");
            assert_eq!(check(&schema, &value), [], "{value:#}");
        }
    }
}
