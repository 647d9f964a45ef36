//! Limits, cancelling, time tables, and what happens to runs whose hook or whose program goes.

use super::hooks::hook;
use super::issues::{end, of, on_both, pause};
use super::simulated_executor::SimulatedAttempt;
use super::simulation::{CAP, workspace};
use crate::contract::{
    Budget, Dormant, Hook, HookLimits, HookSet, Problem, RateLimit, RunQuery, Runs, RunsError, Source, Status, Trigger,
    Usage,
};
use crate::engine::ending::MAX_INTERRUPTIONS;
use dispatch_contracts::ports::Clock;
use futures_util::StreamExt;
use std::sync::Arc;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

#[test]
fn a_rate_limit_lets_the_rest_wait() {
    on_both(async |simulation| {
        let rate_limit = Some(RateLimit { runs: 2, per_ms: 60_000 });
        simulation.set_hooks(vec![Hook { rate_limit, ..hook("h") }]);
        let process = simulation.start("p");
        for file in ["a", "b", "c", "d", "e"] {
            simulation.save(&process, file, "1").await;
        }
        pause(simulation, 5_000).await;
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 2);
        let waiting =
            process.service.list(RunQuery { status: vec![Status::Queued], ..RunQuery::default() }).await.unwrap();
        assert_eq!(waiting.len(), 3);
        assert!(waiting.iter().any(|run| run.reason == "its rate limit (`rateLimit`) is reached"), "{waiting:#?}");
        pause(simulation, 60_000).await;
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 4);
        simulation.settle().await;
        let begun: Vec<u64> = simulation.log.ended.lock().unwrap().iter().map(|one| one.began_ms).collect();
        assert!(begun.windows(3).all(|three| three[2] - three[0] >= 60_000), "{begun:?}");
        end(&[&process]).await;
    });
}

#[test]
fn a_spent_budget_waits_for_the_next_day() {
    on_both(async |simulation| {
        let budget = Budget { tokens_per_day: Some(100), micro_usd_per_day: None };
        simulation.set_hooks(vec![Hook { budget, concurrency: 1, ..hook("h") }]);
        simulation.script(|_, _| SimulatedAttempt {
            usage: Usage { tokens: 60, micro_usd: 1 },
            ..SimulatedAttempt::success(10)
        });
        let process = simulation.start("p");
        for file in ["a", "b", "c"] {
            simulation.save(&process, file, "1").await;
        }
        pause(simulation, 10_000).await;
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 2);
        let reason = of(simulation, "h").await.pop().unwrap().reason;
        assert!(reason.contains("budget"), "{reason}");
        process.kill();
        pause(simulation, DAY_MS - simulation.clock().now_ms() % DAY_MS + 1_000).await;
        let next = simulation.start("q");
        simulation.settle().await;
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 3);
        end(&[&next]).await;
    });
}

#[test]
fn too_many_waiting_runs_are_refused_as_a_whole() {
    on_both(async |simulation| {
        let hooks = vec![Arc::new(hook("a")), Arc::new(hook("b"))];
        simulation.set(HookSet { hooks, limits: HookLimits { concurrency: 1, queued: 3 }, ..HookSet::default() });
        let visitor = simulation.visit("shim");
        simulation.save(&visitor, "x", "1").await;
        simulation.write("y", "1");
        let refused = simulation.report(&visitor, "y", Source::Editor).await;
        assert_eq!(refused, Err(RunsError::Full { waiting: 3 }));
        assert_eq!(simulation.records().await.len(), 2, "nothing of the event is left behind");
        simulation.save(&visitor, "x", "2").await;
        end(&[&visitor]).await;
    });
}

#[test]
fn a_run_is_taken_back_whichever_process_runs_it() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|_, _| SimulatedAttempt::success(600_000));
        let (runner, other) = (simulation.start("runner"), simulation.visit("other"));
        let going = simulation.save(&other, "x", "1").await[0].run.clone().unwrap();
        pause(simulation, 2_000).await;
        let waiting = simulation.save(&other, "x", "2").await[0].run.clone().unwrap();
        assert_eq!(other.service.cancel(&waiting).await.unwrap().status, Status::Canceled);
        let asked_ms = simulation.clock().now_ms();
        assert_eq!(other.service.cancel(&going).await.unwrap().status, Status::Running, "it is asked to stop");
        assert_eq!(other.service.wait(&going).await.unwrap().status, Status::Canceled);
        let played = simulation.log.ended.lock().unwrap().clone();
        assert!(played[0].ended_ms - asked_ms <= 400, "{} ms", played[0].ended_ms - asked_ms);
        let refused = other.service.cancel(&going).await.unwrap_err();
        assert_eq!(refused.to_string(), "the run is over: canceled");
        end(&[&runner, &other]).await;
    });
}

#[test]
fn a_time_table_starts_once_however_many_processes_keep_it() {
    on_both(async |simulation| {
        let nightly = Hook { trigger: Trigger::Schedule, schedule: Some("* * * * *".into()), ..hook("h") };
        simulation.set_hooks(vec![nightly]);
        let (first, second) = (simulation.start("p"), simulation.start("q"));
        pause(simulation, 3 * 60_000).await;
        assert_eq!(of(simulation, "h").await.len(), 3);
        end(&[&first, &second]).await;
        pause(simulation, 10 * 60_000).await;
        let third = simulation.start("r");
        pause(simulation, 10_000).await;
        assert!(of(simulation, "h").await.len() <= 4, "what nobody was there for is not made up for");
        simulation.settle().await;
        end(&[&third]).await;
    });
}

#[test]
fn runs_of_a_hook_that_goes_are_canceled_and_those_of_a_broken_file_wait() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![Hook { concurrency: 1, ..hook("h") }]);
        simulation.script(|_, _| SimulatedAttempt::success(10_000));
        let process = simulation.start("p");
        for file in ["a", "b"] {
            simulation.save(&process, file, "1").await;
        }
        pause(simulation, 2_000).await;
        let problem = Problem {
            file: "hooks.json".into(),
            line: 1,
            column: 1,
            pointer: String::new(),
            rule: "syntax".into(),
            message: "it cannot be read".into(),
            hint: None,
        };
        simulation.set(HookSet { problems: vec![problem], ..HookSet::default() });
        pause(simulation, 2_000).await;
        assert_eq!(of(simulation, "h").await[1].status, Status::Queued, "a slip of the pen removes nothing");
        let dormant =
            vec![Dormant { hook_id: "h".into(), reason: "nobody approved it".into(), waits_for_approval: true }];
        simulation.set(HookSet { dormant, ..HookSet::default() });
        pause(simulation, 2_000).await;
        let second = of(simulation, "h").await.pop().unwrap();
        assert_eq!((second.status, second.reason.as_str()), (Status::Canceled, "nobody approved it"));
        let refused = process.service.retry(&second.id).await.unwrap_err();
        assert_eq!(refused.to_string(), "hook `h` does not run: nobody approved it");
        simulation.settle().await;
        end(&[&process]).await;
    });
}

#[test]
fn a_program_that_ends_gives_its_runs_back() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|job, _| SimulatedAttempt::success(if job.attempt == 1 { 600_000 } else { 10 }));
        let process = simulation.start("p");
        simulation.save(&process, "x", "1").await;
        pause(simulation, 1_000).await;
        process.service.drain().await;
        let waiting = of(simulation, "h").await.pop().unwrap();
        assert_eq!(waiting.status, Status::Queued);
        assert!(waiting.reason.contains("the program ended"), "{}", waiting.reason);
        assert!(simulation.report(&process, "x", Source::Editor).await.is_err());
        process.kill();
        let next = simulation.start("q");
        simulation.settle().await;
        let done = of(simulation, "h").await.pop().unwrap();
        assert_eq!((done.status, done.attempts), (Status::Success, 2));
        end(&[&next]).await;
    });
}

#[test]
fn an_end_that_cannot_be_stored_is_stored_later() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        let process = simulation.start("p");
        for number in 0..30 {
            simulation.fails.store(true, std::sync::atomic::Ordering::Relaxed);
            simulation.write("x", &number.to_string());
            while simulation.report(&process, "x", Source::Editor).await.is_err() {}
            pause(simulation, 700).await;
        }
        simulation.settle().await;
        let runs = of(simulation, "h").await;
        assert!(runs.iter().all(|run| run.status == Status::Success && run.attempts == 1), "{runs:#?}");
        end(&[&process]).await;
    });
}

#[test]
fn whoever_was_taken_for_dead_has_no_say_about_what_was_taken_over() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|job, _| SimulatedAttempt::success(if job.attempt == 1 { 5_000 } else { 20_000 }));
        let lost = simulation.start("lost");
        let id = simulation.save(&lost, "x", "1").await[0].run.clone().unwrap();
        pause(simulation, 1_000).await;
        lost.presume_dead();
        let next = simulation.start("next");
        pause(simulation, 10_000).await;
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 1, "the first attempt has ended");
        assert_eq!(next.service.run(&id.0).await.unwrap().status, Status::Running, "and the second has not");
        let done = next.service.wait(&id).await.unwrap();
        assert_eq!((done.status, done.attempts), (Status::Success, 2));
        assert_eq!(done.logs.as_deref(), Some("h on attempt 2"));
        end(&[&lost, &next]).await;
    });
}

#[test]
fn a_run_that_always_kills_its_process_is_given_up() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|_, _| SimulatedAttempt::success(10_000));
        let visitor = simulation.visit("shim");
        let id = simulation.save(&visitor, "x", "1").await[0].run.clone().unwrap();
        for number in 0..MAX_INTERRUPTIONS {
            let process = simulation.start(&format!("p{number}"));
            pause(simulation, 3_000).await;
            process.kill();
        }
        let last = simulation.start("last");
        simulation.settle().await;
        let run = visitor.service.run(&id.0).await.unwrap();
        assert_eq!((run.status, run.attempts), (Status::Failed, MAX_INTERRUPTIONS));
        assert!(run.reason.starts_with("interrupted 10 times"), "{}", run.reason);
        end(&[&last, &visitor]).await;
    });
}

#[test]
fn news_of_all_processes_reaches_a_follower_in_order() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("h")]);
        simulation.script(|_, _| SimulatedAttempt::success(1_000));
        let (runner, follower) = (simulation.start("runner"), simulation.visit("follower"));
        let mut near = runner.service.news(&workspace()).await.unwrap();
        let mut far = follower.service.news(&workspace()).await.unwrap();
        simulation.save(&runner, "x", "1").await;
        simulation.settle().await;
        for (news, exact) in [(&mut near, true), (&mut far, false)] {
            let mut states = Vec::new();
            while states.last() != Some(&Status::Success) {
                let record = news.next().await.unwrap();
                assert_eq!(record.logs.is_some(), record.status == Status::Success);
                states.push(record.status);
            }
            let all = [Status::Queued, Status::Running, Status::Success];
            assert!(if exact { states == all } else { all.ends_with(&states) }, "{states:?}");
        }
        let metrics = runner.service.metrics(&workspace()).await.unwrap();
        assert_eq!((metrics.active_executions, metrics.queue_length), (0, 0));
        assert_eq!((metrics.succeeded, metrics.failed), (1, 0));
        assert!((1_000..2_000).contains(&metrics.average_latency_ms), "{metrics:?}");
        end(&[&runner, &follower]).await;
    });
}

#[test]
fn runs_are_found_by_what_they_say_and_by_the_start_of_their_name() {
    on_both(async |simulation| {
        simulation.set_hooks(vec![hook("lint"), hook("test")]);
        let process = simulation.start("p");
        for file in ["src/one.rs", "src/100%.rs"] {
            simulation.save(&process, file, "1").await;
        }
        simulation.settle().await;
        let count = async |text: &str| {
            let query = RunQuery { text: Some(text.to_owned()), ..RunQuery::default() };
            process.service.list(query).await.unwrap().len()
        };
        assert_eq!(count("LINT on attempt").await, 2, "what it printed");
        assert_eq!(count("one.rs").await, 2, "its files");
        assert_eq!(count("100%").await, 2, "a sign that ports something to the database");
        assert_eq!(count("onDidSave").await, 0, "not how it is stored");
        let query = RunQuery { hook: Some("test".into()), limit: Some(1), ..RunQuery::default() };
        assert_eq!(process.service.list(query).await.unwrap()[0].files[0].path, "src/100%.rs", "the newest first");
        let some = RunQuery { workspace: Some("/elsewhere".into()), ..RunQuery::default() };
        assert_eq!(process.service.list(some).await.unwrap(), []);
        assert!(matches!(process.service.run("id").await, Err(RunsError::Refused(_))), "several begin so");
        assert!(matches!(process.service.run("x").await, Err(RunsError::Unknown { .. })));
        assert_eq!(process.service.run("id-1").await.unwrap().id.0, "id-1");
        end(&[&process]).await;
    });
}

#[test]
fn no_history_exceeds_the_cap_of_all_hooks() {
    on_both(async |simulation| {
        simulation.set_hooks((0..10).map(|number| hook(&format!("h{number}"))).collect());
        simulation.script(|_, _| SimulatedAttempt::success(500));
        let (first, second) = (simulation.start("p"), simulation.start("q"));
        for number in 0..10 {
            simulation.save(&first, &format!("f{number}"), "1").await;
        }
        simulation.settle().await;
        assert_eq!(*simulation.log.most_at_once.lock().unwrap(), CAP as usize);
        assert_eq!(simulation.log.ended.lock().unwrap().len(), 100);
        end(&[&first, &second]).await;
    });
}
