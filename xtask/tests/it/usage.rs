//! Arguments and exit status of the executable.

use crate::repository::Repository;

#[test]
fn help_lists_the_commands() {
    let run = Repository::sound().xtask(&["help"]);
    run.assert_passed();
    for command in ["ci", "layers", "tidy", "schemas", "hook-size", "bench", "dist"] {
        assert!(run.stdout.contains(&format!("\n  {command} ")), "{command}: {}", run.stdout);
    }
}

#[test]
fn what_cannot_run_ends_with_two() {
    let repository = Repository::sound();
    for arguments in [&["tidyy"][..], &["tidy", "--root"], &["schemas", "--writ"]] {
        let run = repository.xtask(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn ci_stops_at_the_first_failing_step_and_says_how_to_see_it_alone() {
    let repository = Repository::sound();
    repository.write("platform/os/src/a.rs", "fn a() {}\n");
    let run = repository.xtask(&["ci"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.starts_with("layers     ... ok "), "{}", run.stdout);
    assert!(run.stdout.contains("tidy       ... FAILED "), "{}", run.stdout);
    assert!(!run.stdout.contains("clippy"), "{}", run.stdout);
    assert!(run.stderr.contains("error[header]"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: to see it alone: cargo xtask tidy"), "{}", run.stderr);
}
