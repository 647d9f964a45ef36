//! The life of extensions in a host: order, gates, services, background work, stopping.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/test_host.rs"]
mod test_host;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::{Command, Job};
use dispatch_contracts::extension::ExtensionError;
use dispatch_contracts::harness::Harness;
use dispatch_contracts::hook::{Event, Filter, HandlerError};
use dispatch_contracts::hooks::{TURN_STARTED, TurnStarted};
use dispatch_contracts::host::{Host, HostError, STORAGE};
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::permission::{PermissionRequest, Verdict};
use dispatch_contracts::ports::Clock;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::{Storage, StorageBackend, StorageError};
use dispatch_kernel::host::ExtensionState;
use dispatch_kernel::host::HOST;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use test_host::{Notes, Probe, TestHost, idle, probe, probe_async, state, turn};

trait Greeter: Send + Sync {
    fn greet(&self) -> String;
}

struct Polite;

impl Greeter for Polite {
    fn greet(&self) -> String {
        "good day".to_owned()
    }
}

const GREETER: Service<dyn Greeter> = Service::new("polite/greeter");
const GREETED: Event<u32> = Event::new("polite/greeted");
const PHRASE: Filter<String> = Filter::new("polite/phrase");

fn polite(extra: Value) -> Value {
    let mut changes =
        json!({"contributes": {"services": ["polite/greeter"], "hooks": ["polite/greeted", "polite/phrase"]}});
    for (key, value) in extra.as_object().unwrap() {
        changes[key] = value.clone();
    }
    changes
}

fn started() -> TurnStarted {
    TurnStarted { turn: turn(), model: "m".to_owned() }
}

/// Keeps the host that an extension was given.
fn keeps_host(id: &str, changes: Value) -> (Probe, Arc<Mutex<Option<Host>>>) {
    let kept: Arc<Mutex<Option<Host>>> = Arc::default();
    let inside = Arc::clone(&kept);
    let extension = probe(id, changes, move |host| {
        *inside.lock().unwrap() = Some(host.clone());
        Ok(())
    });
    (extension, kept)
}

fn host_of(kept: &Arc<Mutex<Option<Host>>>) -> Host {
    kept.lock().unwrap().clone().expect("it was activated")
}

#[test]
fn the_texts_of_an_extension_are_told_and_a_panic_leaves_it_without() {
    let test = TestHost::new();
    let told = || Harness { rules: "- One writer per file.".into(), ..Harness::EMPTY };
    let extensions = vec![
        idle("told", json!({})).with_harness(told).bundled(),
        idle("silent", json!({})).bundled(),
        idle("broken", json!({})).with_harness(|| panic!("no texts")).bundled(),
    ];
    let host = test.run(test.boot(extensions)).unwrap();
    assert_eq!(host.harness(&"told".into()), Some(told()));
    assert_eq!(host.harness(&"silent".into()), Some(Harness::EMPTY));
    assert_eq!(host.harness(&"broken".into()), Some(Harness::EMPTY));
    assert_eq!(host.harness(&"unknown".into()), None);
}

#[test]
fn extensions_start_after_what_they_need_and_stop_before_it() {
    let (test, seen) = (TestHost::new(), Notes::default());
    let named = |id: &'static str, changes: Value| {
        let (starts, stops) = (seen.clone(), seen.clone());
        let extension = probe(id, changes, move |_| {
            starts.note(format!("+{id}"));
            Ok(())
        });
        extension.on_deactivate(move || {
            stops.note(format!("-{id}"));
            Box::pin(async { Ok(()) })
        })
    };
    let a = named("a", json!({"dependsOn": ["c"]}));
    test.run(async {
        let host = test
            .boot(vec![a.bundled(), named("b", json!({})).bundled(), named("c", json!({})).bundled()])
            .await
            .unwrap();
        host.shutdown().await;
        host.shutdown().await;
        assert_eq!(state(&host, "a"), ExtensionState::Stopped);
    });
    assert_eq!(seen.read(), ["+b", "+c", "+a", "-a", "-c", "-b"]);
}

#[test]
fn who_waits_for_the_start_works_when_the_last_extension_is_active() {
    let (test, seen) = (TestHost::new(), Notes::default());
    let (first, last, clock) = (seen.clone(), seen.clone(), test.sim.clock());
    let early = probe("a", json!({"tier": "core", "capabilities": ["spawn"]}), move |host| {
        let (kernel, seen) = (host.service(&HOST).map_err(ExtensionError::new)?, first.clone());
        let work = async move {
            kernel.started().await;
            seen.note("a works");
            Ok(())
        };
        host.spawn("work", work).map(drop).map_err(ExtensionError::new)
    });
    let late = probe_async("z", json!({}), move |_| {
        let (clock, seen) = (clock.clone(), last.clone());
        Box::pin(async move {
            clock.sleep_ms(1_000).await;
            seen.note("z is active");
            Ok(())
        })
    });
    test.run(async {
        let host = test.boot(vec![early.bundled(), late.bundled()]).await.unwrap();
        test.sim.clock().sleep_ms(1).await;
        host.shutdown().await;
    });
    assert_eq!(seen.read(), ["z is active", "a works"]);
}

#[test]
fn an_extension_that_will_not_stop_is_stopped() {
    let test = TestHost::new();
    let stubborn = idle("stubborn", json!({})).on_deactivate(|| Box::pin(std::future::pending()));
    test.run(async {
        let host = test.boot(vec![stubborn.bundled(), idle("z", json!({})).bundled()]).await.unwrap();
        host.shutdown().await;
        assert_eq!(test.sim.clock().monotonic_ms(), 5_000);
        assert_eq!(
            host.status()[0].last_fault.as_ref().unwrap().to_string(),
            "extension `stubborn` in deactivation: did not answer within 5 s"
        );
    });
}

#[test]
fn a_service_is_found_by_whoever_depends_on_its_owner() {
    let test = TestHost::new();
    let owner = probe("polite", polite(json!({})), |host| {
        host.provide(&GREETER, Arc::new(Polite) as Arc<dyn Greeter>).map(drop).map_err(ExtensionError::new)
    });
    let said = Notes::default();
    let (near, far) = (said.clone(), said.clone());
    let friend = probe("friend", json!({"dependsOn": ["polite"]}), move |host| {
        near.note(host.service(&GREETER).map_err(ExtensionError::new)?.greet());
        Ok(())
    });
    let stranger = probe("stranger", json!({}), move |host| {
        far.note(host.service(&GREETER).err().unwrap().to_string());
        Ok(())
    });
    let host = test.run(test.boot(vec![stranger.bundled(), friend.bundled(), owner.bundled()])).unwrap();
    assert_eq!(
        said.read(),
        [
            "good day",
            "extension `stranger` uses `polite/greeter` but its manifest does not list `polite` under `dependsOn`"
        ]
    );
    assert_eq!(host.service(&GREETER).unwrap().greet(), "good day");
    assert_eq!(host.services()[0].owner.as_str(), "polite");
    assert_eq!(
        host.hooks().iter().map(|hook| hook.name.as_str()).collect::<Vec<_>>(),
        ["polite/greeted", "polite/phrase"]
    );
}

#[test]
fn a_taken_name_is_refused_with_who_has_it() {
    let test = TestHost::new();
    let command = || Command {
        name: "hello".to_owned(),
        summary: String::new(),
        respond: Arc::new(|request| Box::pin(async { Ok(request) })),
    };
    let adds = move |id: &str| {
        probe(id, json!({"contributes": {"commands": ["hello"]}}), move |host| {
            host.define_command(command()).map(drop).map_err(ExtensionError::new)
        })
    };
    let host = test.run(test.boot(vec![adds("first").bundled(), adds("second").bundled()])).unwrap();
    let reason = "command `hello` is already provided by extension `first`".to_owned();
    assert_eq!(state(&host, "second"), ExtensionState::Failed { reason });
    assert_eq!(host.commands().len(), 1);
}

#[test]
fn a_command_that_panics_answers_with_an_error_and_an_error_is_no_fault() {
    let test = TestHost::new();
    let changes = json!({"contributes": {"commands": ["err", "panic"]}});
    let broken = probe("broken", changes, |host| {
        let err =
            Arc::new(|_| -> BoxFuture<'static, _> { Box::pin(async { Err(HandlerError("two\nlines".to_owned())) }) });
        host.define_command(Command { name: "err".to_owned(), summary: String::new(), respond: err })
            .map_err(ExtensionError::new)?;
        host.define_command(Command {
            name: "panic".to_owned(),
            summary: String::new(),
            respond: Arc::new(|_| panic!("oh")),
        })
        .map_err(ExtensionError::new)?;
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![broken.bundled()]).await.unwrap();
        let commands = host.commands();
        assert_eq!((commands[0].item.respond)(Value::Null).await, Err(HandlerError("two\nlines".to_owned())));
        assert_eq!(host.status()[0].faults, 0);
        let answer = (commands[1].item.respond)(Value::Null).await;
        assert_eq!(answer, Err(HandlerError("extension `broken` panicked: oh".to_owned())));
        assert_eq!(host.status()[0].last_fault.as_ref().unwrap().place, "command panic");
        host.shutdown().await;
        let answer = (commands[0].item.respond)(Value::Null).await;
        assert_eq!(answer, Err(HandlerError("extension `broken` is not active any more".to_owned())));
    });
}

#[test]
fn after_disposal_every_call_answers_inactive() {
    let test = TestHost::new();
    let all = json!({
        "contributes": {"hooks": ["kept/seen"], "jobs": ["tick"]}, "capabilities": ["db", "secrets", "spawn", "observe"],
    });
    let (extension, kept) = keeps_host("kept", all);
    const SEEN: Event<u32> = Event::new("kept/seen");
    const CHANGE: Filter<u32> = Filter::new("kept/seen");
    test.run(async {
        let running = test.boot(vec![extension.bundled()]).await.unwrap();
        let host = host_of(&kept);
        assert_eq!(host.emit(&SEEN, 1), Ok(()));
        running.shutdown().await;
        let job = || Job { name: "tick".into(), every_ms: 1, run: Arc::new(|| Box::pin(async { Ok(()) })) };
        let answers = [
            host.emit(&SEEN, 1).err(),
            host.apply(&CHANGE, 1).await.err(),
            host.on(&SEEN, |_| async { Ok(()) }).err(),
            host.on_any(|_, _| ()).err(),
            host.filter(&CHANGE, 0, |value| async move { Ok(value) }).err(),
            host.storage().err(),
            host.secrets().err(),
            host.service(&STORAGE).err(),
            host.define_job(job()).err(),
            host.spawn("late", async { Ok(()) }).err(),
        ];
        let inactive = HostError::Inactive { extension: "kept".into() };
        assert!(answers.iter().all(|answer| answer.as_ref() == Some(&inactive)), "{answers:?}");
        let request = PermissionRequest { permission: "shell".to_owned(), target: "ls".to_owned() };
        assert_eq!(host.permission(&request).verdict, Verdict::Deny);
    });
}

#[test]
fn every_gate_is_where_it_should_be() {
    let test = TestHost::new();
    let (extension, kept) = keeps_host("bare", json!({}));
    test.run(async {
        let _running = test.boot(vec![extension.bundled()]).await.unwrap();
        let host = host_of(&kept);
        let job = Job { name: "tick".into(), every_ms: 1, run: Arc::new(|| Box::pin(async { Ok(()) })) };
        let said = |error: Option<HostError>| error.unwrap().to_string();
        let refused = [
            said(host.storage().err()),
            said(host.secrets().err()),
            said(host.spawn("x", async { Ok(()) }).err()),
            said(host.define_job(job).err()),
            said(host.on_any(|_, _| ()).err()),
            host.define_migrations(Vec::new()).await.err().unwrap().to_string(),
            said(host.emit(&TURN_STARTED, started()).err()),
            said(host.apply(&PHRASE, String::new()).await.err()),
            said(host.on(&GREETED, |_| async { Ok(()) }).err()),
            said(host.service(&STORAGE).err()),
            said(host.service(&HOST).err()),
            said(host.all_settings().err()),
        ];
        let expected = [
            "extension `bare` may not keep data: its manifest does not list the capability `db`",
            "extension `bare` may not use secrets: its manifest does not list the capability `secrets`",
            "extension `bare` may not run work in the background: its manifest does not list the capability `spawn`",
            "extension `bare` may not run jobs: its manifest does not list the capability `spawn`",
            "extension `bare` may not watch every event: its manifest does not list the capability `observe`",
            "extension `bare` may not change tables: its manifest does not list the capability `db`",
            "extension `bare` may not run `kernel/turn.started`: only its owner `kernel` may",
            "extension `bare` may not run `polite/phrase`: only its owner `polite` may",
            "extension `bare` uses `polite/greeted` but its manifest does not list `polite` under `dependsOn`",
            "extension `bare` may not use `kernel/storage` directly: ask the host for its own part instead",
            "extension `bare` may not use `kernel/host` directly: ask the host for its own part instead",
            "extension `bare` may not use `all settings` directly: ask the host for its own part instead",
        ];
        assert_eq!(refused, expected);
        assert!(host.on(&TURN_STARTED, |_| async { Ok(()) }).is_ok(), "the kernel's hooks are for everybody");
        let request = PermissionRequest { permission: "shell".to_owned(), target: "ls".to_owned() };
        assert_eq!(host.permission(&request).reason, "ls");
    });
}

#[test]
fn code_from_elsewhere_has_only_what_the_user_grants() {
    let mut test = TestHost::new();
    test.grants.insert("foreign".into(), [Capability::Spawn, Capability::Observe].into());
    let (extension, kept) = keeps_host("foreign", json!({"tier": "external", "capabilities": ["spawn", "db"]}));
    let running = test.run(test.boot(vec![extension.external()])).unwrap();
    let host = host_of(&kept);
    assert!(host.spawn("work", async { Ok(()) }).is_ok());
    assert_eq!(
        host.storage().err().unwrap().to_string(),
        "extension `foreign` may not keep data: the settings do not grant it the capability `db`"
    );
    assert!(host.on_any(|_, _| ()).is_err(), "a grant that the manifest does not ask for is no use");
    assert_eq!(running.status()[0].granted, [Capability::Spawn]);
}

struct NamedStore(Notes<String>);

impl StorageBackend for NamedStore {
    fn open(&self, namespace: &str) -> Arc<dyn Storage> {
        self.0.note(namespace.to_owned());
        Arc::new(Empty)
    }

    fn open_joined(&self, namespace: &str, _: &[&str]) -> Arc<dyn Storage> {
        self.open(namespace)
    }
}

struct Empty;

impl Storage for Empty {
    fn migrate(&self, _: Vec<dispatch_contracts::migration::Migration>) -> BoxFuture<'_, Result<(), StorageError>> {
        Box::pin(async { Ok(()) })
    }

    fn query(
        &self,
        _: dispatch_contracts::storage::Statement,
    ) -> BoxFuture<'_, Result<Vec<Vec<dispatch_contracts::storage::SqlValue>>, StorageError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn transact(
        &self,
        _: dispatch_contracts::storage::Keys,
        _: dispatch_contracts::storage::TransactionWork,
    ) -> BoxFuture<'_, Result<Vec<Vec<dispatch_contracts::storage::SqlValue>>, StorageError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StorageError>> {
        Box::pin(async { Ok(None) })
    }

    fn put<'a>(&'a self, _: &'a str, _: Option<Vec<u8>>) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async { Ok(()) })
    }

    fn keys<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, StorageError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[test]
fn each_extension_gets_its_own_store_and_its_own_settings() {
    let mut test = TestHost::new();
    test.setting("extensions.user.depth", json!(3));
    test.setting("extensions.other.depth", json!(9));
    let opened = Notes::default();
    let names = opened.clone();
    let store =
        probe("z-store", json!({"tier": "core", "contributes": {"services": ["kernel/storage"]}}), move |host| {
            let backend: Arc<dyn StorageBackend> = Arc::new(NamedStore(names.clone()));
            host.provide(&STORAGE, backend).map(drop).map_err(ExtensionError::new)
        });
    let user = probe("user", json!({"capabilities": ["db"]}), |host| {
        let depth: Option<u32> = host.settings().read("depth");
        assert_eq!(depth, Some(3));
        host.storage().map(drop).map_err(ExtensionError::new)
    });
    let host = test.run(test.boot(vec![user.bundled(), store.bundled()])).unwrap();
    assert_eq!(state(&host, "user"), ExtensionState::Active);
    assert_eq!(opened.read(), ["user"]);
}

#[test]
fn background_work_ends_with_its_extension() {
    let (test, seen) = (TestHost::new(), Notes::default());
    let notes = seen.clone();
    let changes = json!({"capabilities": ["spawn"], "contributes": {"jobs": ["tick"]}});
    let worker = probe("worker", changes, move |host| {
        let (ticks, clock, task) = (notes.clone(), host.clock(), notes.clone());
        let run = Arc::new(move || -> BoxFuture<'static, _> {
            ticks.note("tick");
            Box::pin(async { Ok(()) })
        });
        host.define_job(Job { name: "tick".into(), every_ms: 1_000, run }).map_err(ExtensionError::new)?;
        let work = host.spawn("long", async move {
            clock.sleep_ms(2_500).await;
            task.note("never");
            Ok(())
        });
        drop(work.map_err(ExtensionError::new)?);
        let taken_back = host.spawn("unwanted", std::future::pending()).map_err(ExtensionError::new)?;
        taken_back.dispose();
        Ok(())
    });
    test.run(async {
        let host = test.boot(vec![worker.bundled()]).await.unwrap();
        test.sleep(2_200).await;
        host.shutdown().await;
    });
    assert_eq!(seen.read(), ["tick", "tick"]);
}

#[test]
fn the_status_is_plain_json() {
    let test = TestHost::new();
    let lost = idle("lost", json!({"tier": "external", "dependsOn": ["nobody"]}));
    let host = test.run(test.boot(vec![lost.external(), idle("fine", json!({})).bundled()])).unwrap();
    let shown = serde_json::to_value(host.status()).unwrap();
    assert_eq!(shown[0]["state"], "active");
    assert_eq!(
        shown[1],
        json!({
            "id": "lost", "origin": "extensions/probe", "version": "1.0.0", "tier": "external", "trust": "external",
            "state": "failed", "reason": "needs `nobody`, which is not installed", "granted": [], "faults": 0, "droppedEvents": 0,
            "contributes": {"tools": [], "providers": [], "auth": [], "hooks": [], "services": [], "routes": [], "commands": [], "jobs": []},
        })
    );
}
