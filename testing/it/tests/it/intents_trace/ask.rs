//! The log and the verification.

use super::repository::TraceRepository;
use serde_json::json;

fn busy() -> TraceRepository {
    let repository = TraceRepository::new();
    repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
    repository.agent("INT-002", "docs/b.md", "# B\n");
    repository.agent("INT-001", "src/a.rs", "fn a() {}\nfn b() {}\n");
    repository
}

#[test]
fn the_log_is_filtered_and_bounded() {
    let repository = busy();
    let lines = |arguments: &[&str]| {
        let output = repository.trace(&[&["log", "--json"], arguments].concat());
        assert_eq!(output.status, 0, "{output:?}");
        output.stdout.lines().count()
    };
    assert_eq!(lines(&[]), 3);
    assert_eq!(lines(&["--intent", "INT-001"]), 2);
    assert_eq!(lines(&["--file", "docs/b.md"]), 1);
    assert_eq!(lines(&["--file", "./src/../docs/b.md"]), 1);
    assert_eq!(lines(&["--session", "0a1b"]), 3);
    assert_eq!(lines(&["--session", "ffff"]), 0);
    assert_eq!(lines(&["--since", "2099-03-01T10:02:00Z"]), 1);
    assert_eq!(lines(&["--limit", "2"]), 2);
    let newest = repository.trace(&["log", "--json", "--limit", "1"]);
    assert_eq!(newest.json()["file"]["relative_path"], "src/a.rs");

    let text = repository.trace(&["log"]);
    insta::assert_snapshot!(text.stdout, @r"
    2099-03-01 (times in UTC)
    10:00:00  INT-001     pass      0a1b2c3d  file creation src/a.rs  Edit
    10:01:00  INT-002     pass      0a1b2c3d  file creation docs/b.md  Edit
    10:02:00  INT-001     pass      0a1b2c3d  intent evolution src/a.rs  Edit
    ");
    assert_eq!(repository.trace(&["log", "--since", "soon"]).status, 2);
}

#[test]
fn without_a_ledger_there_is_nothing_to_say() {
    let repository = TraceRepository::new();
    assert_eq!(repository.trace(&["log"]).stdout, "no entries\n");
    let verified = repository.trace(&["verify", "--json"]);
    assert_eq!((verified.status, verified.json()), (0, json!({"entries": 0, "problems": [], "notes": []})));
}

#[test]
fn an_untouched_ledger_is_proven_and_a_persons_edit_is_a_note() {
    let repository = busy();
    let verified = repository.trace(&["verify", "--json", "--strict"]);
    assert_eq!((verified.status, verified.json()), (0, json!({"entries": 3, "problems": [], "notes": []})));
    let text = repository.trace(&["verify"]);
    assert!(text.stdout.starts_with("3 entries, unchanged"), "{text:?}");
    assert!(text.stdout.contains("no commit has an anchor"), "{text:?}");

    repository.context.write("docs/b.md", "# by hand\n");
    let noted = repository.trace(&["verify"]);
    assert_eq!(noted.status, 0);
    assert!(noted.stderr.contains("note: line 2: content: docs/b.md: changed"), "{noted:?}");
    let strict = repository.trace(&["verify", "--strict"]);
    assert_eq!((strict.status, strict.stdout.as_str()), (1, "line 2: content: docs/b.md: changed since line 2\n"));
}

#[test]
fn tampering_is_named_by_its_line() {
    let repository = busy();
    let ledger = repository.orchestration().join("agent_trace.jsonl");
    let text = std::fs::read_to_string(&ledger).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let edited = text.replacen("INT-002", "INT-001", 1);
    let cases = [
        (edited, vec![(2, "edited")]),
        ([lines[0], lines[2]].concat(), vec![(2, "removed")]),
        ([lines[0], lines[1]].concat(), vec![(3, "removed")]),
        ([lines[1], lines[2]].concat(), vec![(1, "removed")]),
    ];
    for (tampered, expected) in cases {
        std::fs::write(&ledger, &tampered).unwrap();
        let output = repository.trace(&["verify", "--json"]);
        assert_eq!(output.status, 1, "{tampered}");
        let problems = output.json()["problems"].as_array().unwrap().clone();
        let found: Vec<_> =
            problems.iter().map(|found| (found["line"].as_i64().unwrap(), found["kind"].as_str().unwrap())).collect();
        assert_eq!(found, expected);
        for (line, (number, _)) in repository.trace(&["verify"]).stdout.lines().zip(&expected) {
            assert!(line.starts_with(&format!("line {number}: ")), "{line}");
        }
    }
}

#[test]
fn an_anchor_in_a_commit_notices_that_all_is_gone() {
    let repository = busy();
    assert_eq!(repository.trace(&["hook", "install"]).status, 0);
    std::fs::write(repository.context.project().join(".gitignore"), ".orchestration/agent_trace.*\n").unwrap();
    repository.commit_all("work");
    assert!(repository.git(&["log", "-1", "--format=%B"]).contains("Intent-Ledger: 3 sha256:"));
    assert!(repository.trace(&["verify"]).stdout.contains("1 anchors in commits match"));
    std::fs::remove_file(repository.orchestration().join("agent_trace.jsonl")).unwrap();
    std::fs::remove_file(repository.orchestration().join("agent_trace.head")).unwrap();
    let gone = repository.trace(&["verify", "--json"]);
    assert_eq!(gone.status, 1);
    assert_eq!(gone.json()["problems"][0]["kind"], "removed");
    std::fs::remove_dir_all(repository.orchestration().join(".trace")).unwrap();
    let gone = repository.trace(&["verify", "--json"]);
    assert_eq!((gone.status, &gone.json()["problems"][0]["kind"]), (1, &json!("anchor")));
}
