//! Changes that no intent covers.

use super::world::World;
use ext_intents::entry::ScopeValidation;
use serde_json::{Value, json};

fn check(world: &World, expected: Value) {
    let output = world.trace(&["check", "--base", "main", "--json"]);
    assert_eq!(output.json(), json!({"uncovered": expected}), "{output:?}");
    assert_eq!(output.status, i32::from(expected != json!([])), "{output:?}");
}

fn branch() -> World {
    let world = World::new();
    world.git(&["checkout", "-q", "-b", "feature"]);
    world
}

#[test]
fn an_agents_lines_are_covered_and_a_persons_are_not() {
    let world = branch();
    check(&world, json!([]));
    world.agent("INT-001", "src/old.rs", "fn old() {\n    one();\n    two();\n}\n");
    check(&world, json!([]));
    world.context.write("src/old.rs", "fn old() {\n    one();\n    two();\n}\nfn mine() {}\nfn mine_too() {}\n");
    check(&world, json!([{"file": "src/old.rs", "start": 5, "end": 6}]));
    world.commit_all("both");
    check(&world, json!([{"file": "src/old.rs", "start": 5, "end": 6}]));
    let text = world.trace(&["check", "--base", "main"]);
    assert_eq!((text.status, text.stdout.as_str()), (1, "src/old.rs:5-6: no intent covers this\n"));
}

#[test]
fn out_of_scope_and_without_an_intent_is_not_covered() {
    let world = branch();
    world.agent_with("src/a.rs", Some(b"fn a() {}\n"), |entry| entry.scope_validation = ScopeValidation::Fail);
    world.agent_with("src/b.rs", Some(b"fn b() {}\n"), |entry| entry.intent_id = String::new());
    world.git(&["add", "-A"]);
    check(
        &world,
        json!([
            {"file": "src/a.rs", "start": 1, "end": 1},
            {"file": "src/b.rs", "start": 1, "end": 1},
        ]),
    );
}

#[test]
fn a_commit_that_names_an_owner_covers_its_lines() {
    let world = branch();
    world.context.write("src/mine.rs", "fn mine() {}\n");
    world.context.write("docs/mine.md", "# Mine\n");
    world.commit_all("by hand\n\nIntent: INT-001");
    check(&world, json!([{"file": "docs/mine.md", "start": 1, "end": 1}]));
    world.git(&["commit", "-q", "--amend", "-m", "by hand\n\nIntent: INT-001\nIntent: INT-002"]);
    check(&world, json!([]));
    world.context.write("src/mine.rs", "fn mine() {}\nfn later() {}\n");
    check(&world, json!([{"file": "src/mine.rs", "start": 2, "end": 2}]));
}

#[test]
fn deletions_binaries_and_renames_are_judged_by_file() {
    let world = World::new();
    world.context.write("src/gone.rs", "fn gone() {}\n");
    world.context.write("src/image.bin", b"\0\x01\x02");
    world.context.write("src/moved.rs", "fn moved() {}\nfn with() {}\nfn several() {}\nfn lines() {}\n");
    world.commit_all("more");
    world.git(&["checkout", "-q", "-b", "feature"]);
    std::fs::remove_file(world.context.project().join("src/gone.rs")).unwrap();
    world.context.write("src/image.bin", b"\0\x03");
    world.context.write("src/old.rs", "fn old() {\n}\n");
    world.git(&["mv", "src/moved.rs", "src/elsewhere.rs"]);
    check(
        &world,
        json!([
            {"file": "src/gone.rs", "start": 1, "end": 1},
            {"file": "src/image.bin", "start": 1, "end": 1},
            {"file": "src/old.rs", "start": 1, "end": 1},
        ]),
    );
    world.git(&["checkout", "-q", "main", "--", "src/gone.rs", "src/image.bin", "src/old.rs"]);
    world.agent_with("src/gone.rs", None, |_| {});
    world.agent_with("src/image.bin", Some(b"\0\x04"), |_| {});
    world.agent_with("src/old.rs", Some(b"fn old() {\n}\n"), |_| {});
    check(&world, json!([]));
}

#[test]
fn odd_names_and_line_endings_are_handled() {
    let world = branch();
    let odd = "src/a \"b\"\t\u{fc}.rs";
    world.agent("INT-001", odd, "fn a() {}\r\nfn b() {}");
    world.git(&["add", "-A"]);
    check(&world, json!([]));
    world.context.write(odd, "fn a() {}\r\nfn b() {}\r\nfn c() {}");
    check(&world, json!([{"file": odd, "start": 3, "end": 3}]));
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let world = branch();
    let name = std::ffi::OsStr::from_bytes(b"src/\xff.rs");
    std::fs::write(world.context.project().join(name), "fn x() {}\n").unwrap();
    world.git(&["add", "-A"]);
    check(&world, json!([{"file": "src/\u{fffd}.rs", "start": 1, "end": 1}]));
}

#[test]
fn a_submodule_and_an_untracked_file_are_seen() {
    let world = branch();
    let commit = world.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{},vendor/lib", commit.trim());
    world.git(&["update-index", "--add", "--cacheinfo", &entry]);
    world.git(&["commit", "-q", "-m", "pin"]);
    std::fs::create_dir_all(world.context.project().join("vendor/lib")).unwrap();
    check(&world, json!([{"file": "vendor/lib", "start": 1, "end": 1}]));
    world.context.write("src/new.rs", "fn new() {}\n");
    let output = world.trace(&["check", "--base", "main", "--json", "--untracked"]);
    assert_eq!(output.json()["uncovered"][0], json!({"file": "src/new.rs", "start": 1, "end": 1}));
}

#[test]
fn sarif_has_the_shape_that_viewers_need() {
    let world = branch();
    world.context.write("src/old.rs", "fn old() {\n    one();\n    mine();\n}\n");
    let output = world.trace(&["check", "--base", "main", "--sarif"]);
    assert_eq!(output.status, 1);
    let log = output.json();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rule = &run["tool"]["driver"]["rules"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], rule["id"]);
    assert!(result["message"]["text"].is_string() && rule["shortDescription"]["text"].is_string());
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"], json!({"uri": "src/old.rs", "uriBaseId": "%SRCROOT%"}));
    assert_eq!(place["region"], json!({"startLine": 3, "endLine": 3}));
}

#[test]
fn a_base_that_is_none_is_a_usage_error() {
    let world = branch();
    for base in ["absent", "--output=x", ""] {
        let output = world.trace(&["check", &format!("--base={base}")]);
        assert_eq!(output.status, 2, "{base}: {output:?}");
        assert!(output.stderr.contains("hint:"), "{output:?}");
    }
}
