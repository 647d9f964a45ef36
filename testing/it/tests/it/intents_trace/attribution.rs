//! Lines keep their writers whatever is done to the history.

use super::world::World;

const AGENT: &str = "fn old() {\n    one();\n    two_by_agent();\n}\n";

fn with_agents_line() -> World {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "feature"]);
    world.agent("INT-001", "src/old.rs", AGENT);
    world.commit_all("agent's work");
    world
}

fn check(world: &World, path: &str, expected: &[&str]) {
    assert_eq!(world.blame(path), expected);
}

#[test]
fn blame_has_the_fields_that_scripts_rely_on() {
    let world = with_agents_line();
    let output = world.trace(&["blame", "src/old.rs", "--json"]);
    let lines = output.json();
    let names: Vec<&str> = lines[2].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["line", "intent", "session", "tool", "timestamp", "by"]);
    let text = world.trace(&["blame", "src/old.rs"]).stdout;
    insta::assert_snapshot!(text, @r"
    unknown      (                                       1) fn old() {
    unknown      (                                       2)     one();
    INT-001      (0a1b2c3d Edit         2099-03-01 10:00 3)     two_by_agent();
    unknown      (                                       4) }
    ");
    assert_eq!(world.trace(&["blame", "src/absent.rs"]).status, 2);
    assert_eq!(world.trace(&["blame", "../outside.rs"]).status, 2);
}

#[test]
fn a_persons_lines_stand_apart() {
    let world = with_agents_line();
    world.context.write("src/old.rs", AGENT.replace("one", "by_hand"));
    check(&world, "src/old.rs", &["unknown", "human", "INT-001", "unknown"]);
    world.agent("INT-002", "src/old.rs", &AGENT.replace("one", "by_hand").replace("}\n", "    three();\n}\n"));
    check(&world, "src/old.rs", &["unknown", "human", "INT-001", "INT-002", "unknown"]);
}

#[test]
fn amend_rebase_squash_and_cherry_pick_change_nothing() {
    let world = with_agents_line();
    let expected = ["unknown", "unknown", "INT-001", "unknown"];
    world.git(&["commit", "-q", "--amend", "-m", "amended"]);
    check(&world, "src/old.rs", &expected);

    world.git(&["checkout", "-q", "main"]);
    world.context.write("src/old.rs", "// by a person\nfn old() {\n    one();\n}\n");
    world.git(&["commit", "-q", "-a", "-m", "main goes on"]);
    world.git(&["checkout", "-q", "feature"]);
    world.git(&["rebase", "-q", "main"]);
    let rebased = ["human", "unknown", "unknown", "INT-001", "unknown"];
    check(&world, "src/old.rs", &rebased);

    world.git(&["checkout", "-q", "main"]);
    world.git(&["checkout", "-q", "-b", "picked"]);
    world.git(&["cherry-pick", "feature"]);
    check(&world, "src/old.rs", &rebased);

    world.git(&["checkout", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "feature"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    check(&world, "src/old.rs", &rebased);

    world.as_in_a_clone();
    check(&world, "src/old.rs", &["unknown", "unknown", "unknown", "INT-001", "unknown"]);
}

#[test]
fn a_file_is_followed_to_its_new_name() {
    let world = with_agents_line();
    let expected = ["unknown", "unknown", "INT-001", "unknown"];
    world.git(&["mv", "src/old.rs", "src/a new name.rs"]);
    check(&world, "src/a new name.rs", &expected);
    world.commit_all("moved");
    check(&world, "src/a new name.rs", &expected);
    world.git(&["mv", "src/a new name.rs", "src/last.rs"]);
    world.commit_all("moved again");
    check(&world, "src/last.rs", &expected);
    world.agent("INT-002", "src/last.rs", &AGENT.replace("one", "renamed_one"));
    check(&world, "src/last.rs", &["unknown", "INT-002", "INT-001", "unknown"]);
    world.as_in_a_clone();
    check(&world, "src/last.rs", &["unknown", "INT-002", "INT-001", "unknown"]);
}

#[test]
fn a_move_that_the_ledger_saw_needs_no_commit() {
    let world = with_agents_line();
    let text = world.read("src/old.rs").unwrap();
    world.agent_with("src/old.rs", None, |entry| entry.intent_id = "INT-002".to_owned());
    world.agent_with("src/moved.rs", Some(&text), |entry| entry.intent_id = "INT-002".to_owned());
    check(&world, "src/moved.rs", &["unknown", "unknown", "INT-001", "unknown"]);
}
