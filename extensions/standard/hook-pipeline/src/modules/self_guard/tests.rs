//! The rules stay out of reach of the agent that is under them, whichever way it tries.

use serde_json::json;

use super::*;
use crate::manifest::Unattended;
use crate::testing::Scene;

fn code(scene: &Scene) -> Option<String> {
    let action = scene.handle(&SelfGuard);
    assert_eq!(action.decision.is_some(), action.code.is_some());
    action.code
}

#[test]
fn writes_to_the_rules_are_asked_about_whatever_the_tool() {
    let scenes = [
        Scene::before_tool("Write", json!({"file_path": "/repo/.ai/hooks/config.json", "content": "{}"})),
        Scene::before_tool(
            "Edit",
            json!({"file_path": ".ai/hooks/features/x/hook.mjs", "old_string": "a", "new_string": "b"}),
        ),
        Scene::before_tool(
            "Write",
            json!({"file_path": "/repo/src/../.ai/hooks/dispatch.manifest.json", "content": ""}),
        ),
        Scene::before_tool("Write", json!({"file_path": "/repo/.AI/Hooks/config.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.orchestration/active_intents.yaml", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.akira/hooks.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.dispatch/dispatch.toml", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.claude/settings.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.github/hooks/dispatch.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.ai/tmp/exceptions.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/repo/.ai/tmp/a3f0c812/state.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/home/dev/.claude/settings.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/home/dev/.local/share/dispatch/trust.json", "content": ""})),
        Scene::before_tool("Write", json!({"file_path": "/home/dev/.cargo/bin/dispatch-hook", "content": ""})),
    ];
    for scene in scenes {
        let scene = scene
            .file(".claude/settings.json", "{\"command\": \"dispatch hook\"}")
            .file(".github/hooks/dispatch.json", "{\"command\": \"dispatch hook\"}");
        assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE), "{}", scene.event.tool_input);
    }
}

#[test]
fn a_file_of_a_host_is_free_until_we_are_registered_in_it() {
    let write = || Scene::before_tool("Write", json!({"file_path": "/repo/crush.json", "content": ""}));
    assert_eq!(code(&write()), None);
    assert_eq!(code(&write().file("crush.json", "{}")), None);
    assert!(code(&write().file("crush.json", "{\"hooks\": \"dispatch hook\"}")).is_some());
}

#[test]
fn shell_writes_to_the_rules_are_seen_through() {
    let commands = [
        "echo '{}' > .ai/hooks/config.json",
        "tee .ai/hooks/config.json < /dev/null",
        "cd .ai && rm hooks/config.json",
        "rm -rf .ai",
        "rm -rf /repo",
        "rm -rf .a*",
        "rm .ai/hooks/*.json",
        "mv .ai /tmp/x",
        "mv .ai/hooks/config.json x",
        "cp evil.json .ai/hooks/config.json",
        "sed -i s/deny/allow/ .ai/hooks/dispatch.manifest.json",
        "sh -c 'echo > .ai/hooks/config.json'",
        "true && (cat > .akira/hooks.json)",
        "dd if=/dev/zero of=.ai/hooks/config.json",
        "D=.ai/hooks; rm -r $D",
        "ln -sf evil.json .ai/hooks/config.json",
    ];
    for command in commands {
        assert!(code(&Scene::command(command)).is_some(), "{command}");
    }
}

#[test]
fn links_do_not_lead_around_it() {
    let scene = Scene::command("echo > notes/config.json").link("notes", ".ai/hooks");
    assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE));
    let pattern = Scene::command("rm notes/*.json").link("notes", ".ai/hooks");
    assert_eq!(code(&pattern).as_deref(), Some(WRITE_CODE));
}

#[test]
fn code_that_cannot_be_judged_is_asked_about_when_it_names_a_rule() {
    let scenes = [
        Scene::command("python3 -c \"open('.ai/hooks/config.json','w')\""),
        Scene::command("node -e \"require('fs').rmSync('.akira/hooks.json')\""),
        Scene::before_tool("mcp__files__write_file", json!({"path": ".ai/hooks/config.json"})),
    ];
    for scene in scenes {
        assert_eq!(code(&scene).as_deref(), Some(OPAQUE_CODE), "{}", scene.event.tool_input);
    }
}

#[test]
fn reading_is_free_and_so_is_everything_else() {
    let scenes = [
        Scene::command("cat .ai/hooks/config.json"),
        Scene::command("grep -r deny .ai/hooks"),
        Scene::command("ls -la .ai"),
        Scene::command("rm -rf target"),
        Scene::command("rm -rf *"),
        Scene::command("echo x > .ai/plan/planGraph.json"),
        Scene::command("git commit -m 'edit .ai/hooks'"),
        Scene::command("cargo test"),
        Scene::before_tool("Read", json!({"file_path": "/repo/.ai/hooks/config.json"})),
        Scene::before_tool("Write", json!({"file_path": "/repo/src/main.rs", "content": "see .ai/hooks"})),
        Scene::before_tool(
            "Write",
            json!({"file_path": "/repo/.ai/tmp/a3f0c812/rlm-work/output/sa/x/a01/r.json", "content": ""}),
        ),
        Scene::before_tool("mcp__files__read_file", json!({"path": ".ai/hooks/config.json"})),
        Scene::before_tool("mcp__dispatch__plan_submit", json!({"path": ".ai/hooks/x"})),
    ];
    for scene in scenes {
        assert_eq!(code(&scene), None, "{}", scene.event.tool_input);
    }
}

#[test]
fn our_own_commands_that_change_policy_count_as_writes() {
    for command in ["dispatch allow-once UB01", "dispatch trust --all", "env X=1 dispatch init --undo"] {
        assert_eq!(code(&Scene::command(command)).as_deref(), Some(COMMAND_CODE), "{command}");
    }
    for command in [
        "dispatch intent select INT-1",
        "dispatch plan submit p.json",
        "dispatch plan complete n1",
        "dispatch why last",
    ] {
        assert_eq!(code(&Scene::command(command)), None, "{command}");
    }
}

#[test]
fn nobody_there_means_no() {
    for unattended in [Unattended::Allow, Unattended::Deny] {
        let scene = Scene::command("rm -r .ai/hooks").with(|scene| scene.unattended = Some(unattended));
        assert_eq!(scene.handle(&SelfGuard).decision, Some(Decision::Deny));
    }
    assert_eq!(Scene::command("rm -r .ai/hooks").handle(&SelfGuard).decision, Some(Decision::Ask));
}

#[test]
fn an_exception_lets_one_rule_pass_and_not_the_others() {
    let scene = Scene::command("rm -r .ai/hooks; dispatch trust --all").excused(WRITE_CODE);
    assert_eq!(code(&scene).as_deref(), Some(COMMAND_CODE));
    assert_eq!(scene.notes.take().2.len(), 1);
}

#[test]
fn the_user_can_protect_more() {
    let scene = Scene::command("echo > deploy/prod.env").config(json!({"protect": ["deploy"]}));
    assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE));
}
