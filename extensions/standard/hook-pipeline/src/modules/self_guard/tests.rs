//! The rules stay out of reach of the agent that is under them, whichever way it tries.

use dispatch_hook_module::Unattended;
use dispatch_hook_module::testing::TestInvocation;
use serde_json::json;

use super::*;

fn code(scene: &TestInvocation) -> Option<String> {
    let action = scene.handle(&SelfGuard);
    assert_eq!(action.decision.is_some(), action.code.is_some());
    action.code
}

#[test]
fn writes_to_the_rules_are_asked_about_whatever_the_tool() {
    let scenes = [
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.ai/hooks/config.json", "content": "{}"})),
        TestInvocation::before_tool(
            "Edit",
            json!({"file_path": ".ai/hooks/features/x/hook.mjs", "old_string": "a", "new_string": "b"}),
        ),
        TestInvocation::before_tool(
            "Write",
            json!({"file_path": "/repo/src/../.ai/hooks/dispatch.manifest.json", "content": ""}),
        ),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.AI/Hooks/config.json", "content": ""})),
        TestInvocation::before_tool(
            "Write",
            json!({"file_path": "/repo/.orchestration/active_intents.yaml", "content": ""}),
        ),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.akira/hooks.json", "content": ""})),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.dispatch/dispatch.toml", "content": ""})),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.claude/settings.json", "content": ""})),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.github/hooks/dispatch.json", "content": ""})),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.ai/tmp/exceptions.json", "content": ""})),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.ai/tmp/a3f0c812/state.json", "content": ""})),
        TestInvocation::before_tool("Write", json!({"file_path": "/home/dev/.claude/settings.json", "content": ""})),
        TestInvocation::before_tool(
            "Write",
            json!({"file_path": "/home/dev/.local/share/dispatch/trust.json", "content": ""}),
        ),
        TestInvocation::before_tool("Write", json!({"file_path": "/home/dev/.cargo/bin/dispatch-hook", "content": ""})),
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
    let write = || TestInvocation::before_tool("Write", json!({"file_path": "/repo/crush.json", "content": ""}));
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
        assert!(code(&TestInvocation::command(command)).is_some(), "{command}");
    }
}

#[test]
fn links_do_not_lead_around_it() {
    let scene = TestInvocation::command("echo > notes/config.json").link("notes", ".ai/hooks");
    assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE));
    let pattern = TestInvocation::command("rm notes/*.json").link("notes", ".ai/hooks");
    assert_eq!(code(&pattern).as_deref(), Some(WRITE_CODE));
}

#[test]
fn code_that_cannot_be_judged_is_asked_about_when_it_names_a_rule() {
    let scenes = [
        TestInvocation::command("python3 -c \"mystery(x, '.ai/hooks/config.json')\""),
        TestInvocation::command("node -e \"mystery('.akira/hooks.json')\""),
        TestInvocation::before_tool("mcp__store__put", json!({"key": ".ai/hooks/config.json"})),
    ];
    for scene in scenes {
        assert_eq!(code(&scene).as_deref(), Some(OPAQUE_CODE), "{}", scene.event.tool_input);
    }
}

#[test]
fn reading_is_free_and_so_is_everything_else() {
    let scenes = [
        TestInvocation::command("cat .ai/hooks/config.json"),
        TestInvocation::command("grep -r deny .ai/hooks"),
        TestInvocation::command("ls -la .ai"),
        TestInvocation::command("rm -rf target"),
        TestInvocation::command("rm -rf *"),
        TestInvocation::command("echo x > .ai/plan/planGraph.json"),
        TestInvocation::command("git commit -m 'edit .ai/hooks'"),
        TestInvocation::command("cargo test"),
        TestInvocation::before_tool("Read", json!({"file_path": "/repo/.ai/hooks/config.json"})),
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/src/main.rs", "content": "see .ai/hooks"})),
        TestInvocation::before_tool(
            "Write",
            json!({"file_path": "/repo/.ai/tmp/a3f0c812/rlm-work/output/sa/x/a01/r.json", "content": ""}),
        ),
        TestInvocation::before_tool("mcp__files__read_file", json!({"path": ".ai/hooks/config.json"})),
        TestInvocation::before_tool("mcp__dispatch__plan_submit", json!({"path": ".ai/hooks/x"})),
    ];
    for scene in scenes {
        assert_eq!(code(&scene), None, "{}", scene.event.tool_input);
    }
}

#[test]
fn our_own_commands_that_change_policy_count_as_writes() {
    for command in ["dispatch allow-once UB01", "dispatch trust --all", "env X=1 dispatch init --undo"] {
        assert_eq!(code(&TestInvocation::command(command)).as_deref(), Some(COMMAND_CODE), "{command}");
    }
    for command in [
        "dispatch intent select INT-1",
        "dispatch plan submit p.json",
        "dispatch plan complete n1",
        "dispatch why last",
    ] {
        assert_eq!(code(&TestInvocation::command(command)), None, "{command}");
    }
}

#[test]
fn nobody_there_means_no() {
    for unattended in [Unattended::Allow, Unattended::Deny] {
        let scene = TestInvocation::command("rm -r .ai/hooks").with(|scene| scene.unattended = Some(unattended));
        assert_eq!(scene.handle(&SelfGuard).decision, Some(Decision::Deny));
    }
    assert_eq!(TestInvocation::command("rm -r .ai/hooks").handle(&SelfGuard).decision, Some(Decision::Ask));
}

#[test]
fn an_exception_lets_one_rule_pass_and_not_the_others() {
    let scene = TestInvocation::command("rm -r .ai/hooks; dispatch trust --all").excused(WRITE_CODE);
    assert_eq!(code(&scene).as_deref(), Some(COMMAND_CODE));
    assert_eq!(scene.notes.take().2.len(), 1);
}

#[test]
fn the_user_can_protect_more() {
    let scene = TestInvocation::command("echo > deploy/prod.env").config(json!({"protect": ["deploy"]}));
    assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE));
}

#[test]
fn off_switches_of_registered_hosts_are_protected_and_of_others_are_not() {
    let write = |path: &str| TestInvocation::before_tool("Write", json!({"file_path": path, "content": "{}"}));
    let registered = "{\"command\": \"dispatch-hook PreToolUse --host x\"}";
    let table = [
        ("/repo/.claude/settings.local.json", ".claude/settings.json"),
        ("/repo/.codex/config.toml", ".codex/hooks.json"),
        ("/repo/.factory/settings.json", ".factory/hooks.json"),
        ("/repo/.github/copilot/settings.json", ".github/hooks/dispatch.json"),
        ("/repo/.claude/settings.json", ".github/hooks/dispatch.json"),
        ("/repo/.clinerules/hooks/PreToolUse", ".clinerules/hooks/PreToolUse"),
        ("/repo/.cline/hooks/PreToolUse", ".clinerules/hooks/PreToolUse"),
        ("/repo/.git/hooks/post-commit", ".git/hooks/post-commit"),
    ];
    for (path, registration) in table {
        assert_eq!(code(&write(path)), None, "{path}");
        assert_eq!(code(&write(path).file(registration, registered)).as_deref(), Some(WRITE_CODE), "{path}");
    }
    for path in ["/home/dev/.config/goose/config.yaml", "/home/dev/.codex/config.toml", "/home/dev/.claude.json"] {
        assert_eq!(code(&write(path)).as_deref(), Some(WRITE_CODE), "{path}");
    }
}

#[test]
fn settings_of_vs_code_are_free_but_for_the_switch_of_its_hooks() {
    let write = |text: &str| {
        TestInvocation::before_tool("Write", json!({"file_path": "/repo/.vscode/settings.json", "content": text}))
    };
    assert_eq!(code(&write("{\"editor.tabSize\": 2}")), None);
    assert_eq!(code(&write("{\"chat.useHooks\": false}")).as_deref(), Some(WRITE_CODE));
    let command = "echo '{\"chat.useHooks\": false}' > .vscode/settings.json";
    assert_eq!(code(&TestInvocation::before_tool("Bash", json!({"command": command}))).as_deref(), Some(WRITE_CODE));
    let read = json!({"command": "grep chat.useHooks .vscode/settings.json"});
    assert_eq!(code(&TestInvocation::before_tool("Bash", read)), None);
}

#[test]
fn rules_of_every_root_are_rules() {
    for path in ["/elsewhere/.ai/hooks/config.json", "/repo/vendor/x/.ai/hooks/dispatch.manifest.json"] {
        let scene = TestInvocation::before_tool("Write", json!({"file_path": path, "content": "{}"}));
        assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE), "{path}");
    }
}

#[test]
fn text_that_only_talks_about_the_rules_passes() {
    let scenes = [
        TestInvocation::before_tool("TodoWrite", json!({"todos": [{"content": "look at .dispatch/dispatch.toml"}]})),
        TestInvocation::before_tool("mcp__chat__send", json!({"text": "store.dispatch(action) in .ai/hooks, please"})),
        TestInvocation::command("python3 -c \"store.dispatch(1)\""),
        TestInvocation::command("node -e \"bus.dispatch('x')\""),
    ];
    for scene in scenes {
        assert_eq!(code(&scene), None, "{}", scene.event.tool_input);
    }
    let replaces = TestInvocation::before_tool("mcp__files__find_replace", json!({"path": ".ai/hooks/config.json"}));
    assert_eq!(code(&replaces).as_deref(), Some(WRITE_CODE));
}

#[test]
fn git_hooks_are_not_led_elsewhere() {
    assert_eq!(code(&TestInvocation::command("git config core.hooksPath /tmp/x")).as_deref(), Some(COMMAND_CODE));
    assert_eq!(code(&TestInvocation::command("git config core.hooksPath")), None);
}

#[test]
fn tools_of_servers_are_judged_by_the_paths_and_commands_in_their_input() {
    let scenes = [
        TestInvocation::before_tool("mcp__filesystem__write_file", json!({"path": "/repo/.ai/hooks/config.json"})),
        TestInvocation::before_tool("mcp__filesystem__move_file", json!({"source": ".ai", "destination": "x"})),
        TestInvocation::before_tool("mcp__shell__run", json!({"command": "rm -rf .ai"})),
        TestInvocation::before_tool("mcp__shell__run", json!({"command": "rm", "args": ["-rf", ".ai/hooks"]})),
    ];
    for scene in scenes {
        assert_eq!(code(&scene).as_deref(), Some(WRITE_CODE), "{}", scene.event.tool_input);
    }
}

#[test]
fn git_does_not_touch_its_hooks_and_others_do() {
    let ours = "#!/bin/sh\ndispatch trace anchor\n";
    let judged = |command: &str| code(&TestInvocation::command(command).file(".git/hooks/post-commit", ours));
    for command in ["git add -A", "git commit -m x", "git checkout -b x", "git stash", "git fetch", "git tag v1"] {
        assert_eq!(judged(command), None, "{command}");
    }
    for command in
        ["rm -rf .git/hooks", "cp -r evil .git", "cp x .git/hooks/post-commit", "git add .; rsync -a evil/ .git/"]
    {
        assert_eq!(judged(command).as_deref(), Some(WRITE_CODE), "{command}");
    }
}

#[test]
fn archives_and_patches_are_looked_into() {
    let patch = "--- a/.ai/hooks/config.json\n+++ b/.ai/hooks/config.json\n";
    for command in ["git apply x.patch", "patch -p1 < x.patch", "patch -p1 -i x.patch", "tar xf x.patch"] {
        assert_eq!(
            code(&TestInvocation::command(command).file("x.patch", patch)).as_deref(),
            Some(WRITE_CODE),
            "{command}"
        );
        assert_eq!(code(&TestInvocation::command(command).file("x.patch", "+++ b/src/main.rs")), None, "{command}");
    }
}

#[test]
fn hosts_are_not_started_without_their_hooks() {
    for command in [
        "claude --settings '{\"disableAllHooks\":true}' -p x",
        "codex -c features.hooks=false exec x",
        "codex exec --disable hooks x",
        "opencode run --pure x",
        "OPENCODE_PURE=1 opencode run x",
        "gemini --skip-trust -p x",
    ] {
        assert_eq!(code(&TestInvocation::command(command)).as_deref(), Some(COMMAND_CODE), "{command}");
    }
    for command in ["claude -p 'fix the tests'", "codex exec 'fix it'", "gemini -p x", "claude --version"] {
        assert_eq!(code(&TestInvocation::command(command)), None, "{command}");
    }
}
