//! Commits name their intents.

use super::world::World;

fn installed() -> World {
    let world = World::new();
    assert_eq!(world.trace(&["hook", "install"]).status, 0);
    world
}

fn message(world: &World) -> String {
    world.git(&["log", "-1", "--format=%B"]).trim_end().to_owned()
}

fn trailers(world: &World, key: &str) -> Vec<String> {
    let format = format!("--format=%(trailers:key={key},valueonly)");
    world.git(&["log", "-1", &format]).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn a_commit_names_the_intents_of_what_it_holds() {
    let world = installed();
    world.agent("INT-001", "src/a.rs", "fn a() {}\n");
    world.agent("INT-002", "docs/b.md", "# B\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "-m", "only the source\n\nSigned-off-by: A Person <person@example.org>"]);
    assert_eq!(trailers(&world, "Intent"), ["INT-001"]);
    assert_eq!(trailers(&world, "Signed-off-by").len(), 1, "the trailers are one block");
    world.git(&["add", "docs"]);
    world.git(&["commit", "-q", "-m", "the rest, staged later"]);
    assert_eq!(trailers(&world, "Intent"), ["INT-002"]);
    world.context.write("src/hand.rs", "fn hand() {}\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "-m", "by hand"]);
    assert_eq!(trailers(&world, "Intent"), Vec::<String>::new());
}

#[test]
fn an_amended_commit_has_each_trailer_once() {
    let world = installed();
    world.agent("INT-001", "src/a.rs", "fn a() {}\n");
    world.commit_all("work");
    let first = message(&world);
    assert_eq!(trailers(&world, "Intent-Ledger").len(), 1);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(message(&world), first);
    world.agent("INT-002", "docs/b.md", "# B\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(trailers(&world, "Intent"), ["INT-001", "INT-002"]);
    assert_eq!(trailers(&world, "Intent-Ledger").len(), 1);
    assert!(trailers(&world, "Intent-Ledger")[0].starts_with("2 sha256:"));
    assert_eq!(world.trace(&["verify"]).status, 0);
}

#[test]
fn taken_away_lines_and_moved_files_name_their_intents_too() {
    let world = installed();
    world.agent("INT-001", "src/old.rs", "fn old() {\n}\n");
    world.commit_all("less");
    assert_eq!(trailers(&world, "Intent"), ["INT-001"]);
    world.agent_with("src/old.rs", None, |entry| entry.intent_id = "INT-002".to_owned());
    world.commit_all("gone");
    assert!(trailers(&world, "Intent").contains(&"INT-002".to_owned()));
}

#[test]
fn an_empty_message_stays_empty_and_a_merge_is_left_alone() {
    let world = installed();
    world.agent("INT-001", "src/a.rs", "fn a() {}\n");
    world.git(&["add", "-A"]);
    let file = world.context.project().join(".git/COMMIT_EDITMSG");
    std::fs::write(&file, "\n# only a comment\n").unwrap();
    assert_eq!(world.trace(&["trailers", ".git/COMMIT_EDITMSG"]).status, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\n# only a comment\n");

    world.git(&["commit", "-q", "-m", "one"]);
    world.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    world.context.write("docs/side.md", "side\n");
    world.commit_all("side");
    world.git(&["merge", "-q", "--no-edit", "main"]);
    assert_eq!(trailers(&world, "Intent"), Vec::<String>::new());
}

#[test]
fn a_commit_is_never_stopped() {
    let world = installed();
    std::fs::write(world.layout().ledger_file(), b"\xff\xfe no ledger").unwrap();
    world.commit_all("with a broken ledger");
    std::fs::remove_dir_all(world.layout().folder()).unwrap();
    world.commit_all("without any");
    assert_eq!(message(&world), "without any");
    assert_eq!(world.trace(&["trailers", "absent"]).status, 0);
}

#[cfg(unix)]
#[test]
fn a_hook_that_is_there_goes_on_running() {
    use std::os::unix::fs::PermissionsExt;
    for (first_line, kept) in [("#!/bin/sh", false), ("#!/usr/bin/env -S sh -e", true)] {
        let world = World::new();
        let hook = world.context.project().join(".git/hooks/commit-msg");
        let script = format!("{first_line}\ngrep -q '^Intent: ' \"$1\" && echo seen >> \"$1\"\nexit 0\n");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::write(&hook, &script).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        for _ in 0..2 {
            assert_eq!(world.trace(&["hook", "install"]).status, 0);
        }
        assert_eq!(hook.with_file_name("commit-msg.before-dispatch").exists(), kept);
        world.agent("INT-001", "src/a.rs", "fn a() {}\n");
        world.commit_all("work");
        assert!(message(&world).ends_with("seen"), "{first_line}: {}", message(&world));
        assert_eq!(world.trace(&["hook", "remove"]).status, 0);
        assert_eq!(std::fs::read_to_string(&hook).unwrap(), script);
        assert!(world.trace(&["hook", "remove"]).stdout.starts_with("not installed"));
    }
}

#[test]
fn the_folder_of_hooks_that_git_uses_is_used() {
    let world = World::new();
    world.git(&["config", "core.hooksPath", ".githooks"]);
    assert_eq!(world.trace(&["hook", "install"]).status, 0);
    assert!(world.context.project().join(".githooks/commit-msg").is_file());
    world.git(&["config", "core.hooksPath", world.context.home().to_str().unwrap()]);
    let shared = world.trace(&["hook", "install"]);
    assert_eq!(shared.status, 2);
    assert!(shared.stderr.contains("shared with others"), "{shared:?}");
}

#[test]
fn trailers_survive_rebase_squash_and_cherry_pick() {
    let world = installed();
    std::fs::write(world.context.project().join(".gitignore"), ".orchestration/agent_trace.*\n.orchestration/.trace\n")
        .unwrap();
    world.commit_all("ignore the ledger");
    world.git(&["checkout", "-q", "-b", "feature"]);
    world.agent("INT-001", "src/a.rs", "fn a() {}\n");
    world.commit_all("work");
    world.git(&["checkout", "-q", "main"]);
    world.context.write("docs/m.md", "m\n");
    world.commit_all("main goes on");
    world.git(&["checkout", "-q", "feature"]);
    world.git(&["rebase", "-q", "main"]);
    assert_eq!(trailers(&world, "Intent"), ["INT-001"]);
    world.git(&["checkout", "-q", "-b", "other", "main"]);
    world.git(&["cherry-pick", "feature"]);
    assert_eq!(trailers(&world, "Intent"), ["INT-001"]);
    world.git(&["checkout", "-q", "-b", "squashed", "main"]);
    world.git(&["merge", "-q", "--squash", "feature"]);
    world.git(&["commit", "-q", "--no-edit"]);
    assert!(message(&world).contains("Intent: INT-001"));
    assert_eq!(world.trace(&["verify"]).status, 0);
    world.as_in_a_clone();
    std::fs::remove_file(world.layout().ledger_file()).unwrap();
    let covered = world.trace(&["check", "--base", "main", "--json"]);
    assert_eq!((covered.status, covered.stdout.contains("[]")), (0, true), "{covered:?}");
}
