//! Extensions as the user sees them.

use dispatch_support::TestContext;

#[test]
fn the_list_is_the_same_for_people_and_programs() {
    let context = TestContext::new();
    let listed = context.dispatch(&["ext", "list", "--json"]).json();
    let count = listed["extensions"].as_array().unwrap().len();
    let lines = context.dispatch(&["ext", "list"]).stdout.lines().filter(|line| *line != "no extensions").count();
    assert_eq!(lines, count);
}

#[test]
fn an_extension_that_was_switched_off_is_switched_on_by_one_command() {
    let context = TestContext::new();
    context.write_home(
        "data/extensions.json",
        r#"[{"extension": "flaky", "reason": "3 timeouts in kernel/tool.before", "atMs": 1}]"#,
    );
    assert_eq!(context.dispatch(&["ext", "enable", "flaky"]).status, 0);
    let again = context.dispatch(&["ext", "enable", "flaky"]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("error: `flaky` is not switched off\nhint: "), "{again:?}");
}

#[test]
fn a_damaged_list_is_an_error_and_not_a_crash() {
    let context = TestContext::new();
    context.write_home("data/extensions.json", "[{");
    let output = context.dispatch(&["ext", "enable", "x"]);
    assert_eq!(output.status, 3, "{output:?}");
}
