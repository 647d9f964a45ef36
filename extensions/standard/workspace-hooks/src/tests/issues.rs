//! What users of Kiro's hooks complained about, each as a test. The number is that of the issue.

use super::hooks::hook;
use super::simulated_executor::SimulatedAttempt;
use super::simulation::{Database, Process, Simulation, workspace};
use crate::contract::{Event, ExecutionRecord, Hook, Outcome, Retry, Runs, Source, Status, Trigger};
use dispatch_contracts::ports::Clock;

/// Plays in memory and in a file, with several seeds.
pub(super) fn on_both(play: impl AsyncFn(&Simulation)) {
    for database in [Database::Memory, Database::File] {
        for seed in 1..4 {
            let simulation = Simulation::new(seed, database);
            simulation.sim.block_on(play(&simulation)).expect("nothing hangs");
            assert_eq!(*simulation.log.broken.lock().unwrap(), Vec::<String>::new());
        }
    }
}

pub(super) async fn of(simulation: &Simulation, hook: &str) -> Vec<ExecutionRecord> {
    simulation.records().await.into_iter().filter(|record| record.hook_id == hook).collect()
}

pub(super) async fn pause(simulation: &Simulation, ms: u64) {
    simulation.clock().sleep_ms(ms).await;
}

pub(super) async fn end(processes: &[&Process]) {
    processes.iter().for_each(|process| process.kill());
}

fn commit(id: Option<&str>) -> Event {
    Event {
        trigger: Trigger::GitCommit,
        workspace: workspace(),
        files: Vec::new(),
        source: Source::Git,
        hook: None,
        id: id.map(str::to_owned),
        metadata: serde_json::Map::new(),
    }
}

/// 184: hooks queue behind one another and behind the agent.
#[test]
fn kiro_184_hooks_of_one_save_run_in_parallel() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("a"), hook("b"), hook("c")]);
        simulation.script(|_, _| SimulatedAttempt::success(60_000));
        let process = simulation.start("p");
        simulation.save(&process, "x", "1").await;
        pause(simulation, 5_000).await;
        assert_eq!(*simulation.log.most_at_once.lock().unwrap(), 3);
        simulation.settle().await;
        end(&[&process]).await;
    });
}

/// 887: a hook runs minutes after its save.
#[test]
fn kiro_887_a_save_is_not_kept_waiting_by_a_long_run_of_another_file() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("slow")]);
        simulation.script(|job, _| SimulatedAttempt::success(if job.files[0].path == "long" { 600_000 } else { 10 }));
        let process = simulation.start("p");
        simulation.save(&process, "long", "1").await;
        pause(simulation, 1_000).await;
        let saved_ms = simulation.clock().now_ms();
        simulation.save(&process, "short", "1").await;
        pause(simulation, 1_000).await;
        let played = simulation.log.ended.lock().unwrap().clone();
        let [short] = played.as_slice() else { panic!("{played:?}") };
        assert!(
            short.began_ms - saved_ms < 400,
            "it waits for its debounce and no more: {}",
            short.began_ms - saved_ms
        );
        simulation.settle().await;
        end(&[&process]).await;
    });
}

/// 703: of several hooks that fit a save only the first in the alphabet runs.
#[test]
fn kiro_703_every_hook_that_fits_runs() {
    on_both(async |simulation| {
        let names = ["zebra", "apple", "mango", "apple2", "0"];
        simulation.set_hooks(names.iter().map(|name| hook(name)).collect());
        let process = simulation.start("p");
        let receipts = simulation.save(&process, "x", "1").await;
        assert_eq!(receipts.iter().map(|receipt| receipt.hook_id.as_str()).collect::<Vec<_>>(), names);
        simulation.settle().await;
        for name in names {
            let runs = of(simulation, name).await;
            assert_eq!(runs.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Success], "{name}");
        }
        end(&[&process]).await;
    });
}

/// 1555: an event that comes while the hook runs is lost.
#[test]
fn kiro_1555_a_second_event_during_a_run_is_handled_after_it() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|_, _| SimulatedAttempt::success(10_000));
        let process = simulation.start("p");
        simulation.save(&process, "x", "first").await;
        pause(simulation, 2_000).await;
        let receipts = simulation.save(&process, "x", "second").await;
        assert_eq!(receipts[0].outcome, Outcome::Queued);
        let receipts = simulation.save(&process, "x", "third").await;
        assert_eq!(receipts[0].outcome, Outcome::Coalesced);
        simulation.settle().await;
        let played = simulation.log.ended.lock().unwrap().clone();
        let contents: Vec<_> = played.iter().map(|one| one.content.as_deref()).collect();
        assert_eq!(contents, [Some("first"), Some("third")]);
        assert!(played[1].began_ms >= played[0].ended_ms, "one file is handled once at a time");
        end(&[&process]).await;
    });
}

/// 1555, for events that are not about files: each is a fact of its own.
#[test]
fn kiro_1555_two_commits_are_two_runs_and_one_told_twice_is_one() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![Hook { trigger: Trigger::GitCommit, ..hook("h") }]);
        simulation.script(|_, _| SimulatedAttempt::success(5_000));
        let process = simulation.start("p");
        for (id, expected) in [("a", Outcome::Queued), ("b", Outcome::Queued), ("a", Outcome::Repeated)] {
            let receipts = process.service.submit(commit(Some(id))).await.unwrap();
            assert_eq!(receipts[0].outcome, expected);
        }
        simulation.settle().await;
        assert_eq!(of(simulation, "h").await.len(), 2);
        end(&[&process]).await;
    });
}

/// 3913: every keystroke that is saved starts a run.
#[test]
fn kiro_3913_a_burst_of_saves_is_one_run_of_the_last_content() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        let process = simulation.start("p");
        for number in 0..20 {
            simulation.save(&process, "x", &number.to_string()).await;
            // The file system notices as well.
            let _ = simulation.report(&process, "x", Source::Watcher).await;
            pause(simulation, 20).await;
        }
        simulation.settle().await;
        let runs = of(simulation, "h").await;
        assert_eq!(runs.iter().map(|run| run.content_hash.as_deref()).collect::<Vec<_>>(), [Some("19")]);
        end(&[&process]).await;
    });
}

/// 3913: saves that never pause do not put a run off for ever either.
#[test]
fn kiro_3913_an_endless_burst_still_runs() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        let process = simulation.start("p");
        for number in 0..100 {
            simulation.save(&process, "x", &number.to_string()).await;
            pause(simulation, 100).await;
        }
        simulation.settle().await;
        let runs = of(simulation, "h").await.len();
        assert!((3..=8).contains(&runs), "ten seconds of saves make {runs} runs");
        end(&[&process]).await;
    });
}

/// 853: a hook cannot be run again by hand.
#[test]
fn kiro_853_a_run_is_repeated_by_hand_whatever_the_content() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        let process = simulation.start("p");
        let first = simulation.save(&process, "x", "1").await[0].run.clone().unwrap();
        let done = process.service.wait(&first).await.unwrap();
        assert_eq!((done.status, done.logs.as_deref()), (Status::Success, Some("h on attempt 1")));
        let again = simulation.report(&process, "x", Source::Editor).await.unwrap();
        assert_eq!(again[0].outcome, Outcome::Unchanged, "saving once more is no reason");
        let second = process.service.retry(&first).await.unwrap();
        let done = process.service.wait(&second).await.unwrap();
        assert_eq!((done.status, done.retry_of.as_ref()), (Status::Success, Some(&first)));
        assert_eq!(done.files[0].path, "x");
        let person = Event { hook: Some("h".into()), ..simulation.event("x", Source::Person) };
        let third = process.service.submit(person).await.unwrap()[0].run.clone().unwrap();
        assert_eq!(process.service.wait(&third).await.unwrap().status, Status::Success);
        assert_eq!(of(simulation, "h").await.len(), 3);
        end(&[&process]).await;
    });
}

/// 9306 and 1426: there is no way to try again after a failure.
#[test]
fn kiro_9306_a_failure_is_repeated_with_growing_waits() {
    on_both(async |simulation| {
        let retry = Retry { count: 3, backoff_ms: 1_000, backoff_factor: 2.0 };
        simulation.set_hooks(vec![Hook { retry, ..hook("h") }]);
        simulation.script(
            |job, _| if job.attempt < 4 { SimulatedAttempt::failure(10) } else { SimulatedAttempt::success(10) },
        );
        let process = simulation.start("p");
        let id = simulation.save(&process, "x", "1").await[0].run.clone().unwrap();
        pause(simulation, 500).await;
        let waiting = process.service.run(&id.0).await.unwrap();
        assert_eq!(waiting.status, Status::Queued);
        assert_eq!(waiting.reason, "repetition 1 of 3 follows: exit 1");
        let done = process.service.wait(&id).await.unwrap();
        assert_eq!((done.status, done.attempts, done.reason.as_str()), (Status::Success, 4, ""));
        let played = simulation.log.ended.lock().unwrap().clone();
        for (pair, expected) in played.windows(2).zip([1_000, 2_000, 4_000]) {
            let waited = pair[1].began_ms - pair[0].ended_ms;
            assert!((expected * 8 / 10..=expected * 12 / 10 + 300).contains(&waited), "{waited} for {expected}");
        }
        end(&[&process]).await;
    });
}

/// 1426: what is not worth a repetition gets none, and the last failure says why.
#[test]
fn kiro_1426_repetitions_end() {
    on_both(async |simulation| {
        let retry = Retry { count: 1, backoff_ms: 100, backoff_factor: 1.0 };
        simulation.set_hooks(vec![Hook { retry, ..hook("h") }]);
        simulation.script(|_, _| SimulatedAttempt::failure(10));
        let process = simulation.start("p");
        let id = simulation.save(&process, "x", "1").await[0].run.clone().unwrap();
        let done = process.service.wait(&id).await.unwrap();
        assert_eq!((done.status, done.attempts, done.reason.as_str()), (Status::Failed, 2, "exit 1"));
        let again = simulation.report(&process, "x", Source::Editor).await.unwrap();
        assert_eq!(again[0].outcome, Outcome::Queued, "what failed is no reason not to try a new save");
        simulation.settle().await;
        end(&[&process]).await;
    });
}

/// 3178: a hook does not always run.
#[test]
fn kiro_3178_what_was_taken_in_runs_even_if_everybody_dies() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|_, _| SimulatedAttempt::success(3_000));
        let visitor = simulation.visit("shim");
        simulation.save(&visitor, "x", "1").await;
        visitor.kill();
        pause(simulation, 5_000).await;
        assert_eq!(of(simulation, "h").await[0].status, Status::Queued, "nobody works");
        for name in ["p0", "p1"] {
            let process = simulation.start(name);
            pause(simulation, 1_500).await;
            assert_eq!(of(simulation, "h").await[0].status, Status::Running);
            process.kill();
        }
        let last = simulation.start("p2");
        simulation.settle().await;
        let runs = of(simulation, "h").await;
        assert_eq!(runs.iter().map(|run| (run.status, run.attempts)).collect::<Vec<_>>(), [(Status::Success, 3)]);
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 1);
        end(&[&last]).await;
    });
}
