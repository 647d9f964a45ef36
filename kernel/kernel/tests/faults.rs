//! The ways an extension can be broken, each started in a real host: the rest goes on, and the user is
//! told who did what.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/test_host.rs"]
mod test_host;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Job;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{
    EXTENSION_DISABLED, EXTENSION_FAULTED, REQUEST_BEFORE, TOOL_BEFORE, TURN_STARTED, TurnStarted,
};
use dispatch_contracts::host::Host;
use dispatch_contracts::manifest::Trust;
use dispatch_kernel::bus::WaitLog;
use dispatch_kernel::host::{Candidate, ExtensionHost, ExtensionState};
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;
use test_host::{Notes, TestHost, idle, probe, probe_async, request_before, state, tool_before, turn};

fn failed(reason: &str) -> ExtensionState {
    ExtensionState::Failed { reason: reason.to_owned() }
}

fn disabled(reason: &str) -> ExtensionState {
    ExtensionState::Disabled { reason: reason.to_owned() }
}

fn started() -> TurnStarted {
    TurnStarted { turn: turn(), model: "m".to_owned() }
}

/// A healthy extension that writes down every fault and every disabled extension it hears of.
fn witness(heard: &Notes<String>) -> Candidate {
    let heard = heard.clone();
    probe("witness", json!({}), move |host| {
        let faults = heard.clone();
        host.on(&EXTENSION_FAULTED, move |fault| {
            faults.note(fault.to_string());
            async { Ok(()) }
        })
        .map_err(ExtensionError::new)?;
        let disabled = heard.clone();
        host.on(&EXTENSION_DISABLED, move |it| {
            disabled.note(format!("extension `{}` is disabled: {}", it.extension, it.reason));
            async { Ok(()) }
        })
        .map_err(ExtensionError::new)?;
        Ok(())
    })
    .bundled()
}

struct BrokenAtLoad;

impl Extension for BrokenAtLoad {
    fn manifest(&self) -> Cow<'_, str> {
        panic!("constructor failed")
    }

    fn activate(&self, _host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async { Ok(()) })
    }
}

#[test]
fn fault_1_an_extension_that_panics_at_load_is_shown_and_the_rest_start() {
    let test = TestHost::new();
    let broken = Candidate {
        extension: Arc::new(BrokenAtLoad),
        trust: Trust::External,
        origin: "extensions/broken".to_owned(),
        fresh: None,
    };
    let host = test.run(test.boot(vec![broken, idle("fine", json!({})).bundled()])).unwrap();
    assert_eq!(state(&host, "fine"), ExtensionState::Active);
    assert_eq!(
        state(&host, "unreadable-1"),
        failed("the manifest cannot be used: the extension panicked: constructor failed while its manifest was read")
    );
}

#[test]
fn fault_1_a_manifest_that_is_wrong_is_shown_with_every_problem() {
    let test = TestHost::new();
    let broken = idle("broken", json!({"tier": "external", "version": "one", "capabilities": ["disk"]})).external();
    let host = test.run(test.boot(vec![broken])).unwrap();
    let ExtensionState::Failed { reason } = state(&host, "broken") else { panic!("it must not start") };
    assert!(reason.starts_with("the manifest cannot be used: `version`: `one` is not a version such as `1.2.3`: "));
    assert!(reason.contains("; `capabilities[0]`: unknown value `disk`"), "{reason}");
}

fn boot_with_broken_init(
    init: fn(Host) -> BoxFuture<'static, Result<(), ExtensionError>>,
) -> (TestHost, ExtensionHost) {
    let test = TestHost::new();
    let broken = probe_async("broken", json!({}), init).bundled();
    let needs = idle("needs-it", json!({"dependsOn": ["broken"]})).bundled();
    let host = test.run(test.boot(vec![broken, needs, idle("fine", json!({})).bundled()])).unwrap();
    assert_eq!(state(&host, "fine"), ExtensionState::Active);
    (test, host)
}

#[test]
fn fault_2_an_extension_that_fails_at_activation_is_shown_and_its_dependents_are_skipped() {
    let (_, host) = boot_with_broken_init(|_| Box::pin(async { Err(ExtensionError::new("no such server")) }));
    assert_eq!(state(&host, "broken"), failed("no such server"));
    let reason = "needs `broken`, which failed to start: no such server".to_owned();
    assert_eq!(state(&host, "needs-it"), ExtensionState::Skipped { reason });
    assert_eq!(host.fatal(), None);
}

#[test]
fn fault_2_a_panic_or_a_hang_at_activation_is_no_different() {
    let (_, host) = boot_with_broken_init(|_| panic!("early"));
    assert_eq!(state(&host, "broken"), failed("panicked: early"));
    let (_, host) = boot_with_broken_init(|_| Box::pin(async { panic!("late") }));
    assert_eq!(state(&host, "broken"), failed("panicked: late"));
    let (test, host) = boot_with_broken_init(|_| Box::pin(std::future::pending()));
    assert_eq!(state(&host, "broken"), failed("did not answer within 10 s"));
    let logged: Vec<String> = test.log.read().into_iter().map(|record| record.message).collect();
    assert_eq!(
        logged,
        [
            "extension `broken` in activation: did not answer within 10 s",
            "extension `needs-it` is skipped: it needs `broken`, which failed to start: did not answer within 10 s",
        ]
    );
}

#[test]
fn fault_3_an_event_handler_that_fails_is_named_and_the_emitter_goes_on() {
    let (test, heard) = (TestHost::new(), Notes::default());
    let broken = probe("broken", json!({}), |host| {
        host.on(&TURN_STARTED, |_| async { Err(HandlerError("cannot reach the pager".to_owned())) })
            .map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![witness(&heard), broken.bundled()]).await.unwrap();
        host.bus().emit(&TURN_STARTED, started());
        test.sleep(1).await;
        assert_eq!(state(&host, "broken"), ExtensionState::Active);
    });
    assert_eq!(heard.read(), ["extension `broken` in kernel/turn.started: cannot reach the pager"]);
}

#[test]
fn fault_3_a_handler_that_keeps_panicking_is_disabled_and_nobody_else_is() {
    let (test, heard) = (TestHost::new(), Notes::default());
    let broken = probe("broken", json!({}), |host| {
        host.on(&TURN_STARTED, |_| async { panic!("index out of bounds") }).map_err(ExtensionError::new)?;
        Ok(())
    });
    let reason = "3 panics in kernel/turn.started within 10 minutes; last: panicked: index out of bounds";
    test.run(async {
        let host = test.boot(vec![witness(&heard), broken.bundled()]).await.unwrap();
        for _ in 0..5 {
            host.bus().emit(&TURN_STARTED, started());
            test.sleep(1).await;
        }
        assert_eq!(state(&host, "broken"), disabled(reason));
        assert_eq!(state(&host, "witness"), ExtensionState::Active);
    });
    let fault = "extension `broken` in kernel/turn.started: panicked: index out of bounds".to_owned();
    let end = format!("extension `broken` is disabled: {reason}");
    let mut heard = heard.read();
    heard.sort();
    assert_eq!(heard, [fault.clone(), fault.clone(), fault, end]);
}

/// Boots a guard with the given before-tool filter and calls four tools through it.
fn guarded(
    guard: fn() -> BoxFuture<'static, Result<(), HandlerError>>,
) -> (Vec<Result<(), String>>, ExtensionState, u64) {
    let test = TestHost::new();
    let guard = probe("guard", json!({}), move |host| {
        host.filter(&TOOL_BEFORE, 0, move |value| async move { guard().await.map(|()| value) })
            .map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![guard.bundled()]).await.unwrap();
        let (mut answers, waits) = (Vec::new(), WaitLog::new());
        for _ in 0..4 {
            let answer = host.bus().apply(&TOOL_BEFORE, tool_before("shell"), &waits).await;
            answers.push(answer.map(|_| ()).map_err(|error| error.to_string()));
        }
        (answers, state(&host, "guard"), waits.finish().first().map_or(0, |wait| wait.ms))
    })
}

#[test]
fn fault_4_a_before_tool_filter_that_fails_blocks_the_tool_and_is_named() {
    let (answers, state, _) = guarded(|| Box::pin(async { Err(HandlerError("rules are unreadable".to_owned())) }));
    let refused =
        "`kernel/tool.before` refused to go on because extension `guard` failed: rules are unreadable".to_owned();
    let shut = "`kernel/tool.before` refused to go on because extension `guard` failed: it is disabled (3 errors in \
                kernel/tool.before within 10 minutes; last: rules are unreadable); enable it again or remove it";
    assert_eq!(answers, [refused.clone(), refused.clone(), refused, shut.to_owned()].map(Err));
    assert_eq!(state, disabled("3 errors in kernel/tool.before within 10 minutes; last: rules are unreadable"));
}

#[test]
fn fault_5_a_before_tool_filter_that_hangs_blocks_the_tool_after_its_time_and_is_named() {
    let (answers, state, waited_ms) = guarded(|| Box::pin(std::future::pending()));
    let refused = "`kernel/tool.before` refused to go on because extension `guard` failed: did not answer within 5 s";
    assert_eq!(answers[..3], vec![Err(refused.to_owned()); 3]);
    assert_eq!(state, disabled("3 timeouts in kernel/tool.before within 10 minutes; last: did not answer within 5 s"));
    assert_eq!(waited_ms, 15_000, "the turn can say whom it waited for");
}

/// Boots an extension with the given request filter and sends one request through it.
fn requested(filter: fn() -> BoxFuture<'static, Result<(), HandlerError>>) -> Vec<String> {
    let (test, heard) = (TestHost::new(), Notes::default());
    let broken = probe("broken", json!({}), move |host| {
        host.filter(&REQUEST_BEFORE, 0, move |mut value| async move {
            value.request.system.clear();
            filter().await.map(|()| value)
        })
        .map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![witness(&heard), broken.bundled()]).await.unwrap();
        let sent = host.bus().apply(&REQUEST_BEFORE, request_before(), &WaitLog::new()).await.unwrap();
        assert_eq!(sent, request_before(), "the request goes out as it was");
    });
    heard.read()
}

#[test]
fn fault_6_a_request_filter_that_fails_is_skipped_and_named() {
    let heard = requested(|| Box::pin(async { Err(HandlerError("template is missing".to_owned())) }));
    assert_eq!(heard, ["extension `broken` in kernel/request.before: template is missing"]);
    let heard = requested(|| panic!("at once"));
    assert_eq!(heard, ["extension `broken` in kernel/request.before: panicked: at once"]);
}

#[test]
fn fault_7_a_request_filter_that_hangs_is_skipped_after_its_time_and_named() {
    let heard = requested(|| Box::pin(std::future::pending()));
    assert_eq!(heard, ["extension `broken` in kernel/request.before: did not answer within 5 s"]);
}

#[test]
fn fault_8_a_job_or_task_that_panics_later_is_named_and_in_the_end_disabled() {
    let (test, heard) = (TestHost::new(), Notes::default());
    let changes = json!({"capabilities": ["spawn"], "contributes": {"jobs": ["sweep"]}});
    let broken = probe("broken", changes, |host| {
        let clock = host.clock();
        host.spawn("warm-up", async move {
            clock.sleep_ms(500).await;
            panic!("nothing to warm")
        })
        .map_err(ExtensionError::new)?;
        let run = Arc::new(|| -> BoxFuture<'static, _> { Box::pin(async { panic!("nothing to sweep") }) });
        host.define_job(Job { name: "sweep".into(), every_ms: 1_000, run }).map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![witness(&heard), broken.bundled()]).await.unwrap();
        assert_eq!(host.jobs().len(), 1);
        test.sleep(60_000).await;
        let reason =
            "2 panics in job sweep, 1 panic in task warm-up within 10 minutes; last: panicked: nothing to sweep";
        assert_eq!(state(&host, "broken"), disabled(reason));
        assert!(host.jobs().is_empty(), "the job is stopped");
        assert_eq!(host.status().iter().map(|it| it.faults).collect::<Vec<_>>(), [3, 0]);
    });
    assert_eq!(
        heard.read()[..2],
        [
            "extension `broken` in task warm-up: panicked: nothing to warm",
            "extension `broken` in job sweep: panicked: nothing to sweep",
        ]
    );
}

#[test]
fn a_cycle_is_shown_with_its_path_and_the_rest_start() {
    let test = TestHost::new();
    let host = test
        .run(test.boot(vec![
            idle("a", json!({"dependsOn": ["b"]})).bundled(),
            idle("b", json!({"dependsOn": ["a"]})).bundled(),
            idle("fine", json!({})).bundled(),
        ]))
        .unwrap();
    assert_eq!(state(&host, "a"), failed("depends on itself: a -> b -> a"));
    assert_eq!(state(&host, "b"), failed("depends on itself: b -> a -> b"));
    assert_eq!(state(&host, "fine"), ExtensionState::Active);
}

#[test]
fn a_missing_dependency_is_shown_with_what_was_probably_meant() {
    let test = TestHost::new();
    let lost = idle("lost", json!({"dependsOn": ["inents"]})).bundled();
    let host = test.run(test.boot(vec![lost, idle("intents", json!({})).bundled()])).unwrap();
    assert_eq!(state(&host, "lost"), failed("needs `inents`, which is not installed; did you mean `intents`?"));
    assert_eq!(state(&host, "intents"), ExtensionState::Active);
}

#[test]
fn an_undeclared_capability_is_refused_with_what_to_change() {
    let test = TestHost::new();
    let greedy = probe("greedy", json!({}), |host| host.storage().map(drop).map_err(ExtensionError::new)).bundled();
    let host = test.run(test.boot(vec![greedy])).unwrap();
    assert_eq!(
        state(&host, "greedy"),
        failed("extension `greedy` may not keep data: its manifest does not list the capability `db`")
    );
}

#[test]
fn a_core_extension_that_fails_to_start_ends_the_start_with_its_reason() {
    let (test, stopped) = (TestHost::new(), Notes::default());
    let notes = stopped.clone();
    let first = idle("a-first", json!({"tier": "core"})).on_deactivate(move || {
        notes.note("a-first");
        Box::pin(async { Ok(()) })
    });
    let core = probe("store", json!({"tier": "core"}), |_| Err(ExtensionError::new("the disk is full")));
    let refused = test.run(test.boot(vec![core.bundled(), first.bundled()])).err().unwrap();
    assert_eq!(refused.to_string(), "core extension `store` did not start: the disk is full");
    assert_eq!(stopped.read(), ["a-first"], "what had started is stopped again");
}

#[test]
fn a_core_extension_without_a_usable_manifest_ends_the_start() {
    let test = TestHost::new();
    let core = idle("store", json!({"tier": "core", "name": ""})).bundled();
    let refused = test.run(test.boot(vec![core])).err().unwrap();
    assert_eq!(refused.to_string(), "core extension `store` cannot be loaded: `name`: is empty");
    let nameless = Candidate::bundled(Arc::new(BrokenAtLoad));
    assert!(test.run(test.boot(vec![nameless])).is_err(), "what will not say what it is may be part of the core");
}

#[test]
fn a_core_extension_with_a_missing_dependency_ends_the_start() {
    let test = TestHost::new();
    let core = idle("turns", json!({"tier": "core", "dependsOn": ["store"]})).bundled();
    let refused = test.run(test.boot(vec![core])).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "the core extensions do not fit together: extension `turns` needs `store`, which is not installed"
    );
}

#[test]
fn a_fault_of_the_core_is_fatal_and_shown_and_never_disables_it() {
    let test = TestHost::new();
    let core = probe("store", json!({"tier": "core"}), |host| {
        host.on(&TURN_STARTED, |_| async { Err(HandlerError("the disk is full".to_owned())) })
            .map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![core.bundled()]).await.unwrap();
        assert_eq!(host.fatal(), None);
        for _ in 0..5 {
            host.bus().emit(&TURN_STARTED, started());
            test.sleep(1).await;
        }
        let reason = "core extension `store` in kernel/turn.started: the disk is full";
        assert_eq!(host.fatal().as_deref(), Some(reason));
        assert_eq!(state(&host, "store"), ExtensionState::Active);
    });
}

#[test]
fn a_handler_of_the_fault_event_that_fails_is_not_told_of_its_own_fault() {
    let (test, heard) = (TestHost::new(), Notes::default());
    let broken = probe("broken", json!({"capabilities": ["observe"]}), |host| {
        host.on(&EXTENSION_FAULTED, |_| async { Err(HandlerError("again".to_owned())) })
            .map_err(ExtensionError::new)?;
        host.on_any(|_, _| panic!("blind")).map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![witness(&heard), broken.bundled()]).await.unwrap();
        host.bus().emit(&TURN_STARTED, started());
        test.sleep(1).await;
        assert_eq!(host.status()[0].faults, 3);
    });
    let told = heard.read();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], "extension `broken` in kernel/turn.started: panicked: blind");
    assert!(told[1].starts_with("extension `broken` is disabled: "), "{told:?}");
}
