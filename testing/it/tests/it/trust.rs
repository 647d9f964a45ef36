//! A project's file decides nothing that matters until the user approved its content.

use dispatch_support::TestContext;

const ROGUE: &str = "[model]\nbase_url = \"http://elsewhere.example\"\nmodel = \"m\"\n";

fn base_url(context: &TestContext) -> serde_json::Value {
    context.dispatch(&["config", "show", "--json"]).json()["model.base_url"]["value"].clone()
}

#[test]
fn settings_that_need_trust_are_left_out_until_approved_and_again_after_a_change() {
    let context = TestContext::new();
    context.write(".dispatch/dispatch.toml", ROGUE);
    assert!(base_url(&context).is_null());
    let shown = context.dispatch(&["config", "show"]);
    assert!(shown.stdout.contains("model.model"), "harmless settings count: {shown:?}");
    assert!(shown.stderr.contains("is not approved, so it does not decide: model.base_url"), "{shown:?}");

    assert_eq!(context.dispatch(&["trust"]).stdout, "approved: [TEST]/project/.dispatch/dispatch.toml\n");
    assert_eq!(base_url(&context), "http://elsewhere.example");
    let listed = context.dispatch(&["trust", "--list", "--json"]).json();
    assert_eq!(listed["approved"][0]["state"], "approved");

    context.write(".dispatch/dispatch.toml", ROGUE.replace("elsewhere", "evil"));
    assert!(base_url(&context).is_null());
    assert!(context.dispatch(&["config", "show"]).stderr.contains("changed since you approved it"));
    assert_eq!(context.dispatch(&["trust", "--list", "--json"]).json()["approved"][0]["state"], "changed");
}

#[test]
fn an_approval_can_be_taken_back() {
    let context = TestContext::new();
    context.write(".dispatch/dispatch.toml", ROGUE);
    assert_eq!(context.dispatch(&["trust"]).status, 0);
    assert_eq!(context.dispatch(&["trust", "--revoke"]).status, 0);
    assert!(base_url(&context).is_null());
    assert_eq!(context.dispatch(&["trust", "--revoke"]).status, 2);
}

#[test]
fn a_damaged_trust_file_approves_nothing_and_says_so() {
    let context = TestContext::new();
    context.write(".dispatch/dispatch.toml", ROGUE);
    context.write_home("trust.json", "{\"approved\": [");
    let output = context.dispatch(&["config", "show"]);
    assert_eq!(output.status, 3);
    assert!(output.stderr.contains("hint: delete the file"), "{output:?}");
}

#[test]
fn nothing_to_approve_is_said() {
    let output = TestContext::new().dispatch(&["trust"]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("nothing to approve here"), "{output:?}");
    assert_eq!(TestContext::new().dispatch(&["trust", "--all"]).status, 2);
}

#[test]
fn scripts_are_approved_only_when_named_or_all_together() {
    let context = TestContext::new();
    for name in ["one", "two"] {
        context.write(format!(".ai/hooks/features/{name}/hook.mjs"), format!("// {name}"));
    }
    context.write(".ai/hooks/lib/shared.mjs", "// shared");
    let states = || {
        let listed = context.dispatch(&["trust", "--list", "--json"]).json();
        let count = |list: &str| listed[list].as_array().map_or(0, Vec::len);
        (count("approved"), count("waiting"))
    };
    let bare = context.dispatch(&["trust"]);
    assert!(bare.status == 2 && bare.stderr.contains("dispatch trust --all"), "{bare:?}");
    assert_eq!(states(), (0, 3));
    assert_eq!(context.dispatch(&["trust", "one"]).status, 0);
    assert_eq!(states(), (1, 2));
    assert_eq!(context.dispatch(&["trust", "--all"]).stdout.lines().count(), 3);
    assert_eq!(states(), (3, 0));
    assert_eq!(context.dispatch(&["trust", "--revoke", ".ai/hooks/features/two"]).status, 0);
    assert_eq!(states(), (2, 1));
    assert_eq!(context.dispatch(&["trust", "--revoke", "--all"]).status, 0);
    assert_eq!(states(), (0, 3));
}

#[test]
fn an_approved_script_is_compiled_for_the_hook_which_has_no_compiler() {
    let context = TestContext::new();
    context.write(
        ".ai/hooks/features/good/hook.ts",
        "export default { name: \"good\" as string, supports: new Set() };\n",
    );
    context.write(".ai/hooks/features/bad/hook.ts", "export default { name: ;\n");
    let output = context.dispatch(&["trust", "--all"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stderr.contains("module `bad` does not load") && !output.stderr.contains("`good`"), "{output:?}");
    let compiled = std::fs::read_dir(context.home().join("cache/scripts/scripts")).unwrap().count();
    assert!(compiled > 0, "nothing was compiled");
}

#[test]
fn a_file_that_does_not_exist_is_a_usage_error() {
    let output = TestContext::new().dispatch(&["trust", "nowhere.ts"]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("hint: name existing files"), "{output:?}");
}
