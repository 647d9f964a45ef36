//! Extensions that sleep until a hook needs them: nothing is lost and nothing goes on without them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/test_host.rs"]
mod test_host;

use dispatch_contracts::extension::ExtensionError;
use dispatch_contracts::hooks::{TOOL_BEFORE, TURN_STARTED, TurnStarted};
use dispatch_kernel::bus::WaitLog;
use dispatch_kernel::host::ExtensionState;
use proptest::prelude::*;
use serde_json::{Value, json};
use test_host::{Notes, Probe, TestHost, probe, probe_async, state, tool_before, turn};

fn started() -> TurnStarted {
    TurnStarted { turn: turn(), model: "m".to_owned() }
}

/// Takes some time before it registers its handlers and some after.
fn lazy(seen: &Notes<String>, before_ms: u64, after_ms: u64) -> Probe {
    let seen = seen.clone();
    let changes = json!({"activation": {"onHook": ["kernel/turn.started", "kernel/tool.before"]}});
    probe_async("lazy", changes, move |host| {
        let seen = seen.clone();
        Box::pin(async move {
            host.clock().sleep_ms(before_ms).await;
            seen.note("activated".to_owned());
            let notes = seen.clone();
            host.on(&TURN_STARTED, move |event| {
                notes.note(format!("heard {}", event.model));
                async { Ok(()) }
            })
            .map_err(ExtensionError::new)?;
            host.filter(&TOOL_BEFORE, 0, |mut value| async move {
                value.call.arguments.insert("checked".to_owned(), json!(true));
                Ok(value)
            })
            .map_err(ExtensionError::new)?;
            host.clock().sleep_ms(after_ms).await;
            Ok(())
        })
    })
}

#[test]
fn a_lazy_extension_starts_with_its_first_event_and_hears_it() {
    let (test, seen) = (TestHost::new(), Notes::default());
    test.run(async {
        let host = test.boot(vec![lazy(&seen, 300, 0).bundled()]).await.unwrap();
        assert_eq!(state(&host, "lazy"), ExtensionState::Lazy);
        for model in ["one", "two"] {
            host.bus().emit(&TURN_STARTED, TurnStarted { model: model.to_owned(), ..started() });
            test.sleep(100).await;
        }
        assert!(seen.read().is_empty(), "it is still starting");
        test.sleep(200).await;
        assert_eq!(state(&host, "lazy"), ExtensionState::Active);
        host.bus().emit(&TURN_STARTED, TurnStarted { model: "three".to_owned(), ..started() });
    });
    assert_eq!(seen.read(), ["activated", "heard one", "heard two", "heard three"]);
}

#[test]
fn a_filter_waits_for_the_lazy_extension_and_says_so() {
    let (test, seen) = (TestHost::new(), Notes::default());
    test.run(async {
        let host = test.boot(vec![lazy(&seen, 300, 0).bundled()]).await.unwrap();
        let waits = WaitLog::new();
        let (one, two) = futures_util::future::join(
            host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &waits),
            host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &waits),
        )
        .await;
        for call in [one.unwrap().call, two.unwrap().call] {
            assert_eq!(call.arguments["checked"], true);
        }
        assert_eq!((waits.finish()[0].extension.as_str(), waits.finish()[0].ms), ("lazy", 600));
    });
    assert_eq!(seen.read(), ["activated"], "it starts once");
}

#[test]
fn a_closed_chain_does_not_go_on_without_a_lazy_extension_that_cannot_start() {
    let test = TestHost::new();
    let changes = json!({"activation": {"onHook": ["kernel/tool.before"]}});
    let broken = probe("lazy-guard", changes, |_| Err(ExtensionError::new("no rules")));
    test.run(async {
        let host = test.boot(vec![broken.bundled()]).await.unwrap();
        let refused = host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &WaitLog::new()).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`kernel/tool.before` refused to go on because extension `lazy-guard` failed: no rules"
        );
        assert_eq!(state(&host, "lazy-guard"), ExtensionState::Failed { reason: "no rules".to_owned() });
    });
}

#[test]
fn a_lazy_extension_wakes_what_it_needs_and_an_eager_one_starts_its_lazy_dependencies() {
    let (test, seen) = (TestHost::new(), Notes::default());
    let named = |id: &'static str, changes: Value| {
        let notes = seen.clone();
        probe(id, changes, move |_| {
            notes.note(id);
            Ok(())
        })
        .bundled()
    };
    let sleeps = json!({"onHook": ["kernel/turn.started"]});
    let never = json!({"onHook": ["kernel/turn.sealed"]});
    test.run(async {
        let host = test
            .boot(vec![
                named("base", json!({"activation": never.clone()})),
                named("top", json!({"activation": sleeps, "dependsOn": ["base"]})),
                named("eager", json!({"dependsOn": ["needed"]})),
                named("needed", json!({"activation": never})),
            ])
            .await
            .unwrap();
        assert_eq!(seen.read(), ["needed", "eager"]);
        host.bus().emit(&TURN_STARTED, started());
        test.sleep(1).await;
        assert_eq!(seen.read(), ["needed", "eager", "base", "top"]);
    });
}

proptest! {
    #[test]
    fn whatever_the_schedule_a_lazy_extension_hears_every_event_once_and_in_order(
        seed in any::<u64>(),
        before_ms in 0_u64..6,
        after_ms in 0_u64..6,
        pauses_ms in proptest::collection::vec(0_u64..4, 1..12),
    ) {
        let (test, seen) = (TestHost::seeded(seed), Notes::default());
        let _host = test.run(async {
            let host = test.boot(vec![lazy(&seen, before_ms, after_ms).bundled()]).await.unwrap();
            for (number, pause_ms) in pauses_ms.iter().enumerate() {
                host.bus().emit(&TURN_STARTED, TurnStarted { model: number.to_string(), ..started() });
                test.sleep(*pause_ms).await;
            }
            host
        });
        let expected: Vec<String> = std::iter::once("activated".to_owned())
            .chain((0..pauses_ms.len()).map(|number| format!("heard {number}")))
            .collect();
        prop_assert_eq!(seen.read(), expected);
    }
}
