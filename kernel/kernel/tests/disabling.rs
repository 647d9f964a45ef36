//! Switching off what keeps failing: it lasts, it is explained, and it opens no gate.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/test_host.rs"]
mod test_host;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::ExtensionError;
use dispatch_contracts::fault::Disabled;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{TOOL_BEFORE, TURN_STARTED, TurnStarted};
use dispatch_kernel::bus::WaitLog;
use dispatch_kernel::host::{DisabledStore, DisabledStoreError, ExtensionHost, ExtensionState, enable};
use serde_json::json;
use std::sync::Arc;
use test_host::{Notes, Probe, TestHost, idle, probe, state, tool_before, turn};

fn started() -> TurnStarted {
    TurnStarted { turn: turn(), model: "m".to_owned() }
}

fn breaks_turns(id: &str) -> Probe {
    probe(id, json!({}), |host| {
        host.on(&TURN_STARTED, |_| async { Err(HandlerError("broken".to_owned())) }).map_err(ExtensionError::new)?;
        Ok(())
    })
}

async fn exhaust(test: &TestHost, host: &ExtensionHost) {
    for _ in 0..3 {
        host.bus().emit(&TURN_STARTED, started());
        test.sleep(1).await;
    }
}

const REASON: &str = "3 errors in kernel/turn.started within 10 minutes; last: broken";

#[test]
fn disabling_outlasts_a_restart_until_somebody_enables_it() {
    let mut test = TestHost::new();
    test.run(async {
        let host = test.boot(vec![breaks_turns("broken").bundled()]).await.unwrap();
        exhaust(&test, &host).await;
        let kept = test.store.load().await.unwrap();
        assert_eq!((kept[0].extension.as_str(), kept[0].reason.as_str()), ("broken", REASON));
        host.shutdown().await;
    });
    test.sim = dispatch_sim::Sim::new(2);
    test.run(async {
        let host = test.boot(vec![breaks_turns("broken").bundled()]).await.unwrap();
        assert_eq!(state(&host, "broken"), ExtensionState::Disabled { reason: REASON.to_owned() });
        host.bus().emit(&TURN_STARTED, started());
        test.sleep(1).await;
        assert_eq!(host.status()[0].faults, 0, "it is not even called");
        assert_eq!(host.enable(&"broken".into()).await, Ok(true));
        assert_eq!(host.enable(&"broken".into()).await, Ok(false));
        let reason = "enabled again; it starts when the program starts again".to_owned();
        assert_eq!(state(&host, "broken"), ExtensionState::Skipped { reason });
    });
    test.sim = dispatch_sim::Sim::new(3);
    let host = test.run(test.boot(vec![breaks_turns("broken").bundled()])).unwrap();
    assert_eq!(state(&host, "broken"), ExtensionState::Active);
}

#[test]
fn a_guard_that_was_made_to_fail_keeps_its_gate_shut_across_a_restart() {
    let guard = || {
        let guard = probe("guard", json!({}), |host| {
            host.filter(&TOOL_BEFORE, 0, |_| async { Err(HandlerError("odd path".to_owned())) })
                .map_err(ExtensionError::new)?;
            Ok(())
        });
        guard.bundled()
    };
    let mut test = TestHost::new();
    let waits = WaitLog::new();
    test.run(async {
        let host = test.boot(vec![guard()]).await.unwrap();
        for _ in 0..4 {
            assert!(host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &waits).await.is_err());
        }
    });
    test.sim = dispatch_sim::Sim::new(2);
    test.run(async {
        let host = test.boot(vec![guard()]).await.unwrap();
        let refused = host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &waits).await.unwrap_err();
        assert!(refused.cause.ends_with("last: odd path); enable it again or remove it"), "{refused}");
        assert_eq!(host.status()[0].faults, 0);
    });
    test.sim = dispatch_sim::Sim::new(3);
    test.run(async {
        let host = test.boot(Vec::new()).await.unwrap();
        assert!(
            host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &waits).await.is_ok(),
            "removing it opens the gate"
        );
    });
}

#[test]
fn what_needs_a_disabled_extension_is_stopped_with_it() {
    let (test, seen) = (TestHost::new(), Notes::default());
    let notes = seen.clone();
    let dependent = idle("dependent", json!({"dependsOn": ["broken"]})).on_deactivate(move || {
        notes.note("released");
        Box::pin(async { Ok(()) })
    });
    test.run(async {
        let host = test.boot(vec![breaks_turns("broken").bundled(), dependent.bundled()]).await.unwrap();
        exhaust(&test, &host).await;
        let reason = format!("needs `broken`, which is disabled: {REASON}");
        assert_eq!(state(&host, "dependent"), ExtensionState::Skipped { reason });
    });
    assert_eq!(seen.read(), ["released"]);
}

#[test]
fn the_core_is_never_read_as_disabled() {
    let test = TestHost::new();
    test.run(async {
        let entry = Disabled { extension: "store".into(), reason: "by hand".to_owned(), at_ms: 0, filters: Vec::new() };
        test.store.save(&[entry]).await.unwrap();
        let host = test.boot(vec![idle("store", json!({"tier": "core"})).bundled()]).await.unwrap();
        assert_eq!(state(&host, "store"), ExtensionState::Active);
        assert_eq!(enable(test.store.as_ref(), &"store".into()).await, Ok(true));
        assert_eq!(enable(test.store.as_ref(), &"store".into()).await, Ok(false));
    });
}

struct BrokenStore;

impl DisabledStore for BrokenStore {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Disabled>, DisabledStoreError>> {
        panic!("no disk")
    }

    fn save<'a>(&'a self, _: &'a [Disabled]) -> BoxFuture<'a, Result<(), DisabledStoreError>> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_broken_list_of_disabled_extensions_is_logged_and_stops_nothing() {
    let mut test = TestHost::new();
    test.store = Arc::new(BrokenStore);
    test.run(async {
        let host = test.boot(vec![breaks_turns("broken").bundled()]).await.unwrap();
        exhaust(&test, &host).await;
        assert!(matches!(state(&host, "broken"), ExtensionState::Disabled { .. }));
        host.shutdown().await;
    });
    let logged: Vec<String> = test.log.read().into_iter().map(|record| record.message).collect();
    assert!(
        logged.contains(&"cannot read or write the list of disabled extensions: panicked: no disk".to_owned()),
        "{logged:?}"
    );
    assert!(
        logged.contains(&"cannot read or write the list of disabled extensions: did not answer within 5 s".to_owned())
    );
}
