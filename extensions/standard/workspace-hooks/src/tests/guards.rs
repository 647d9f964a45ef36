//! The loop guard and what surrounds it: changes that runs make start nothing, changes that people make always do.

use super::hooks::hook;
use super::issues::{end, of, on_both, pause};
use super::player::Act;
use crate::contract::Runs;
use crate::contract::{Change, Event, FileChange, Hook, Outcome, Source, Status, Trigger};
use crate::performer::Assignment;

/// Puts a file in form, once.
fn format(takes_ms: u64) -> impl Fn(&Assignment, &super::faulty::Dice) -> Act {
    move |assignment, _| {
        let file = &assignment.files[0];
        let content = file.content_hash.clone().unwrap();
        match assignment.hook.id.as_str() {
            "format" if !content.starts_with("form:") => {
                Act { writes: vec![(file.path.clone(), format!("form:{content}"))], ..Act::success(takes_ms) }
            }
            _ => Act::success(takes_ms),
        }
    }
}

#[test]
fn what_a_run_left_starts_nothing_and_what_a_person_does_then_does() {
    on_both(async |world| {
        world.set_hooks(vec![hook("format")]);
        world.play(format(20));
        let process = world.start("p");
        world.save(&process, "x", "a").await;
        world.settle().await;
        let outcome = async |source| world.report(&process, "x", source).await.unwrap()[0].outcome;
        assert_eq!(outcome(Source::Watcher).await, Outcome::OwnChange);
        world.write("x", "a");
        assert_eq!(outcome(Source::Watcher).await, Outcome::Queued, "somebody took the form out again");
        world.settle().await;
        assert_eq!(world.disk.content("x").as_deref(), Some("form:a"));
        assert_eq!(of(world, "format").await.len(), 2);
        assert_eq!(outcome(Source::Editor).await, Outcome::Queued, "an editor that saves it is believed");
        world.settle().await;
        assert_eq!(outcome(Source::Editor).await, Outcome::Unchanged, "once");
        assert_eq!(outcome(Source::Watcher).await, Outcome::OwnChange);
        end(&[&process]).await;
    });
}

#[test]
fn content_that_comes_back_by_somebody_else_is_handled() {
    on_both(async |world| {
        let mut lint = hook("lint");
        lint.debounce_ms = 0;
        world.set_hooks(vec![hook("format"), lint]);
        world.play(format(20));
        let process = world.start("p");
        world.save(&process, "x", "a").await;
        world.settle().await;
        assert_eq!(world.report(&process, "x", Source::Watcher).await.unwrap()[0].outcome, Outcome::OwnChange);
        for content in ["form:b", "form:a"] {
            world.write("x", content);
            let receipts = world.report(&process, "x", Source::Watcher).await.unwrap();
            assert_eq!(receipts.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Outcome::Queued; 2], "{content}");
            world.settle().await;
        }
        end(&[&process]).await;
    });
}

#[test]
fn a_change_by_a_run_that_still_goes_is_held_until_it_ends() {
    on_both(async |world| {
        world.set_hooks(vec![hook("format"), hook("lint")]);
        world.play(format(10_000));
        let (runner, watcher) = (world.start("runner"), world.visit("watcher"));
        world.save(&runner, "x", "a").await;
        // It writes after five seconds; the other process learns it from the book.
        pause(world, 7_000).await;
        assert_eq!(world.disk.content("x").as_deref(), Some("form:a"));
        for process in [&runner, &watcher] {
            let receipts = world.report(process, "x", Source::Watcher).await.unwrap();
            for receipt in receipts {
                assert!(matches!(receipt.outcome, Outcome::Held | Outcome::Coalesced), "{receipt:?}");
            }
        }
        world.settle().await;
        let runs = world.records().await;
        assert_eq!(runs.len(), 2, "what was held turned out to be nothing: {runs:#?}");
        end(&[&runner, &watcher]).await;
    });
}

#[test]
fn a_person_who_edits_while_a_run_writes_is_heard() {
    on_both(async |world| {
        world.set_hooks(vec![hook("format"), hook("lint")]);
        world.play(format(10_000));
        let process = world.start("p");
        world.save(&process, "x", "a").await;
        pause(world, 7_000).await;
        let receipts = world.save(&process, "x", "form:mine").await;
        assert_eq!(receipts.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Outcome::Queued; 2]);
        world.settle().await;
        let seen = of(world, "lint").await;
        assert_eq!(seen.last().unwrap().content_hash.as_deref(), Some("form:mine"));
        end(&[&process]).await;
    });
}

#[test]
fn an_undone_change_needs_no_second_run() {
    on_both(async |world| {
        world.set_hooks(vec![hook("h")]);
        let process = world.start("p");
        for content in ["a", "b", "a"] {
            world.save(&process, "x", content).await;
            if content == "a" {
                world.settle().await;
            }
        }
        world.settle().await;
        let runs = of(world, "h").await;
        assert_eq!(runs.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Success, Status::Canceled]);
        assert!(runs[1].reason.contains("handled this content"), "{}", runs[1].reason);
        end(&[&process]).await;
    });
}

#[test]
fn a_file_that_is_gone_again_needs_no_run_but_a_hook_of_removals_does() {
    on_both(async |world| {
        world.set_hooks(vec![hook("saved"), Hook { trigger: Trigger::DidDelete, ..hook("removed") }]);
        let process = world.start("p");
        world.save(&process, "x", "a").await;
        world.disk.remove("x");
        let files = vec![FileChange { path: "x".into(), change: Change::Deleted, content_hash: None }];
        let event = Event { trigger: Trigger::DidDelete, files, ..world.event("x", Source::Watcher) };
        process.desk.submit(event).await.unwrap();
        world.settle().await;
        assert_eq!(of(world, "saved").await[0].reason, "the file is gone");
        assert_eq!(of(world, "removed").await[0].status, Status::Success);
        end(&[&process]).await;
    });
}
