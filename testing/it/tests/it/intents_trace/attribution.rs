//! Lines keep their writers whatever is done to the history.

use super::repository::TraceRepository;

const AGENT: &str = "fn old() {\n    one();\n    two_by_agent();\n}\n";

fn with_agents_line() -> TraceRepository {
    let repository = TraceRepository::new();
    repository.git(&["checkout", "-q", "-b", "feature"]);
    repository.agent("INT-001", "src/old.rs", AGENT);
    repository.commit_all("agent's work");
    repository
}

fn check(repository: &TraceRepository, path: &str, expected: &[&str]) {
    assert_eq!(repository.blame(path), expected);
}

#[test]
fn blame_has_the_fields_that_scripts_rely_on() {
    let repository = with_agents_line();
    let output = repository.trace(&["blame", "src/old.rs", "--json"]);
    let lines = output.json();
    let names: Vec<&str> = lines[2].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["line", "intent", "session", "tool", "timestamp", "by"]);
    let text = repository.trace(&["blame", "src/old.rs"]).stdout;
    insta::assert_snapshot!(text, @r"
    unknown      (                                       1) fn old() {
    unknown      (                                       2)     one();
    INT-001      (0a1b2c3d Edit         2099-03-01 10:00 3)     two_by_agent();
    unknown      (                                       4) }
    ");
    assert_eq!(repository.trace(&["blame", "src/absent.rs"]).status, 2);
    assert_eq!(repository.trace(&["blame", "../outside.rs"]).status, 2);
}

#[test]
fn a_persons_lines_stand_apart() {
    let repository = with_agents_line();
    repository.context.write("src/old.rs", AGENT.replace("one", "by_hand"));
    check(&repository, "src/old.rs", &["unknown", "human", "INT-001", "unknown"]);
    repository.agent("INT-002", "src/old.rs", &AGENT.replace("one", "by_hand").replace("}\n", "    three();\n}\n"));
    check(&repository, "src/old.rs", &["unknown", "human", "INT-001", "INT-002", "unknown"]);
}

#[test]
fn amend_rebase_squash_and_cherry_pick_change_nothing() {
    let repository = with_agents_line();
    let expected = ["unknown", "unknown", "INT-001", "unknown"];
    repository.git(&["commit", "-q", "--amend", "-m", "amended"]);
    check(&repository, "src/old.rs", &expected);

    repository.git(&["checkout", "-q", "main"]);
    repository.context.write("src/old.rs", "// by a person\nfn old() {\n    one();\n}\n");
    repository.git(&["commit", "-q", "-a", "-m", "main goes on"]);
    repository.git(&["checkout", "-q", "feature"]);
    repository.git(&["rebase", "-q", "main"]);
    let rebased = ["human", "unknown", "unknown", "INT-001", "unknown"];
    check(&repository, "src/old.rs", &rebased);

    repository.git(&["checkout", "-q", "main"]);
    repository.git(&["checkout", "-q", "-b", "picked"]);
    repository.git(&["cherry-pick", "feature"]);
    check(&repository, "src/old.rs", &rebased);

    repository.git(&["checkout", "-q", "main"]);
    repository.git(&["merge", "-q", "--squash", "feature"]);
    repository.git(&["commit", "-q", "-m", "squashed"]);
    check(&repository, "src/old.rs", &rebased);

    repository.as_in_a_clone();
    check(&repository, "src/old.rs", &["unknown", "unknown", "unknown", "INT-001", "unknown"]);
}

#[test]
fn a_file_is_followed_to_its_new_name() {
    let repository = with_agents_line();
    let expected = ["unknown", "unknown", "INT-001", "unknown"];
    repository.git(&["mv", "src/old.rs", "src/a new name.rs"]);
    check(&repository, "src/a new name.rs", &expected);
    repository.commit_all("moved");
    check(&repository, "src/a new name.rs", &expected);
    repository.git(&["mv", "src/a new name.rs", "src/last.rs"]);
    repository.commit_all("moved again");
    check(&repository, "src/last.rs", &expected);
    repository.agent("INT-002", "src/last.rs", &AGENT.replace("one", "renamed_one"));
    check(&repository, "src/last.rs", &["unknown", "INT-002", "INT-001", "unknown"]);
    repository.as_in_a_clone();
    check(&repository, "src/last.rs", &["unknown", "INT-002", "INT-001", "unknown"]);
}

#[test]
fn a_move_that_the_ledger_saw_needs_no_commit() {
    let repository = with_agents_line();
    let text = repository.read("src/old.rs").unwrap();
    repository.agent_with("src/old.rs", None, |entry| entry.intent_id = "INT-002".to_owned());
    repository.agent_with("src/moved.rs", Some(&text), |entry| entry.intent_id = "INT-002".to_owned());
    check(&repository, "src/moved.rs", &["unknown", "unknown", "INT-001", "unknown"]);
}
