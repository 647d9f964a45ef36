//! The bus alone: order, isolation, overflow, re-entrancy, disposal.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/rig.rs"]
mod rig;

use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::hook::{ErasedValue, Event, EventHandler, Filter, FilterHandler, HandlerError, Payload};
use dispatch_contracts::ports::Clock;
use dispatch_kernel::bus::{MAILBOX_LIMIT, WaitLog};
use proptest::prelude::*;
use rig::{BusRig, Diary, subscriber};
use std::future::Future;
use std::sync::{Arc, Mutex};

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
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let notes = seen.clone();
    rig.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    rig.run(async {
        rig.bus.emit(&TICK, 1);
        assert!(seen.read().is_empty());
    });
    assert_eq!(seen.read(), [1]);
}

#[test]
fn a_slow_handler_delays_nobody_else() {
    let rig = BusRig::new(1);
    let (clock, seen) = (rig.sim.clock(), Diary::default());
    for (name, ms) in [("slow", 20_000), ("quick", 1)] {
        let (clock, notes) = (clock.clone(), seen.clone());
        rig.bus.on(
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
    rig.run(async { (1..=2).for_each(|number| rig.bus.emit(&TICK, number)) });
    let expected = [("quick", 1, 1), ("quick", 2, 2), ("slow", 1, 20_000), ("slow", 2, 40_000)];
    assert_eq!(seen.read(), expected);
}

#[test]
fn an_error_a_panic_and_a_hang_are_faults_of_their_own_extension_only() {
    let rig = BusRig::new(1);
    let seen = Diary::default();
    rig.bus.on(&subscriber("errs", 0), TICK.id(), on(|_| async { Err(HandlerError("disk full".to_owned())) }));
    rig.bus.on(&subscriber("panics-late", 0), TICK.id(), on(|_| async { panic!("late") }));
    rig.bus.on(&subscriber("panics-early", 0), TICK.id(), Arc::new(|_| panic!("early")));
    rig.bus.on(&subscriber("hangs", 0), TICK.id(), on(|_| std::future::pending()));
    let notes = seen.clone();
    rig.bus.on(
        &subscriber("works", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    rig.run(async { rig.bus.emit(&TICK, 7) });
    let mut said = rig.said();
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
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let notes = seen.clone();
    rig.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async move { if number == 1 { panic!("once") } else { Ok(()) } }
        }),
    );
    rig.run(async { (1..=3).for_each(|number| rig.bus.emit(&TICK, number)) });
    assert_eq!(seen.read(), [1, 2, 3]);
}

#[test]
fn a_full_mailbox_drops_the_newest_and_says_so_once_and_in_numbers() {
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let notes = seen.clone();
    rig.bus.on(
        &subscriber("slow", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    let limit = u32::try_from(MAILBOX_LIMIT).unwrap();
    rig.run(async { (0..limit + 5).for_each(|number| rig.bus.emit(&TICK, number)) });
    assert_eq!(seen.read(), (0..limit).collect::<Vec<_>>());
    assert_eq!(
        rig.said(),
        ["extension `slow` in kernel/tick: fell more than 1024 events behind; the newest were dropped"]
    );
    assert_eq!(rig.faults.read()[0].kind, FaultKind::Overflow);
    assert_eq!(rig.bus.dropped_events(&"slow".into()), 5);
    let logged: Vec<String> = rig.log.read().into_iter().map(|record| record.message).collect();
    assert_eq!(logged, ["extension `slow` has caught up; 5 events were dropped"]);
    rig.run(async { rig.bus.emit(&TICK, 9) });
    assert_eq!(seen.read().last(), Some(&9), "afterwards it works again");
}

#[test]
fn filters_run_by_priority_then_rank_then_registration() {
    let rig = BusRig::new(1);
    for (name, rank, priority) in [
        ("late-low", 9, 0),
        ("early-b", 1, 0),
        ("early-c", 1, 0),
        ("late-high", 9, 5),
        ("last", 0, -1),
        ("first", 3, 5),
    ] {
        rig.bus.filter(&subscriber(name, rank), WORDS.id(), priority, adds(name));
    }
    let words = rig.run(rig.bus.apply(&WORDS, Vec::new(), &WaitLog::new())).unwrap();
    assert_eq!(words, ["first", "late-high", "early-b", "early-c", "late-low", "last"]);
}

#[test]
fn an_open_chain_skips_a_failing_handler_and_keeps_the_value_as_it_was() {
    let rig = BusRig::new(1);
    let spoils: FilterHandler = with(|mut words: Vec<String>| async move {
        words.clear();
        Err(HandlerError("changed my mind".to_owned()))
    });
    let panics: FilterHandler = Arc::new(|_| panic!("early"));
    let lies: FilterHandler = Arc::new(|_| Box::pin(async { Ok(ErasedValue::new(7_u8)) }));
    for (name, handler) in
        [("a", adds("a")), ("b", spoils), ("c", panics), ("d", hanging()), ("e", lies), ("f", adds("f"))]
    {
        rig.bus.filter(&subscriber(name, 0), WORDS.id(), 0, handler);
    }
    let words = rig.run(rig.bus.apply(&WORDS, vec!["start".to_owned()], &WaitLog::new())).unwrap();
    assert_eq!(words, ["start", "a", "f"]);
    assert_eq!(
        rig.said(),
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
        let rig = BusRig::new(1);
        let seen = Diary::default();
        let notes = seen.clone();
        rig.bus.filter(&subscriber("guard", 0), GATE.id(), 0, handler);
        rig.bus.filter(
            &subscriber("later", 1),
            GATE.id(),
            0,
            with(move |words: Vec<String>| {
                notes.note(());
                async move { Ok(words) }
            }),
        );
        let refused = rig.run(rig.bus.apply(&GATE, Vec::new(), &WaitLog::new())).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("`kernel/gate` refused to go on because extension `guard` failed: {cause}")
        );
        assert!(seen.read().is_empty(), "nobody after the failure is asked");
    }
}

#[test]
fn a_chain_says_whom_it_waited_for() {
    let rig = BusRig::new(1);
    let sleeps = |ms: u64| -> FilterHandler {
        let clock = rig.sim.clock();
        with(move |words: Vec<String>| {
            let clock = clock.clone();
            async move {
                clock.sleep_ms(ms).await;
                Ok(words)
            }
        })
    };
    rig.bus.filter(&subscriber("quick", 0), WORDS.id(), 0, sleeps(0));
    rig.bus.filter(&subscriber("slow", 0), WORDS.id(), 0, sleeps(4_200));
    rig.bus.filter(&subscriber("hangs", 0), GATE.id(), 0, hanging());
    let waits = WaitLog::new();
    rig.run(async {
        for _ in 0..2 {
            rig.bus.apply(&WORDS, Vec::new(), &waits).await.unwrap();
        }
        rig.bus.apply(&GATE, Vec::new(), &waits).await.unwrap_err();
    });
    let seen: Vec<_> =
        waits.finish().into_iter().map(|it| (it.extension.to_string(), it.place, it.ms, it.times)).collect();
    let expected =
        [("slow".to_owned(), WORDS.id().to_owned(), 8_400, 2), ("hangs".to_owned(), GATE.id().to_owned(), 2_000, 1)];
    assert_eq!(seen, expected);
}

#[test]
fn a_wait_that_is_given_up_counts_too() {
    let rig = BusRig::new(1);
    rig.bus.filter(&subscriber("hangs", 0), WORDS.id(), 0, hanging());
    let waits = WaitLog::new();
    rig.run(async {
        let applying = std::pin::pin!(rig.bus.apply(&WORDS, Vec::new(), &waits));
        let _ = futures_util::future::select(applying, rig.sim.clock().sleep_ms(700)).await;
    });
    assert_eq!(waits.finish()[0].ms, 700);
    assert!(rig.said().is_empty(), "who cancels does not blame");
}

#[test]
fn a_handler_may_use_the_bus() {
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let (bus, notes) = (rig.bus.clone(), seen.clone());
    rig.bus.on(
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
    let (bus, notes) = (rig.bus.clone(), seen.clone());
    rig.bus.on(
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
    let bus = rig.bus.clone();
    rig.bus.filter(&subscriber("d", 0), WORDS.id(), 0, with(move |words: Vec<String>| {
        let bus = bus.clone();
        async move { bus.apply(&GATE, words, &WaitLog::new()).await.map_err(|error| HandlerError(error.to_string())) }
    }));
    rig.bus.filter(&subscriber("e", 0), GATE.id(), 0, adds("nested"));
    rig.run(async { rig.bus.emit(&TICK, 1) });
    let mut entries = seen.read();
    entries.sort();
    assert_eq!(entries, ["tock 2", "words [\"nested\"]"]);
    assert_eq!(rig.said(), Vec::<String>::new());
}

#[test]
fn after_disposal_nothing_that_was_queued_is_delivered() {
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let notes = seen.clone();
    let registration = rig.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    rig.run(async {
        rig.bus.emit(&TICK, 1);
        registration.dispose();
        registration.dispose();
        rig.bus.emit(&TICK, 2);
    });
    assert!(seen.read().is_empty());
}

#[test]
fn a_handler_that_disposes_itself_finishes_and_is_not_called_again() {
    let rig = BusRig::new(1);
    let (clock, seen) = (rig.sim.clock(), Diary::default());
    let own: Arc<Mutex<Option<dispatch_contracts::host::Registration>>> = Arc::default();
    let (notes, mine) = (seen.clone(), Arc::clone(&own));
    let registration = rig.bus.on(
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
    rig.run(async { (1..=3).for_each(|number| rig.bus.emit(&TICK, number)) });
    assert_eq!(seen.read(), [1]);
}

#[test]
fn a_filter_that_is_disposed_while_the_chain_runs_is_skipped() {
    let rig = BusRig::new(1);
    let bus = rig.bus.clone();
    rig.bus.filter(
        &subscriber("a", 0),
        WORDS.id(),
        0,
        with(move |words: Vec<String>| {
            bus.remove_extension(&"b".into());
            async move { Ok(words) }
        }),
    );
    rig.bus.filter(&subscriber("b", 1), WORDS.id(), 0, adds("b"));
    rig.bus.filter(&subscriber("c", 2), WORDS.id(), 0, adds("c"));
    let words = rig.run(rig.bus.apply(&WORDS, Vec::new(), &WaitLog::new())).unwrap();
    assert_eq!(words, ["c"]);
}

#[test]
fn what_a_dropped_handler_does_in_its_destructor_cannot_block_or_break_the_bus() {
    struct Meddler(dispatch_kernel::bus::Bus);
    impl Drop for Meddler {
        fn drop(&mut self) {
            self.0.emit(&TOCK, 1);
            panic!("and it fails");
        }
    }
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let notes = seen.clone();
    rig.bus.on(
        &subscriber("b", 0),
        TOCK.id(),
        on(move |number| {
            notes.note(number);
            async { Ok(()) }
        }),
    );
    let meddler = Meddler(rig.bus.clone());
    rig.bus.on(
        &subscriber("a", 0),
        TICK.id(),
        on(move |_| {
            let _ = &meddler;
            async { Ok(()) }
        }),
    );
    rig.run(async { rig.bus.remove_extension(&"a".into()) });
    assert_eq!(seen.read(), [1]);
}

#[test]
fn an_observer_sees_every_event_in_order_as_json_and_its_panic_is_its_own() {
    let rig = BusRig::new(1);
    let seen = Diary::default();
    let notes = seen.clone();
    rig.bus.on_any(&subscriber("bad", 0), Arc::new(|_, _| panic!("blind")));
    rig.bus.on_any(
        &subscriber("good", 0),
        Arc::new(move |hook, payload| {
            notes.note(format!("{hook} {}", payload.to_json().unwrap()));
        }),
    );
    rig.run(async {
        rig.bus.emit(&TICK, 1);
        rig.bus.emit(&TOCK, 2);
    });
    assert_eq!(seen.read(), ["kernel/tick 1", "kernel/tock 2"]);
    assert_eq!(
        rig.said(),
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
        let rig = BusRig::new(seed);
        let clock = rig.sim.clock();
        let diaries: Vec<Diary<u32>> = pace.iter().map(|ms| {
            let (clock, notes, ms) = (clock.clone(), Diary::default(), *ms);
            let diary = notes.clone();
            rig.bus.on(&subscriber("a", 0), TICK.id(), on(move |number| {
                let (clock, notes) = (clock.clone(), notes.clone());
                async move {
                    if ms > 0 { clock.sleep_ms(ms).await; }
                    notes.note(number);
                    if number % 3 == 0 { Err(HandlerError("every third".to_owned())) } else { Ok(()) }
                }
            }));
            diary
        }).collect();
        rig.run(async {
            for (number, pause_ms) in (0_u32..).zip(&pauses_ms) {
                rig.bus.emit(&TICK, number);
                if *pause_ms > 0 { clock.sleep_ms(*pause_ms).await; }
            }
        });
        let sent: Vec<u32> = (0..u32::try_from(pauses_ms.len()).unwrap()).collect();
        for diary in diaries {
            prop_assert_eq!(diary.read(), sent.clone());
        }
    }
}
