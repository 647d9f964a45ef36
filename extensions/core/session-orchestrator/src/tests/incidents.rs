//! Public incidents of other queues, played as named tests.

use super::check::check;
use super::simulation::{Database, Simulation};
use crate::contract::{DispatchState, DispatchView, Mode, Submission};
use dispatch_contracts::ports::Clock;
use std::sync::atomic::Ordering;

fn say(text: &str, mode: Mode) -> Submission {
    Submission { session: "s".into(), text: text.into(), mode, ..Submission::default() }
}

async fn view(simulation: &Simulation, id: &crate::contract::DispatchId) -> DispatchView {
    simulation.store.dispatch(id).await.unwrap()
}

fn on_both(play: impl Fn(Simulation)) {
    for database in [Database::Memory, Database::File] {
        for seed in 1..6 {
            play(Simulation::new(seed, database));
        }
    }
}

/// openclaw 127211: messages behind a healthy turn of five minutes were dropped by a watchdog.
#[test]
fn waiting_behind_a_long_healthy_turn_never_ages_a_message() {
    on_both(|mut simulation| {
        simulation.pace_ms = 400_000;
        simulation
            .sim
            .block_on(async {
                let process = simulation.start("p").await;
                let mut ids = Vec::new();
                for text in ["a", "b", "c"] {
                    ids.push(simulation.submit(&process, say(text, Mode::Followup)).await.unwrap());
                }
                for id in &ids {
                    while !view(&simulation, id).await.state.is_over() {
                        simulation.clock().sleep_ms(1_000).await;
                    }
                    let view = view(&simulation, id).await;
                    assert_eq!((view.state, view.attempts), (DispatchState::Done, 0));
                }
                check(&simulation).await;
                process.kill();
            })
            .unwrap();
    });
}

/// openclaw 135880: ten queued messages were gone after a SIGKILL.
#[test]
fn ten_queued_and_a_sigkill_lose_nothing() {
    on_both(|simulation| {
        simulation
            .sim
            .block_on(async {
                let process = simulation.start("p").await;
                for number in 0..10 {
                    simulation.submit(&process, say(&format!("m{number}"), Mode::Followup)).await.unwrap();
                }
                process.kill();
                let next = simulation.start("q").await;
                simulation.settle().await;
                check(&simulation).await;
                next.kill();
            })
            .unwrap();
    });
}

/// openclaw 122465: one message that crashed its process stopped the lane for good.
#[test]
fn a_poison_head_is_parked_and_the_lane_moves() {
    on_both(|mut simulation| {
        simulation.pace_ms = 1;
        simulation
            .sim
            .block_on(async {
                let mut process = simulation.start("p0").await;
                let poison = simulation.submit(&process, say("poison", Mode::Followup)).await.unwrap();
                let healthy = simulation.submit(&process, say("healthy", Mode::Followup)).await.unwrap();
                // Each process dies as soon as its turn has begun.
                for born in 1..100 {
                    while view(&simulation, &poison).await.state == DispatchState::Pending {
                        simulation.clock().sleep_ms(1).await;
                    }
                    if view(&simulation, &poison).await.state != DispatchState::Running {
                        break;
                    }
                    process.kill();
                    process = simulation.start(&format!("p{born}")).await;
                    simulation.clock().sleep_ms(20).await;
                }
                simulation.settle().await;
                let poison = view(&simulation, &poison).await;
                assert!(poison.state.is_over());
                assert_eq!(view(&simulation, &healthy).await.state, DispatchState::Done);
                check(&simulation).await;
                process.kill();
            })
            .unwrap();
    });
}

/// What was set aside runs when somebody lets it wait again, once.
#[test]
fn a_parked_message_that_is_retried_runs() {
    on_both(|mut simulation| {
        simulation.pace_ms = 20_000;
        simulation
            .sim
            .block_on(async {
                let mut process = simulation.start("p0").await;
                let poison = simulation.submit(&process, say("poison", Mode::Followup)).await.unwrap();
                // Each process dies as soon as its turn has begun.
                for born in 1..10_000 {
                    match view(&simulation, &poison).await.state {
                        DispatchState::Parked => break,
                        DispatchState::Running => {
                            process.kill();
                            process = simulation.start(&format!("p{born}")).await;
                            simulation.clock().sleep_ms(50).await;
                        }
                        _ => simulation.clock().sleep_ms(1).await,
                    }
                }
                assert_eq!(view(&simulation, &poison).await.state, DispatchState::Parked);
                let again = simulation.store.retry(&poison, simulation.clock().now_ms()).await.unwrap();
                assert_eq!((again.state, again.attempts), (DispatchState::Pending, 0));
                simulation.settle().await;
                let over = view(&simulation, &poison).await;
                assert_eq!(over.state, DispatchState::Done, "{over:?}");
                check(&simulation).await;
                process.kill();
            })
            .unwrap();
    });
}

/// openclaw 148731: a follow-up that waited switched steering off.
#[test]
fn a_steer_behind_a_followup_still_steers() {
    on_both(|mut simulation| {
        simulation.pace_ms = 5_000;
        simulation
            .sim
            .block_on(async {
                let process = simulation.start("p").await;
                let first = simulation.submit(&process, say("first", Mode::Followup)).await.unwrap();
                while view(&simulation, &first).await.state == DispatchState::Pending {
                    simulation.clock().sleep_ms(1).await;
                }
                let later = simulation.submit(&process, say("later", Mode::Followup)).await.unwrap();
                let steer = simulation.submit(&process, say("steer", Mode::Steer)).await.unwrap();
                simulation.settle().await;
                let (first, later, steer) =
                    (view(&simulation, &first).await, view(&simulation, &later).await, view(&simulation, &steer).await);
                assert_eq!(steer.turn, first.turn, "it entered the turn that ran when it came");
                assert_ne!(later.turn, first.turn);
                check(&simulation).await;
                process.kill();
            })
            .unwrap();
    });
}

/// openclaw 50145, 74093: an interrupt that waited behind the run, or sent the old answer again.
#[test]
fn an_interrupt_stops_the_turn_supersedes_what_waits_and_comes_next() {
    on_both(|mut simulation| {
        simulation.pace_ms = 100_000;
        simulation
            .sim
            .block_on(async {
                let process = simulation.start("p").await;
                let running = simulation.submit(&process, say("running", Mode::Followup)).await.unwrap();
                while view(&simulation, &running).await.state == DispatchState::Pending {
                    simulation.clock().sleep_ms(1).await;
                }
                let waiting = simulation.submit(&process, say("waiting", Mode::Followup)).await.unwrap();
                let asked_at = simulation.clock().now_ms();
                let reset = simulation.submit(&process, say("reset", Mode::Interrupt)).await.unwrap();
                while view(&simulation, &reset).await.state == DispatchState::Pending {
                    simulation.clock().sleep_ms(10).await;
                }
                assert!(simulation.clock().now_ms() - asked_at < 10_000, "it does not wait for the run");
                let waiting = view(&simulation, &waiting).await;
                assert_eq!(waiting.state, DispatchState::Superseded);
                assert!(waiting.reason.contains(reset.as_str()), "{waiting:?}");
                simulation.settle().await;
                check(&simulation).await;
                process.kill();
            })
            .unwrap();
    });
}

/// A worker that was stopped past its lease wakes up and tries to go on.
#[test]
fn a_worker_that_slept_past_its_lease_is_fenced_out() {
    on_both(|mut simulation| {
        simulation.pace_ms = 2_000;
        simulation
            .sim
            .block_on(async {
                let sleeper = simulation.start("sleeper").await;
                for number in 0..3 {
                    simulation.submit(&sleeper, say(&format!("m{number}"), Mode::Followup)).await.unwrap();
                }
                simulation.clock().sleep_ms(50).await;
                sleeper.frozen.store(true, Ordering::Relaxed);
                let other = simulation.start("other").await;
                simulation.clock().sleep_ms(60_000).await;
                sleeper.frozen.store(false, Ordering::Relaxed);
                simulation.settle().await;
                check(&simulation).await;
                sleeper.kill();
                other.kill();
            })
            .unwrap();
    });
}

/// A planned restart: the queue is handed on and no attempt is counted.
#[test]
fn a_planned_restart_counts_no_attempt() {
    on_both(|simulation| {
        simulation
            .sim
            .block_on(async {
                let process = simulation.start("p").await;
                for number in 0..5 {
                    simulation.submit(&process, say(&format!("m{number}"), Mode::Followup)).await.unwrap();
                }
                process.scheduler.drain().await;
                let next = simulation.start("q").await;
                simulation.settle().await;
                let receipts = simulation.receipts.lock().unwrap().clone();
                for receipt in receipts {
                    assert_eq!(view(&simulation, &receipt.dispatch).await.attempts, 0);
                }
                check(&simulation).await;
                next.kill();
            })
            .unwrap();
    });
}

/// The same message twice, also after a restart, is one dispatch.
#[test]
fn a_sender_that_repeats_itself_gets_the_same_dispatch() {
    on_both(|simulation| {
        simulation
            .sim
            .block_on(async {
                let named = || Submission { id: Some("mail-7".into()), ..say("hello", Mode::Followup) };
                let process = simulation.start("p").await;
                let first = simulation.submit(&process, named()).await.unwrap();
                process.kill();
                let next = simulation.start("q").await;
                assert_eq!(simulation.submit(&next, named()).await.unwrap(), first);
                simulation.settle().await;
                check(&simulation).await;
                next.kill();
            })
            .unwrap();
    });
}

/// openclaw 24148: two targets never share a turn, and a burst of a thousand loses nothing.
#[test]
fn collected_messages_share_a_turn_only_with_their_own_target() {
    on_both(|simulation| {
        simulation
            .sim
            .block_on(async {
                let process = simulation.start("p").await;
                let to = |text: &str, target: u64| Submission {
                    delivery: serde_json::json!({ "to": target }),
                    ..say(text, Mode::Collect)
                };
                let a = simulation.submit(&process, to("a", 1)).await.unwrap();
                let b = simulation.submit(&process, to("b", 1)).await.unwrap();
                let c = simulation.submit(&process, to("c", 2)).await.unwrap();
                simulation.settle().await;
                let (a, b, c) = (view(&simulation, &a).await, view(&simulation, &b).await, view(&simulation, &c).await);
                assert_eq!(a.turn, b.turn);
                assert_ne!(b.turn, c.turn);
                check(&simulation).await;
                process.kill();
            })
            .unwrap();
    });
}

/// Work of one project ran in another: any process took what a dead one had left.
#[test]
fn a_message_waits_for_a_process_of_its_own_workspace() {
    on_both(|simulation| {
        simulation
            .sim
            .block_on(async {
                let here = simulation.start_in("here", "/simulated/here").await;
                let first = simulation.submit(&here, say("first", Mode::Followup)).await.unwrap();
                let second = simulation.submit(&here, say("second", Mode::Followup)).await.unwrap();
                here.kill();
                let there = simulation.start_in("there", "/simulated/there").await;
                let third = simulation.submit(&there, say("third", Mode::Followup)).await.unwrap();
                simulation.clock().sleep_ms(60_000).await;
                for waits in [&second, &third] {
                    assert_eq!(view(&simulation, waits).await.state, DispatchState::Pending, "behind the first");
                }
                let back = simulation.start_in("back", "/simulated/here").await;
                simulation.settle().await;
                for ended in [&first, &second, &third] {
                    assert_eq!(view(&simulation, ended).await.state, DispatchState::Done);
                }
                check(&simulation).await;
                there.kill();
                back.kill();
            })
            .unwrap();
    });
}
