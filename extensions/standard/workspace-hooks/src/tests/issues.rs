//! What users of Kiro's hooks complained about, each as a test. The number is that of the issue.

use super::hooks::hook;
use super::player::Act;
use super::world::{Process, Shelf, World, workspace};
use crate::contract::{Event, ExecutionRecord, Hook, Outcome, Retry, Runs, Source, Status, Trigger};
use dispatch_contracts::ports::Clock;

/// Plays on both books, with several seeds.
pub(super) fn on_both(play: impl AsyncFn(&World)) {
    for shelf in [Shelf::Memory, Shelf::Sqlite] {
        for seed in 1..4 {
            let world = World::new(seed, shelf);
            world.sim.block_on(play(&world)).expect("nothing hangs");
            assert_eq!(*world.stage.broken.lock().unwrap(), Vec::<String>::new());
        }
    }
}

pub(super) async fn of(world: &World, hook: &str) -> Vec<ExecutionRecord> {
    world.records().await.into_iter().filter(|record| record.hook_id == hook).collect()
}

pub(super) async fn pause(world: &World, ms: u64) {
    world.clock().sleep_ms(ms).await;
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
    on_both(async |world| {
        world.set_hooks(vec![hook("a"), hook("b"), hook("c")]);
        world.play(|_, _| Act::success(60_000));
        let process = world.start("p");
        world.save(&process, "x", "1").await;
        pause(world, 5_000).await;
        assert_eq!(*world.stage.most_at_once.lock().unwrap(), 3);
        world.settle().await;
        end(&[&process]).await;
    });
}

/// 887: a hook runs minutes after its save.
#[test]
fn kiro_887_a_save_is_not_kept_waiting_by_a_long_run_of_another_file() {
    on_both(async |world| {
        world.set_hooks(vec![hook("slow")]);
        world.play(|assignment, _| Act::success(if assignment.files[0].path == "long" { 600_000 } else { 10 }));
        let process = world.start("p");
        world.save(&process, "long", "1").await;
        pause(world, 1_000).await;
        let saved_ms = world.clock().now_ms();
        world.save(&process, "short", "1").await;
        pause(world, 1_000).await;
        let played = world.stage.played.lock().unwrap().clone();
        let [short] = played.as_slice() else { panic!("{played:?}") };
        assert!(
            short.began_ms - saved_ms < 400,
            "it waits for its debounce and no more: {}",
            short.began_ms - saved_ms
        );
        world.settle().await;
        end(&[&process]).await;
    });
}

/// 703: of several hooks that fit a save only the first in the alphabet runs.
#[test]
fn kiro_703_every_hook_that_fits_runs() {
    on_both(async |world| {
        let names = ["zebra", "apple", "mango", "apple2", "0"];
        world.set_hooks(names.iter().map(|name| hook(name)).collect());
        let process = world.start("p");
        let receipts = world.save(&process, "x", "1").await;
        assert_eq!(receipts.iter().map(|receipt| receipt.hook_id.as_str()).collect::<Vec<_>>(), names);
        world.settle().await;
        for name in names {
            let runs = of(world, name).await;
            assert_eq!(runs.iter().map(|run| run.status).collect::<Vec<_>>(), [Status::Success], "{name}");
        }
        end(&[&process]).await;
    });
}

/// 1555: an event that comes while the hook runs is lost.
#[test]
fn kiro_1555_a_second_event_during_a_run_is_handled_after_it() {
    on_both(async |world| {
        world.set_hooks(vec![hook("h")]);
        world.play(|_, _| Act::success(10_000));
        let process = world.start("p");
        world.save(&process, "x", "first").await;
        pause(world, 2_000).await;
        let receipts = world.save(&process, "x", "second").await;
        assert_eq!(receipts[0].outcome, Outcome::Queued);
        let receipts = world.save(&process, "x", "third").await;
        assert_eq!(receipts[0].outcome, Outcome::Coalesced);
        world.settle().await;
        let played = world.stage.played.lock().unwrap().clone();
        let contents: Vec<_> = played.iter().map(|one| one.content.as_deref()).collect();
        assert_eq!(contents, [Some("first"), Some("third")]);
        assert!(played[1].began_ms >= played[0].ended_ms, "one file is handled once at a time");
        end(&[&process]).await;
    });
}

/// 1555, for events that are not about files: each is a fact of its own.
#[test]
fn kiro_1555_two_commits_are_two_runs_and_one_told_twice_is_one() {
    on_both(async |world| {
        world.set_hooks(vec![Hook { trigger: Trigger::GitCommit, ..hook("h") }]);
        world.play(|_, _| Act::success(5_000));
        let process = world.start("p");
        for (id, expected) in [("a", Outcome::Queued), ("b", Outcome::Queued), ("a", Outcome::Repeated)] {
            let receipts = process.desk.submit(commit(Some(id))).await.unwrap();
            assert_eq!(receipts[0].outcome, expected);
        }
        world.settle().await;
        assert_eq!(of(world, "h").await.len(), 2);
        end(&[&process]).await;
    });
}

/// 3913: every keystroke that is saved starts a run.
#[test]
fn kiro_3913_a_burst_of_saves_is_one_run_of_the_last_content() {
    on_both(async |world| {
        world.set_hooks(vec![hook("h")]);
        let process = world.start("p");
        for number in 0..20 {
            world.save(&process, "x", &number.to_string()).await;
            // The file system notices as well.
            let _ = world.report(&process, "x", Source::Watcher).await;
            pause(world, 20).await;
        }
        world.settle().await;
        let runs = of(world, "h").await;
        assert_eq!(runs.iter().map(|run| run.content_hash.as_deref()).collect::<Vec<_>>(), [Some("19")]);
        end(&[&process]).await;
    });
}

/// 3913: saves that never pause do not put a run off for ever either.
#[test]
fn kiro_3913_an_endless_burst_still_runs() {
    on_both(async |world| {
        world.set_hooks(vec![hook("h")]);
        let process = world.start("p");
        for number in 0..100 {
            world.save(&process, "x", &number.to_string()).await;
            pause(world, 100).await;
        }
        world.settle().await;
        let runs = of(world, "h").await.len();
        assert!((3..=8).contains(&runs), "ten seconds of saves make {runs} runs");
        end(&[&process]).await;
    });
}

/// 853: a hook cannot be run again by hand.
#[test]
fn kiro_853_a_run_is_repeated_by_hand_whatever_the_content() {
    on_both(async |world| {
        world.set_hooks(vec![hook("h")]);
        let process = world.start("p");
        let first = world.save(&process, "x", "1").await[0].run.clone().unwrap();
        let done = process.desk.wait(&first).await.unwrap();
        assert_eq!((done.status, done.logs.as_deref()), (Status::Success, Some("h on attempt 1")));
        let again = world.report(&process, "x", Source::Editor).await.unwrap();
        assert_eq!(again[0].outcome, Outcome::Unchanged, "saving once more is no reason");
        let second = process.desk.retry(&first).await.unwrap();
        let done = process.desk.wait(&second).await.unwrap();
        assert_eq!((done.status, done.retry_of.as_ref()), (Status::Success, Some(&first)));
        assert_eq!(done.files[0].path, "x");
        let person = Event { hook: Some("h".into()), ..world.event("x", Source::Person) };
        let third = process.desk.submit(person).await.unwrap()[0].run.clone().unwrap();
        assert_eq!(process.desk.wait(&third).await.unwrap().status, Status::Success);
        assert_eq!(of(world, "h").await.len(), 3);
        end(&[&process]).await;
    });
}

/// 9306 and 1426: there is no way to try again after a failure.
#[test]
fn kiro_9306_a_failure_is_repeated_with_growing_waits() {
    on_both(async |world| {
        let retry = Retry { count: 3, backoff_ms: 1_000, backoff_factor: 2.0 };
        world.set_hooks(vec![Hook { retry, ..hook("h") }]);
        world.play(|assignment, _| if assignment.attempt < 4 { Act::failure(10) } else { Act::success(10) });
        let process = world.start("p");
        let id = world.save(&process, "x", "1").await[0].run.clone().unwrap();
        pause(world, 500).await;
        let waiting = process.desk.run(&id.0).await.unwrap();
        assert_eq!(waiting.status, Status::Queued);
        assert_eq!(waiting.reason, "repetition 1 of 3 follows: exit 1");
        let done = process.desk.wait(&id).await.unwrap();
        assert_eq!((done.status, done.attempts, done.reason.as_str()), (Status::Success, 4, ""));
        let played = world.stage.played.lock().unwrap().clone();
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
    on_both(async |world| {
        let retry = Retry { count: 1, backoff_ms: 100, backoff_factor: 1.0 };
        world.set_hooks(vec![Hook { retry, ..hook("h") }]);
        world.play(|_, _| Act::failure(10));
        let process = world.start("p");
        let id = world.save(&process, "x", "1").await[0].run.clone().unwrap();
        let done = process.desk.wait(&id).await.unwrap();
        assert_eq!((done.status, done.attempts, done.reason.as_str()), (Status::Failed, 2, "exit 1"));
        let again = world.report(&process, "x", Source::Editor).await.unwrap();
        assert_eq!(again[0].outcome, Outcome::Queued, "what failed is no reason not to try a new save");
        world.settle().await;
        end(&[&process]).await;
    });
}

/// 3178: a hook does not always run.
#[test]
fn kiro_3178_what_was_taken_in_runs_even_if_everybody_dies() {
    on_both(async |world| {
        world.set_hooks(vec![hook("h")]);
        world.play(|_, _| Act::success(3_000));
        let visitor = world.visit("shim");
        world.save(&visitor, "x", "1").await;
        visitor.kill();
        pause(world, 5_000).await;
        assert_eq!(of(world, "h").await[0].status, Status::Queued, "nobody works");
        for name in ["p0", "p1"] {
            let process = world.start(name);
            pause(world, 1_500).await;
            assert_eq!(of(world, "h").await[0].status, Status::Running);
            process.kill();
        }
        let last = world.start("p2");
        world.settle().await;
        let runs = of(world, "h").await;
        assert_eq!(runs.iter().map(|run| (run.status, run.attempts)).collect::<Vec<_>>(), [(Status::Success, 3)]);
        assert_eq!(world.stage.played.lock().unwrap().len(), 1);
        end(&[&last]).await;
    });
}
