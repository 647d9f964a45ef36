//! Commits name their intents.

use super::repository::TraceRepository;

fn installed() -> TraceRepository {
    let repository = TraceRepository::new();
    assert_eq!(repository.trace(&["hook", "install"]).status, 0);
    repository
}

fn message(repository: &TraceRepository) -> String {
    repository.git(&["log", "-1", "--format=%B"]).trim_end().to_owned()
}

fn trailers(repository: &TraceRepository, key: &str) -> Vec<String> {
    let format = format!("--format=%(trailers:key={key},valueonly)");
    repository.git(&["log", "-1", &format]).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_commit_names_the_intents_of_what_it_holds() {
    let repository = installed();
    repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
    repository.agent("INT-002", "docs/b.md", "# B\n");
    repository.git(&["add", "src"]);
    repository.git(&["commit", "-q", "-m", "only the source\n\nSigned-off-by: A Person <person@example.org>"]);
    assert_eq!(trailers(&repository, "Intent"), ["INT-001"]);
    assert_eq!(trailers(&repository, "Signed-off-by").len(), 1, "the trailers are one block");
    repository.git(&["add", "docs"]);
    repository.git(&["commit", "-q", "-m", "the rest, staged later"]);
    assert_eq!(trailers(&repository, "Intent"), ["INT-002"]);
    repository.context.write("src/hand.rs", "fn hand() {}\n");
    repository.git(&["add", "src"]);
    repository.git(&["commit", "-q", "-m", "by hand"]);
    assert_eq!(trailers(&repository, "Intent"), Vec::<String>::new());
}

#[test]
fn an_amended_commit_has_each_trailer_once() {
    let repository = installed();
    repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
    repository.commit_all("work");
    let first = message(&repository);
    assert_eq!(trailers(&repository, "Intent-Ledger").len(), 1);
    repository.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(message(&repository), first);
    repository.agent("INT-002", "docs/b.md", "# B\n");
    repository.git(&["add", "-A"]);
    repository.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(trailers(&repository, "Intent"), ["INT-001", "INT-002"]);
    assert_eq!(trailers(&repository, "Intent-Ledger").len(), 1);
    assert!(trailers(&repository, "Intent-Ledger")[0].starts_with("2 sha256:"));
    assert_eq!(repository.trace(&["verify"]).status, 0);
}

#[test]
fn an_amended_message_names_the_intents_of_the_whole_commit() {
    let repository = installed();
    repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
    repository.commit_all("work");
    let anchor = trailers(&repository, "Intent-Ledger");
    repository.git(&["commit", "-q", "--amend", "-m", "better words"]);
    assert_eq!(trailers(&repository, "Intent"), ["INT-001"]);
    assert_eq!(trailers(&repository, "Intent-Ledger"), anchor);
    assert!(message(&repository).starts_with("better words\n"));
    repository.context.write("src/hand.rs", "fn hand() {}\n");
    repository.commit_all("by hand, in the same second");
    assert_eq!(trailers(&repository, "Intent"), Vec::<String>::new());
    // The first commit of all has no parent.
    let first = TraceRepository::new();
    assert_eq!(first.trace(&["hook", "install"]).status, 0);
    first.agent("INT-001", "src/a.rs", "fn a() {}\n");
    first.git(&["add", "-A"]);
    first.git(&["commit", "-q", "--amend", "-m", "begin again"]);
    assert_eq!(trailers(&first, "Intent"), ["INT-001"]);
    assert_eq!(first.trace(&["verify"]).status, 0);
}

#[test]
fn taken_away_lines_and_moved_files_name_their_intents_too() {
    let repository = installed();
    repository.agent("INT-001", "src/old.rs", "fn old() {\n}\n");
    repository.commit_all("less");
    assert_eq!(trailers(&repository, "Intent"), ["INT-001"]);
    repository.agent_with("src/old.rs", None, |entry| entry.intent_id = "INT-002".to_owned());
    repository.commit_all("gone");
    assert!(trailers(&repository, "Intent").contains(&"INT-002".to_owned()));
}

#[test]
fn an_empty_message_stays_empty_and_a_merge_is_left_alone() {
    let repository = installed();
    repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
    repository.git(&["add", "-A"]);
    let file = repository.context.project().join(".git/COMMIT_EDITMSG");
    std::fs::write(&file, "\n# only a comment\n").unwrap();
    assert_eq!(repository.trace(&["trailers", ".git/COMMIT_EDITMSG"]).status, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\n# only a comment\n");

    repository.git(&["commit", "-q", "-m", "one"]);
    repository.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    repository.context.write("docs/side.md", "side\n");
    repository.commit_all("side");
    repository.git(&["merge", "-q", "--no-edit", "main"]);
    assert_eq!(trailers(&repository, "Intent"), Vec::<String>::new());
}

#[test]
fn a_commit_is_never_stopped() {
    let repository = installed();
    std::fs::write(repository.orchestration().join("agent_trace.jsonl"), b"\xff\xfe no ledger").unwrap();
    repository.commit_all("with a broken ledger");
    std::fs::remove_dir_all(repository.orchestration()).unwrap();
    repository.commit_all("without any");
    assert_eq!(message(&repository), "without any");
    assert_eq!(repository.trace(&["trailers", "absent"]).status, 0);
}

#[cfg(unix)]
#[test]
fn a_hook_that_is_there_goes_on_running() {
    use std::os::unix::fs::PermissionsExt;
    for (first_line, kept) in [("#!/bin/sh", false), ("#!/usr/bin/env -S sh -e", true)] {
        let repository = TraceRepository::new();
        let hook = repository.context.project().join(".git/hooks/commit-msg");
        let script = format!("{first_line}\ngrep -q '^Intent: ' \"$1\" && echo seen >> \"$1\"\nexit 0\n");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, &script).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        for _ in 0..2 {
            assert_eq!(repository.trace(&["hook", "install"]).status, 0);
        }
        assert_eq!(hook.with_file_name("commit-msg.before-dispatch").exists(), kept);
        repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
        repository.commit_all("work");
        assert!(message(&repository).ends_with("seen"), "{first_line}: {}", message(&repository));
        assert_eq!(repository.trace(&["hook", "remove"]).status, 0);
        assert_eq!(std::fs::read_to_string(&hook).unwrap(), script);
        assert!(repository.trace(&["hook", "remove"]).stdout.starts_with("not installed"));
    }
}

#[test]
fn the_folder_of_hooks_that_git_uses_is_used() {
    let repository = TraceRepository::new();
    repository.git(&["config", "core.hooksPath", ".githooks"]);
    assert_eq!(repository.trace(&["hook", "install"]).status, 0);
    assert!(repository.context.project().join(".githooks/commit-msg").is_file());
    repository.git(&["config", "core.hooksPath", repository.context.home().to_str().unwrap()]);
    let shared = repository.trace(&["hook", "install"]);
    assert_eq!(shared.status, 2);
    assert!(shared.stderr.contains("shares its hooks folder with others"), "{shared:?}");
}

#[test]
fn trailers_survive_rebase_squash_and_cherry_pick() {
    let repository = installed();
    std::fs::write(
        repository.context.project().join(".gitignore"),
        ".orchestration/agent_trace.*\n.orchestration/.trace\n",
    )
    .unwrap();
    repository.commit_all("ignore the ledger");
    repository.git(&["checkout", "-q", "-b", "feature"]);
    repository.agent("INT-001", "src/a.rs", "fn a() {}\n");
    repository.commit_all("work");
    repository.git(&["checkout", "-q", "main"]);
    repository.context.write("docs/m.md", "m\n");
    repository.commit_all("main goes on");
    repository.git(&["checkout", "-q", "feature"]);
    repository.git(&["rebase", "-q", "main"]);
    assert_eq!(trailers(&repository, "Intent"), ["INT-001"]);
    repository.git(&["checkout", "-q", "-b", "other", "main"]);
    repository.git(&["cherry-pick", "feature"]);
    assert_eq!(trailers(&repository, "Intent"), ["INT-001"]);
    repository.git(&["checkout", "-q", "-b", "squashed", "main"]);
    repository.git(&["merge", "-q", "--squash", "feature"]);
    repository.git(&["commit", "-q", "--no-edit"]);
    assert!(message(&repository).contains("Intent: INT-001"));
    assert_eq!(repository.trace(&["verify"]).status, 0);
    repository.as_in_a_clone();
    std::fs::remove_file(repository.orchestration().join("agent_trace.jsonl")).unwrap();
    let covered = repository.trace(&["check", "--base", "main", "--json"]);
    assert_eq!(covered.status, 1, "a trailer alone covers nothing: {covered:?}");
}
