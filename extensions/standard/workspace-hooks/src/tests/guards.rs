//! The loop guard and what surrounds it: changes that runs make start nothing, changes that people make always do.

use super::hooks::hook;
use super::issues::{end, of, on_both, pause};
use super::simulated_executor::SimulatedAttempt;
use crate::contract::Runs;
use crate::contract::{Change, Event, FileChange, Hook, Outcome, Source, Status, Trigger};
use crate::run_executor::RunJob;

/// Puts a file in form, once.
fn format(takes_ms: u64) -> impl Fn(&RunJob, &dispatch_sim::SeededRandom) -> SimulatedAttempt {
    move |job, _| {
        let file = &job.files[0];
        let content = file.content_hash.clone().unwrap();
        match job.hook.id.as_str() {
            "format" if !content.starts_with("form:") => SimulatedAttempt {
                writes: vec![(file.path.clone(), format!("form:{content}"))],
                ..SimulatedAttempt::success(takes_ms)
            },
            _ => SimulatedAttempt::success(takes_ms),
        }
    }
}

#[test]
fn what_a_run_left_starts_nothing_and_what_a_person_does_then_does() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("format")]);
        simulation.script(format(20));
        let process = simulation.start("p");
        simulation.save(&process, "x", "a").await;
        simulation.settle().await;
        let outcome = async |source| simulation.report(&process, "x", source).await.unwrap()[0].outcome;
        assert_eq!(outcome(Source::Watcher).await, Outcome::OwnChange);
        simulation.write("x", "a");
        assert_eq!(outcome(Source::Watcher).await, Outcome::Queued, "somebody took the form out again");
        simulation.settle().await;
        assert_eq!(simulation.disk.content("x").as_deref(), Some("form:a"));
        assert_eq!(of(simulation, "format").await.len(), 2);
        assert_eq!(outcome(Source::Editor).await, Outcome::Queued, "an editor that saves it is believed");
        simulation.settle().await;
        assert_eq!(outcome(Source::Editor).await, Outcome::Unchanged, "once");
        assert_eq!(outcome(Source::Watcher).await, Outcome::OwnChange);
        end(&[&process]).await;
    });
}

#[test]
fn content_that_comes_back_by_somebody_else_is_handled() {
    on_both(async |simulation| {
        let mut lint = hook("lint");
        lint.debounce_ms = 0;
        simulation.set_hooks(vec![hook("format"), lint]);
        simulation.script(format(20));
        let process = simulation.start("p");
        simulation.save(&process, "x", "a").await;
        simulation.settle().await;
        assert_eq!(simulation.report(&process, "x", Source::Watcher).await.unwrap()[0].outcome, Outcome::OwnChange);
        for content in ["form:b", "form:a"] {
            simulation.write("x", content);
            let receipts = simulation.report(&process, "x", Source::Watcher).await.unwrap();
            assert_eq!(receipts.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Outcome::Queued; 2], "{content}");
            simulation.settle().await;
        }
        end(&[&process]).await;
    });
}

#[test]
fn a_change_by_a_run_that_still_goes_is_held_until_it_ends() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("format"), hook("lint")]);
        simulation.script(format(10_000));
        let (runner, watcher) = (simulation.start("runner"), simulation.visit("watcher"));
        simulation.save(&runner, "x", "a").await;
        // It writes after five seconds; the other process learns it from the store.
        pause(simulation, 7_000).await;
        assert_eq!(simulation.disk.content("x").as_deref(), Some("form:a"));
        for process in [&runner, &watcher] {
            let receipts = simulation.report(process, "x", Source::Watcher).await.unwrap();
            for receipt in receipts {
                assert!(matches!(receipt.outcome, Outcome::Held | Outcome::Coalesced), "{receipt:?}");
            }
        }
        simulation.settle().await;
        let runs = simulation.records().await;
        assert_eq!(runs.len(), 2, "what was held turned out to be nothing: {runs:#?}");
        end(&[&runner, &watcher]).await;
    });
}

#[test]
fn a_person_who_edits_while_a_run_writes_is_heard() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("format"), hook("lint")]);
        simulation.script(format(10_000));
        let process = simulation.start("p");
        simulation.save(&process, "x", "a").await;
        pause(simulation, 7_000).await;
        let receipts = simulation.save(&process, "x", "form:mine").await;
        assert_eq!(receipts.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Outcome::Queued; 2]);
        simulation.settle().await;
        let seen = of(simulation, "lint").await;
        assert_eq!(seen.last().unwrap().content_hash.as_deref(), Some("form:mine"));
        end(&[&process]).await;
    });
}

#[test]
fn an_undone_change_needs_no_second_run() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        let process = simulation.start("p");
        for content in ["a", "b", "a"] {
            simulation.save(&process, "x", content).await;
            if content == "a" {
                simulation.settle().await;
            }
        }
        simulation.settle().await;
        let runs = of(simulation, "h").await;
        assert_eq!(runs.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Success, Status::Canceled]);
        assert!(runs[1].reason.contains("handled this content"), "{}", runs[1].reason);
        end(&[&process]).await;
    });
}

#[test]
fn a_file_that_is_gone_again_needs_no_run_but_a_hook_of_removals_does() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("saved"), Hook { trigger: Trigger::DidDelete, ..hook("removed") }]);
        let process = simulation.start("p");
        simulation.save(&process, "x", "a").await;
        simulation.disk.remove("x");
        let files = vec![FileChange { path: "x".into(), change: Change::Deleted, content_hash: None }];
        let event = Event { trigger: Trigger::DidDelete, files, ..simulation.event("x", Source::Watcher) };
        process.service.submit(event).await.unwrap();
        simulation.settle().await;
        assert_eq!(of(simulation, "saved").await[0].reason, "the file is gone");
        assert_eq!(of(simulation, "removed").await[0].status, Status::Success);
        end(&[&process]).await;
    });
}
