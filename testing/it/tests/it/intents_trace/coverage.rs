//! Changes that no intent covers.

use super::repository::TraceRepository;
use dispatch_support::slow_lane;
use ext_intents::contract::ScopeValidation;
use serde_json::{Value, json};

fn check(repository: &TraceRepository, expected: Value) {
    let output = repository.trace(&["check", "--base", "main", "--json"]);
    assert_eq!(output.json(), json!({"uncovered": expected}), "{output:?}");
    assert_eq!(output.status, i32::from(expected != json!([])), "{output:?}");
}

fn branch() -> TraceRepository {
    let repository = TraceRepository::new();
    repository.git(&["checkout", "-q", "-b", "feature"]);
    repository
}

#[test]
fn an_agents_lines_are_covered_and_a_persons_are_not() {
    let repository = branch();
    check(&repository, json!([]));
    repository.agent("INT-001", "src/old.rs", "fn old() {\n    one();\n    two();\n}\n");
    check(&repository, json!([]));
    repository.context.write("src/old.rs", "fn old() {\n    one();\n    two();\n}\nfn mine() {}\nfn mine_too() {}\n");
    check(&repository, json!([{"file": "src/old.rs", "start": 5, "end": 6}]));
    repository.commit_all("both");
    check(&repository, json!([{"file": "src/old.rs", "start": 5, "end": 6}]));
    let text = repository.trace(&["check", "--base", "main"]);
    assert_eq!((text.status, text.stdout.as_str()), (1, "src/old.rs:5-6: no intent covers this\n"));
}

#[test]
fn out_of_scope_and_without_an_intent_is_not_covered() {
    let repository = branch();
    repository.agent_with("src/a.rs", Some(b"fn a() {}\n"), |entry| entry.scope_validation = ScopeValidation::Fail);
    repository.agent_with("src/b.rs", Some(b"fn b() {}\n"), |entry| entry.intent_id = String::new());
    repository.git(&["add", "-A"]);
    check(
        &repository,
        json!([
            {"file": "src/a.rs", "start": 1, "end": 1},
            {"file": "src/b.rs", "start": 1, "end": 1},
        ]),
    );
}

#[test]
fn a_commit_that_a_person_approved_covers_its_lines() {
    let repository = branch();
    repository.context.write("src/mine.rs", "fn mine() {}\n");
    repository.context.write("docs/mine.md", "# Mine\n");
    repository.commit_all("by hand\n\nIntent: INT-001");
    let both = json!([{"file": "docs/mine.md", "start": 1, "end": 1}, {"file": "src/mine.rs", "start": 1, "end": 1}]);
    check(&repository, both);
    repository.git(&["commit", "-q", "--amend", "-m", "by hand\n\nIntent-Approved-By: A Person"]);
    check(&repository, json!([]));
    repository.context.write("src/mine.rs", "fn mine() {}\nfn later() {}\n");
    check(&repository, json!([{"file": "src/mine.rs", "start": 2, "end": 2}]));
}

#[test]
fn deletions_binaries_and_renames_are_judged_by_file() {
    let repository = TraceRepository::new();
    repository.context.write("src/gone.rs", "fn gone() {}\n");
    repository.context.write("src/image.bin", b"\0\x01\x02");
    repository.context.write("src/moved.rs", "fn moved() {}\nfn with() {}\nfn several() {}\nfn lines() {}\n");
    repository.commit_all("more");
    repository.git(&["checkout", "-q", "-b", "feature"]);
    std::fs::remove_file(repository.context.project().join("src/gone.rs")).unwrap();
    repository.context.write("src/image.bin", b"\0\x03");
    repository.context.write("src/old.rs", "fn old() {\n}\n");
    repository.git(&["mv", "src/moved.rs", "src/elsewhere.rs"]);
    check(
        &repository,
        json!([
            {"file": "src/gone.rs", "start": 1, "end": 1},
            {"file": "src/image.bin", "start": 1, "end": 1},
            {"file": "src/old.rs", "start": 1, "end": 1},
        ]),
    );
    repository.git(&["checkout", "-q", "main", "--", "src/gone.rs", "src/image.bin", "src/old.rs"]);
    repository.agent_with("src/gone.rs", None, |_| {});
    repository.agent_with("src/image.bin", Some(b"\0\x04"), |_| {});
    repository.agent_with("src/old.rs", Some(b"fn old() {\n}\n"), |_| {});
    check(&repository, json!([]));
}

#[test]
fn odd_names_and_line_endings_are_handled() {
    let repository = branch();
    let odd = "src/a \"b\"\t\u{fc}.rs";
    repository.agent("INT-001", odd, "fn a() {}\r\nfn b() {}");
    repository.git(&["add", "-A"]);
    check(&repository, json!([]));
    repository.context.write(odd, "fn a() {}\r\nfn b() {}\r\nfn c() {}");
    check(&repository, json!([{"file": odd, "start": 3, "end": 3}]));
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let repository = branch();
    let name = std::ffi::OsStr::from_bytes(b"src/\xff.rs");
    std::fs::write(repository.context.project().join(name), "fn x() {}\n").unwrap();
    repository.git(&["add", "-A"]);
    check(&repository, json!([{"file": "src/\u{fffd}.rs", "start": 1, "end": 1}]));
}

#[test]
fn a_submodule_and_an_untracked_file_are_seen() {
    let repository = branch();
    let commit = repository.git(&["rev-parse", "HEAD"]);
    let entry = format!("160000,{},vendor/lib", commit.trim());
    repository.git(&["update-index", "--add", "--cacheinfo", &entry]);
    repository.git(&["commit", "-q", "-m", "pin"]);
    std::fs::create_dir_all(repository.context.project().join("vendor/lib")).unwrap();
    check(&repository, json!([{"file": "vendor/lib", "start": 1, "end": 1}]));
    repository.context.write("src/new.rs", "fn new() {}\n");
    let output = repository.trace(&["check", "--base", "main", "--json", "--untracked"]);
    assert_eq!(output.json()["uncovered"][0], json!({"file": "src/new.rs", "start": 1, "end": 1}));
}

#[test]
fn sarif_has_the_shape_that_viewers_need() {
    let repository = branch();
    repository.context.write("src/old.rs", "fn old() {\n    one();\n    mine();\n}\n");
    let output = repository.trace(&["check", "--base", "main", "--sarif"]);
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

/// The validator of the format's own makers, which has 40 MB to download.
#[test]
fn sarif_is_valid_for_its_makers_validator() {
    if !slow_lane() {
        return;
    }
    let repository = branch();
    repository.context.write("src/old.rs", "fn old() {\n    one();\n    mine();\n}\n");
    let written = repository.trace(&["check", "--base", "main", "--format", "sarif"]).stdout;
    let broken = written.replace("\"startLine\": 3", "\"startLine\": 0");
    assert_ne!(written, broken);
    assert_eq!(sarif_errors(&repository, &written), Vec::<String>::new());
    assert_ne!(sarif_errors(&repository, &broken), Vec::<String>::new(), "the validator looks at the results");
}

fn sarif_errors(repository: &TraceRepository, log: &str) -> Vec<String> {
    let place = crate::installed::npm("sarif-validator", "@microsoft/sarif-multitool-linux@5.7.0");
    let program = place.join("node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool");
    let folder = repository.context.home();
    std::fs::write(folder.join("log.sarif"), log).unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["validate", "log.sarif"]);
    let output = command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1").current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 files scanned"), "{said}");
    said.lines().filter(|line| line.contains(": error ")).map(str::to_owned).collect()
}

#[test]
fn a_base_that_is_none_is_a_usage_error() {
    let repository = branch();
    for base in ["absent", "--output=x", ""] {
        let output = repository.trace(&["check", &format!("--base={base}")]);
        assert_eq!(output.status, 2, "{base}: {output:?}");
        assert!(output.stderr.contains("hint:"), "{output:?}");
    }
}
