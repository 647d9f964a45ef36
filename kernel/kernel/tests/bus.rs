//! The bus alone: order, isolation, overflow, re-entrancy, disposal.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/test_host.rs"]
mod test_host;

use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::hook::{ErasedValue, Event, EventHandler, Filter, FilterHandler, HandlerError, Payload};
use dispatch_contracts::ports::Clock;
use dispatch_kernel::bus::{MAILBOX_LIMIT, WaitLog};
use proptest::prelude::*;
use std::future::Future;
use std::sync::{Arc, Mutex};
use test_host::{Notes, TestBus, subscriber};

const TICK: Event<u32> = Event::new("kernel/tick");
const TOCK: Event<u32> = Event::new("kernel/tock");
const WORDS: Filter<Vec<String>> = Filter::new("kernel/words");
const GATE: Filter<Vec<String>> = Filter::new("kernel/gate").fail_closed().timeout_ms(2_000);

fn on<F: Future<Output = Result<(), HandlerError>> + Send + 'static>(
    handler: impl Fn(u32) -> F + Send + Sync + 'static,
) -> EventHandler {
    Arc::new(move |payload| {
        let number = payload.typed::<u32>().unwrap();
        Box::pin(handler(*number))
    })
}

fn with<T: Payload, F: Future<Output = Result<T, HandlerError>> + Send + 'static>(
    handler: impl Fn(T) -> F + Send + Sync + 'static,
) -> FilterHandler {
    Arc::new(move |value| {
        let changing = handler(T::clone(&value.typed::<T>().unwrap()));
        Box::pin(async move { changing.await.map(ErasedValue::new) })
    })
}

fn adds(word: &'static str) -> FilterHandler {
    with(move |mut words: Vec<String>| {
        words.push(word.to_owned());
        async move { Ok(words) }
    })
}

fn failing() -> FilterHandler {
    with(|_: Vec<String>| async { Err(HandlerError("no luck".to_owned())) })
}

fn hanging() -> FilterHandler {
    with(|_: Vec<String>| std::future::pending())
}

#[test]
fn emitting_returns_before_any_handler_runs() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    let notes = seen.clone();
    test.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    test.run(async {
        test.bus.emit(&TICK, 1);
        assert!(seen.read().is_empty());
    });
    assert_eq!(seen.read(), [1]);
}

#[test]
fn a_slow_handler_delays_nobody_else() {
    let test = TestBus::new(1);
    let (clock, seen) = (test.sim.clock(), Notes::default());
    for (name, ms) in [("slow", 20_000), ("quick", 1)] {
        let (clock, notes) = (clock.clone(), seen.clone());
        test.bus.on(
            &subscriber(name, 0),
            TICK.id(),
            on(move |number| {
                let (clock, notes) = (clock.clone(), notes.clone());
                async move {
                    clock.sleep_ms(ms).await;
                    notes.note((name, number, clock.monotonic_ms()));
                    Ok(())
                }
            }),
        );
    }
    test.run(async { (1..=2).for_each(|number| test.bus.emit(&TICK, number)) });
    let expected = [("quick", 1, 1), ("quick", 2, 2), ("slow", 1, 20_000), ("slow", 2, 40_000)];
    assert_eq!(seen.read(), expected);
}

#[test]
fn an_error_a_panic_and_a_hang_are_faults_of_their_own_extension_only() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    test.bus.on(&subscriber("errs", 0), TICK.id(), on(|_| async { Err(HandlerError("disk full".to_owned())) }));
    test.bus.on(&subscriber("panics-late", 0), TICK.id(), on(|_| async { panic!("late") }));
    test.bus.on(&subscriber("panics-early", 0), TICK.id(), Arc::new(|_| panic!("early")));
    test.bus.on(&subscriber("hangs", 0), TICK.id(), on(|_| std::future::pending()));
    let notes = seen.clone();
    test.bus.on(
        &subscriber("works", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    test.run(async { test.bus.emit(&TICK, 7) });
    let mut said = test.said();
    said.sort();
    assert_eq!(
        said,
        [
            "extension `errs` in kernel/tick: disk full",
            "extension `hangs` in kernel/tick: did not answer within 30 s",
            "extension `panics-early` in kernel/tick: panicked: early",
            "extension `panics-late` in kernel/tick: panicked: late",
        ]
    );
    assert_eq!(seen.read(), [7]);
}

#[test]
fn a_handler_that_failed_gets_the_next_event() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    let notes = seen.clone();
    test.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async move { if number == 1 { panic!("once") } else { Ok(()) } }
        }),
    );
    test.run(async { (1..=3).for_each(|number| test.bus.emit(&TICK, number)) });
    assert_eq!(seen.read(), [1, 2, 3]);
}

#[test]
fn a_full_mailbox_drops_the_newest_and_says_so_once_and_in_numbers() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    let notes = seen.clone();
    test.bus.on(
        &subscriber("slow", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    let limit = u32::try_from(MAILBOX_LIMIT).unwrap();
    test.run(async { (0..limit + 5).for_each(|number| test.bus.emit(&TICK, number)) });
    assert_eq!(seen.read(), (0..limit).collect::<Vec<_>>());
    assert_eq!(
        test.said(),
        ["extension `slow` in kernel/tick: fell more than 1024 events behind; the newest were dropped"]
    );
    assert_eq!(test.faults.read()[0].kind, FaultKind::Overflow);
    assert_eq!(test.bus.dropped_events(&"slow".into()), 5);
    let logged: Vec<String> = test.log.read().into_iter().map(|record| record.message).collect();
    assert_eq!(logged, ["extension `slow` has caught up; 5 events were dropped"]);
    test.run(async { test.bus.emit(&TICK, 9) });
    assert_eq!(seen.read().last(), Some(&9), "afterwards it works again");
}

#[test]
fn filters_run_by_priority_then_rank_then_registration() {
    let test = TestBus::new(1);
    for (name, rank, priority) in [
        ("late-low", 9, 0),
        ("early-b", 1, 0),
        ("early-c", 1, 0),
        ("late-high", 9, 5),
        ("last", 0, -1),
        ("first", 3, 5),
    ] {
        test.bus.filter(&subscriber(name, rank), WORDS.id(), priority, adds(name));
    }
    let words = test.run(test.bus.apply(&WORDS, Vec::new(), &WaitLog::new())).unwrap();
    assert_eq!(words, ["first", "late-high", "early-b", "early-c", "late-low", "last"]);
}

#[test]
fn an_open_chain_skips_a_failing_handler_and_keeps_the_value_as_it_was() {
    let test = TestBus::new(1);
    let spoils: FilterHandler = with(|mut words: Vec<String>| async move {
        words.clear();
        Err(HandlerError("changed my mind".to_owned()))
    });
    let panics: FilterHandler = Arc::new(|_| panic!("early"));
    let lies: FilterHandler = Arc::new(|_| Box::pin(async { Ok(ErasedValue::new(7_u8)) }));
    for (name, handler) in
        [("a", adds("a")), ("b", spoils), ("c", panics), ("d", hanging()), ("e", lies), ("f", adds("f"))]
    {
        test.bus.filter(&subscriber(name, 0), WORDS.id(), 0, handler);
    }
    let words = test.run(test.bus.apply(&WORDS, vec!["start".to_owned()], &WaitLog::new())).unwrap();
    assert_eq!(words, ["start", "a", "f"]);
    assert_eq!(
        test.said(),
        [
            "extension `b` in kernel/words: changed my mind",
            "extension `c` in kernel/words: panicked: early",
            "extension `d` in kernel/words: did not answer within 5 s",
            "extension `e` in kernel/words: answered with a value of another type",
        ]
    );
}

#[test]
fn a_closed_chain_ends_at_the_first_failure_and_names_it() {
    for (handler, cause) in [(failing(), "no luck"), (hanging(), "did not answer within 2 s")] {
        let test = TestBus::new(1);
        let seen = Notes::default();
        let notes = seen.clone();
        test.bus.filter(&subscriber("guard", 0), GATE.id(), 0, handler);
        test.bus.filter(
            &subscriber("later", 1),
            GATE.id(),
            0,
            with(move |words: Vec<String>| {
                notes.note(());
                async move { Ok(words) }
            }),
        );
        let refused = test.run(test.bus.apply(&GATE, Vec::new(), &WaitLog::new())).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("`kernel/gate` refused to go on because extension `guard` failed: {cause}")
        );
        assert!(seen.read().is_empty(), "nobody after the failure is asked");
    }
}

#[test]
fn a_chain_says_whom_it_waited_for() {
    let test = TestBus::new(1);
    let sleeps = |ms: u64| -> FilterHandler {
        let clock = test.sim.clock();
        with(move |words: Vec<String>| {
            let clock = clock.clone();
            async move {
                clock.sleep_ms(ms).await;
                Ok(words)
            }
        })
    };
    test.bus.filter(&subscriber("quick", 0), WORDS.id(), 0, sleeps(0));
    test.bus.filter(&subscriber("slow", 0), WORDS.id(), 0, sleeps(4_200));
    test.bus.filter(&subscriber("hangs", 0), GATE.id(), 0, hanging());
    let waits = WaitLog::new();
    test.run(async {
        for _ in 0..2 {
            test.bus.apply(&WORDS, Vec::new(), &waits).await.unwrap();
        }
        test.bus.apply(&GATE, Vec::new(), &waits).await.unwrap_err();
    });
    let seen: Vec<_> =
        waits.finish().into_iter().map(|it| (it.extension.to_string(), it.place, it.ms, it.times)).collect();
    let expected =
        [("slow".to_owned(), WORDS.id().to_owned(), 8_400, 2), ("hangs".to_owned(), GATE.id().to_owned(), 2_000, 1)];
    assert_eq!(seen, expected);
}

#[test]
fn a_wait_that_is_given_up_counts_too() {
    let test = TestBus::new(1);
    test.bus.filter(&subscriber("hangs", 0), WORDS.id(), 0, hanging());
    let waits = WaitLog::new();
    test.run(async {
        let applying = std::pin::pin!(test.bus.apply(&WORDS, Vec::new(), &waits));
        let _ = futures_util::future::select(applying, test.sim.clock().sleep_ms(700)).await;
    });
    assert_eq!(waits.finish()[0].ms, 700);
    assert!(test.said().is_empty(), "who cancels does not blame");
}

#[test]
fn a_handler_may_use_the_bus() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    let (bus, notes) = (test.bus.clone(), seen.clone());
    test.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            let (bus, notes) = (bus.clone(), notes.clone());
            async move {
                bus.emit(&TOCK, number + 1);
                let words = bus.apply(&WORDS, Vec::new(), &WaitLog::new()).await.unwrap();
                notes.note(format!("words {words:?}"));
                bus.remove_extension(&"a".into());
                Ok(())
            }
        }),
    );
    let (bus, notes) = (test.bus.clone(), seen.clone());
    test.bus.on(
        &subscriber("b", 0),
        TOCK.id(),
        on(move |number| {
            notes.note(format!("tock {number}"));
            let (inner, notes) = (bus.clone(), notes.clone());
            bus.on(
                &subscriber("c", 0),
                TOCK.id(),
                on(move |number| {
                    notes.note(format!("late {number}"));
                    async { Ok(()) }
                }),
            );
            async move {
                let _ = inner.apply(&GATE, Vec::new(), &WaitLog::new()).await;
                Ok(())
            }
        }),
    );
    let bus = test.bus.clone();
    test.bus.filter(&subscriber("d", 0), WORDS.id(), 0, with(move |words: Vec<String>| {
        let bus = bus.clone();
        async move { bus.apply(&GATE, words, &WaitLog::new()).await.map_err(|error| HandlerError(error.to_string())) }
    }));
    test.bus.filter(&subscriber("e", 0), GATE.id(), 0, adds("nested"));
    test.run(async { test.bus.emit(&TICK, 1) });
    let mut entries = seen.read();
    entries.sort();
    assert_eq!(entries, ["tock 2", "words [\"nested\"]"]);
    assert_eq!(test.said(), Vec::<String>::new());
}

#[test]
fn after_disposal_nothing_that_was_queued_is_delivered() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    let notes = seen.clone();
    let registration = test.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    test.run(async {
        test.bus.emit(&TICK, 1);
        registration.dispose();
        registration.dispose();
        test.bus.emit(&TICK, 2);
    });
    assert!(seen.read().is_empty());
}

#[test]
fn a_handler_that_disposes_itself_finishes_and_is_not_called_again() {
    let test = TestBus::new(1);
    let (clock, seen) = (test.sim.clock(), Notes::default());
    let own: Arc<Mutex<Option<dispatch_contracts::host::Registration>>> = Arc::default();
    let (notes, mine) = (seen.clone(), Arc::clone(&own));
    let registration = test.bus.on(
        &subscriber("once", 0),
        TICK.id(),
        on(move |number| {
            let (clock, notes, mine) = (clock.clone(), notes.clone(), Arc::clone(&mine));
            async move {
                if let Some(registration) = mine.lock().unwrap().take() {
                    registration.dispose();
                }
                clock.sleep_ms(10).await;
                notes.note(number);
                Ok(())
            }
        }),
    );
    *own.lock().unwrap() = Some(registration);
    test.run(async { (1..=3).for_each(|number| test.bus.emit(&TICK, number)) });
    assert_eq!(seen.read(), [1]);
}

#[test]
fn a_filter_that_is_disposed_while_the_chain_runs_is_skipped() {
    let test = TestBus::new(1);
    let bus = test.bus.clone();
    test.bus.filter(
        &subscriber("a", 0),
        WORDS.id(),
        0,
        with(move |words: Vec<String>| {
            bus.remove_extension(&"b".into());
            async move { Ok(words) }
        }),
    );
    test.bus.filter(&subscriber("b", 1), WORDS.id(), 0, adds("b"));
    test.bus.filter(&subscriber("c", 2), WORDS.id(), 0, adds("c"));
    let words = test.run(test.bus.apply(&WORDS, Vec::new(), &WaitLog::new())).unwrap();
    assert_eq!(words, ["c"]);
}

#[test]
fn what_a_dropped_handler_does_in_its_destructor_cannot_block_or_break_the_bus() {
    struct EmitsOnDrop(dispatch_kernel::bus::Bus);
    impl Drop for EmitsOnDrop {
        fn drop(&mut self) {
            self.0.emit(&TOCK, 1);
            panic!("and it fails");
        }
    }
    let test = TestBus::new(1);
    let seen = Notes::default();
    let notes = seen.clone();
    test.bus.on(
        &subscriber("b", 0),
        TOCK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    let emits_on_drop = EmitsOnDrop(test.bus.clone());
    test.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |_| {
            let _ = &emits_on_drop;
            async { Ok(()) }
        }),
    );
    test.run(async { test.bus.remove_extension(&"a".into()) });
    assert_eq!(seen.read(), [1]);
}

#[test]
fn an_observer_sees_every_event_in_order_as_json_and_its_panic_is_its_own() {
    let test = TestBus::new(1);
    let seen = Notes::default();
    let notes = seen.clone();
    test.bus.on_any(&subscriber("bad", 0), Arc::new(|_, _| panic!("blind")));
    test.bus.on_any(
        &subscriber("good", 0),
        Arc::new(move |hook, payload| {
            notes.note(format!("{hook} {}", payload.to_json().unwrap()));
        }),
    );
    test.run(async {
        test.bus.emit(&TICK, 1);
        test.bus.emit(&TOCK, 2);
    });
    assert_eq!(seen.read(), ["kernel/tick 1", "kernel/tock 2"]);
    assert_eq!(
        test.said(),
        ["extension `bad` in kernel/tick: panicked: blind", "extension `bad` in kernel/tock: panicked: blind"]
    );
}

proptest! {
    #[test]
    fn no_interleaving_loses_or_reorders_the_events_of_one_subscriber(
        seed in any::<u64>(),
        pauses_ms in proptest::collection::vec(0_u64..4, 1..40),
        pace in proptest::collection::vec(0_u64..4, 1..8),
    ) {
        let test = TestBus::new(seed);
        let clock = test.sim.clock();
        let all_seen: Vec<Notes<u32>> = pace.iter().map(|ms| {
            let (clock, notes, ms) = (clock.clone(), Notes::default(), *ms);
            let seen = notes.clone();
            test.bus.on(&subscriber("a", 0), TICK.id(), on(move |number| {
                let (clock, notes) = (clock.clone(), notes.clone());
                async move {
                    if ms > 0 { clock.sleep_ms(ms).await; }
                    notes.note(number);
                    if number % 3 == 0 { Err(HandlerError("every third".to_owned())) } else { Ok(()) }
                }
            }));
            seen
        }).collect();
        test.run(async {
            for (number, pause_ms) in (0_u32..).zip(&pauses_ms) {
                test.bus.emit(&TICK, number);
                if *pause_ms > 0 { clock.sleep_ms(*pause_ms).await; }
            }
        });
        let sent: Vec<u32> = (0..u32::try_from(pauses_ms.len()).unwrap()).collect();
        for seen in all_seen {
            prop_assert_eq!(seen.read(), sent.clone());
        }
    }
}
