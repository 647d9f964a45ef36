//! Section 13: which modules stay out of the way of a tool call.

use super::world::World;
use serde_json::json;

fn module(hot: bool) -> String {
    format!("export default {{ supports: ['PreToolUse', 'Stop'], hotPathSafe: {hot}, handle() {{ return null; }} }};")
}

#[test]
fn s13_only_hot_path_safe_modules_see_a_tool_call() {
    let world = World::with(&["session", "hot", "cold", "silent"]);
    world.source("hot", &module(true));
    world.source("cold", &module(false));
    world.source("silent", "export default { supports: ['PreToolUse', 'Stop'], handle() { return null; } };");
    world.bash("ls");
    assert_eq!(world.last_modules(), ["session", "hot"]);
    world.fire("Stop", &json!({}));
    assert_eq!(world.last_modules(), ["session", "hot", "cold", "silent"], "elsewhere only `supports` counts");
}

#[test]
fn s13_hot_path_safe_gives_no_event_that_is_not_supported() {
    let world = World::with(&["session", "hot"]);
    world.source("hot", &module(true));
    world.prompt("p");
    assert_eq!(world.last_modules(), ["session"]);
}
