//! Section 13: which modules stay out of the way of a tool call.

use super::workspace::PipelineWorkspace;
use serde_json::json;

fn module(hot: bool) -> String {
    format!("export default {{ supports: ['PreToolUse', 'Stop'], hotPathSafe: {hot}, handle() {{ return null; }} }};")
}

#[test]
fn s13_only_hot_path_safe_modules_see_a_tool_call() {
    let workspace = PipelineWorkspace::with(&["session", "hot", "cold", "silent"]);
    workspace.source("hot", &module(true));
    workspace.source("cold", &module(false));
    workspace.source("silent", "export default { supports: ['PreToolUse', 'Stop'], handle() { return null; } };");
    workspace.bash("ls");
    assert_eq!(workspace.last_modules(), ["session", "hot"]);
    workspace.fire("Stop", &json!({}));
    assert_eq!(workspace.last_modules(), ["session", "hot", "cold", "silent"], "elsewhere only `supports` counts");
}

#[test]
fn s13_hot_path_safe_gives_no_event_that_is_not_supported() {
    let workspace = PipelineWorkspace::with(&["session", "hot"]);
    workspace.source("hot", &module(true));
    workspace.prompt("p");
    assert_eq!(workspace.last_modules(), ["session"]);
}
