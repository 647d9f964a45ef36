//! Extensions as the user sees them.

use dispatch_support::TestContext;

#[test]
fn the_list_is_the_same_for_people_and_programs() {
    let context = TestContext::new();
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    let count = listed.as_array().unwrap().len();
    let lines = context.dispatch(&["ext", "list"]).stdout.lines().filter(|line| *line != "no extensions").count();
    assert_eq!(lines, count);
}

#[test]
fn an_extension_that_was_switched_off_is_switched_on_by_one_command() {
    let context = TestContext::new();
    context.write_home(
        "extensions.json",
        r#"[{"extension": "flaky", "reason": "3 timeouts in kernel/tool.before", "atMs": 1}]"#,
    );
    assert_eq!(context.dispatch(&["ext", "enable", "flaky"]).status, 0);
    let again = context.dispatch(&["ext", "enable", "flaky"]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("error: `flaky` is not disabled\nhint: "), "{again:?}");
}

#[test]
fn a_damaged_list_is_an_error_and_not_a_crash() {
    let context = TestContext::new();
    context.write_home("extensions.json", "[{");
    let output = context.dispatch(&["ext", "enable", "x"]);
    assert_eq!(output.status, 3, "{output:?}");
}

#[test]
fn the_pipeline_is_bundled_and_can_be_left_out() {
    let context = TestContext::new();
    let ids = |arguments: &[&str]| -> Vec<String> {
        let listed = context.dispatch(arguments).json();
        let all = listed.as_array().unwrap().iter();
        all.map(|it| format!("{} {}", it["id"].as_str().unwrap(), it["state"].as_str().unwrap_or("?"))).collect()
    };
    let with = ids(&["ext", "list", "--json"]);
    assert!(with.iter().any(|line| line.starts_with("hook-pipeline ")), "{with:?}");
    assert!(context.dispatch(&["doctor"]).stdout.contains("hook-pipeline is active"));
    for without in [
        &["--minimal", "ext", "list", "--json"][..],
        &["--set", "extensions.disabled=[\"hook-pipeline\"]", "ext", "list", "--json"],
    ] {
        let left = ids(without);
        assert!(!left.iter().any(|line| line.starts_with("hook-pipeline ")), "{left:?}");
        assert!(left.iter().any(|line| line.starts_with("provider-openai-compat ")), "{left:?}");
    }
    assert_eq!(context.dispatch(&["--minimal", "doctor"]).status, 0);
}

#[test]
fn an_extension_is_described_by_its_manifest_its_state_and_its_harness() {
    let context = TestContext::new();
    let info = context.dispatch(&["ext", "info", "workspace-hooks", "--json"]).json();
    assert_eq!(info["id"], "workspace-hooks");
    assert_eq!(info["tier"], "standard");
    assert_eq!(info["state"], "active");
    assert_eq!(info["faults"], 0);
    let needed: Vec<&str> = info["dependsOn"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    assert!(needed.contains(&"session-orchestrator"), "{needed:?}");
    assert!(info["capabilities"].as_array().unwrap().contains(&"db".into()), "{info}");
    assert_eq!(info["contributes"]["services"][0], "workspace-hooks/runs");
    let queue = context.dispatch(&["ext", "info", "session-orchestrator", "--json"]).json();
    for text in ["agents", "rules", "feature", "glossary"] {
        assert!(queue["harness"][text].as_str().is_some_and(|text| !text.is_empty()), "{text}: {queue}");
    }
    let text = context.dispatch(&["ext", "info", "workspace-hooks"]).stdout;
    for line in ["tier          standard", "state         active", "services      workspace-hooks/runs"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let off = context.dispatch(&["--minimal", "ext", "info", "workspace-hooks", "--json"]).json();
    assert_eq!(off["state"], "off");
}

#[test]
fn an_unknown_extension_is_refused_with_the_nearest_id() {
    let output = TestContext::new().dispatch(&["ext", "info", "workspace-hoks"]);
    assert_eq!(output.status, 2);
    let expected = "error: unknown extension `workspace-hoks`\nhint: did you mean `workspace-hooks`?\n";
    assert_eq!(output.stderr, expected);
    let nothing_near = TestContext::new().dispatch(&["ext", "info", "zzz"]);
    assert!(nothing_near.stderr.contains("hint: `dispatch ext list` lists the extensions"), "{nothing_near:?}");
}
