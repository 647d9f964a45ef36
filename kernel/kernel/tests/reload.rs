//! Changing the extensions of a running host: order, no gap, a failed start, running turns.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "support/test_host.rs"]
mod test_host;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::{Command, Job, Route};
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::fault::Disabled;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{Denial, TOOL_BEFORE, TURN_STARTED, TurnStarted};
use dispatch_contracts::host::Host;
use dispatch_contracts::manifest::Capability;
use dispatch_kernel::bus::{Bus, WaitLog};
use dispatch_kernel::host::{Candidate, ChangeOutcome, ExtensionHost, ExtensionState, RosterUpdate, disable, enable};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use test_host::{Notes, Probe, TestHost, idle, probe, probe_async, state, tool_before, turn};

impl TestHost {
    async fn update(&self, host: &ExtensionHost, extensions: Vec<Candidate>) -> Vec<String> {
        let update = RosterUpdate { extensions, settings: self.settings.clone(), grants: self.grants.clone() };
        host.update(update).await.unwrap().iter().map(ToString::to_string).collect()
    }
}

/// An extension that refuses every call in its own words, offers a command of its id, and notes its life.
fn version(id: &'static str, word: &'static str, changes: Value, life: &Notes<String>) -> Probe {
    let mut declared = json!({ "contributes": { "commands": [id] } });
    for (key, value) in changes.as_object().unwrap() {
        declared[key] = value.clone();
    }
    let (starts, stops) = (life.clone(), life.clone());
    let extension = probe(id, declared, move |host| {
        add_guard(host, word)?;
        let respond = Arc::new(move |_| -> BoxFuture<'static, Result<Value, HandlerError>> {
            Box::pin(async move { Ok(Value::from(word)) })
        });
        let command = Command { name: id.to_owned(), summary: String::new(), respond };
        host.define_command(command).map_err(ExtensionError::new)?;
        starts.note(format!("+{word}"));
        Ok(())
    });
    extension.on_deactivate(move || {
        stops.note(format!("-{word}"));
        Box::pin(async { Ok(()) })
    })
}

fn add_guard(host: &Host, word: &'static str) -> Result<(), ExtensionError> {
    let guard = move |mut value: dispatch_contracts::hooks::ToolBefore| async move {
        value.denied.get_or_insert(Denial { code: "TEST".to_owned(), reason: word.to_owned() });
        Ok(value)
    };
    host.filter(&TOOL_BEFORE, 0, guard).map(drop).map_err(ExtensionError::new)
}

/// Who refuses a call.
async fn guard(bus: &Bus) -> String {
    let judged = bus.apply(&TOOL_BEFORE, tool_before("x"), &WaitLog::new()).await.unwrap();
    judged.denied.map_or_else(|| "nobody".to_owned(), |denial| denial.reason)
}

async fn answer(host: &ExtensionHost, command: &str) -> Value {
    let found = host.commands().into_iter().find(|it| it.name == command).unwrap();
    (found.item.respond)(Value::Null).await.unwrap()
}

fn with_fresh(make: impl Fn() -> Probe + Send + Sync + 'static) -> Candidate {
    let fresh = move || Some(Arc::new(make()) as Arc<dyn Extension>);
    let extension = fresh().unwrap();
    Candidate { fresh: Some(Arc::new(fresh)), ..Candidate::bundled(extension) }
}

#[test]
fn a_new_version_takes_the_place_of_the_old_one_and_dependents_start_again_with_it() {
    let (test, life) = (TestHost::new(), Notes::default());
    test.run(async {
        let dependent = {
            let life = life.clone();
            with_fresh(move || version("b", "b1", json!({"dependsOn": ["a"]}), &life))
        };
        let other = version("c", "c1", json!({}), &life).bundled();
        let host = test
            .boot(vec![version("a", "a1", json!({}), &life).bundled(), dependent.clone(), other.clone()])
            .await
            .unwrap();
        let new = version("a", "a2", json!({"version": "2.0.0"}), &life).bundled();
        let said = test.update(&host, vec![new, dependent, other]).await;
        assert_eq!(said, ["extension `a` 2.0.0 was loaded again", "extension `b` 1.0.0 was loaded again"]);
        assert_eq!(answer(&host, "a").await, "a2");
        assert_eq!(host.commands().len(), 3);
        assert_eq!(guard(host.bus()).await, "a2");
    });
    assert_eq!(life.read(), ["+a1", "+b1", "+c1", "+a2", "+b1", "-b1", "-a1"]);
}

/// An extension with one route.
fn routed(id: &'static str, version: &'static str, path: &'static str) -> Candidate {
    let declared = json!({"version": version, "contributes": {"routes": [format!("GET {path}")]}});
    let extension = probe(id, declared, move |host| {
        let respond =
            Arc::new(|request| -> BoxFuture<'static, Result<Value, HandlerError>> { Box::pin(async { Ok(request) }) });
        let route = Route { method: "GET".into(), path: path.into(), summary: "".into(), respond };
        host.define_route(route).map(drop).map_err(ExtensionError::new)
    });
    extension.bundled()
}

#[test]
fn a_new_version_has_the_routes_of_the_old_one_and_not_those_of_others() {
    let test = TestHost::new();
    test.run(async {
        let other = routed("other", "1.0.0", "/v1/others/{id}");
        let host = test.boot(vec![routed("a", "1.0.0", "/v1/things/{id}"), other.clone()]).await.unwrap();
        let said = test.update(&host, vec![routed("a", "2.0.0", "/v1/things/{name}"), other.clone()]).await;
        assert_eq!(said, ["extension `a` 2.0.0 was loaded again"]);
        let names: Vec<String> = host.routes().into_iter().map(|route| route.name).collect();
        assert_eq!(names, ["GET /v1/others/{id}", "GET /v1/things/{name}"]);
        let said = test.update(&host, vec![routed("a", "3.0.0", "/v1/others/{name}"), other]).await;
        assert!(said.len() == 1 && said[0].contains("`other`"), "{said:?}");
        assert_eq!(host.routes().len(), 2);
    });
}

#[test]
fn a_request_finds_the_route_whose_parts_it_has() {
    let test = TestHost::new();
    test.run(async {
        let fixed = routed("a", "1.0.0", "/v1/things/all");
        let host = test.boot(vec![fixed, routed("b", "1.0.0", "/v1/things/{id}/parts")]).await.unwrap();
        let found = |method, path| host.route_for(method, path).map(|route| route.name);
        for (method, path, expected) in [
            ("GET", "/v1/things/all", Some("GET /v1/things/all")),
            ("get", "/v1/things/all", Some("GET /v1/things/all")),
            ("POST", "/v1/things/all", None),
            ("GET", "/v1/things/7", None),
            ("GET", "/v1/things/7/parts", Some("GET /v1/things/{id}/parts")),
            ("GET", "/v1/things//parts", None),
            ("GET", "/v1/things/7/parts/", None),
            ("GET", "/v1/things", None),
        ] {
            assert_eq!(found(method, path).as_deref(), expected, "{method} {path}");
        }
        assert!(host.raw_route_for("GET", "/v1/things/all").is_none());
    });
}

#[test]
fn a_version_that_does_not_start_leaves_the_old_one_running_and_is_not_tried_again() {
    let (test, life) = (TestHost::new(), Notes::default());
    let tries = Notes::default();
    let counted = tries.clone();
    test.run(async {
        let host = test.boot(vec![version("a", "a1", json!({}), &life).bundled()]).await.unwrap();
        let broken = probe("a", json!({"contributes": {"commands": ["a"]}}), move |host| {
            counted.note(());
            add_guard(host, "broken")?;
            Err(ExtensionError("index.ts:3: no such thing".to_owned()))
        });
        let broken = broken.bundled();
        let said = test.update(&host, vec![broken.clone()]).await;
        let kept = "extension `a` did not start again, so the version before runs on: index.ts:3: no such thing";
        assert_eq!(said, [kept]);
        assert_eq!((answer(&host, "a").await, guard(host.bus()).await), (json!("a1"), "a1".to_owned()));
        assert_eq!((state(&host, "a"), host.status()[0].faults), (ExtensionState::Active, 0));
        assert!(test.log.read().iter().any(|record| record.message == kept), "it is in the log");
        assert_eq!(test.update(&host, vec![broken]).await, Vec::<String>::new());
        let said = test.update(&host, vec![version("a", "a2", json!({}), &life).bundled()]).await;
        assert_eq!(said, ["extension `a` 1.0.0 was loaded again"]);
        assert_eq!(answer(&host, "a").await, "a2");
    });
    assert_eq!((tries.read().len(), life.read()), (1, vec!["+a1".into(), "+a2".into(), "-a1".into()]));
}

#[test]
fn a_turn_keeps_what_it_began_with_until_it_ends() {
    let (test, life) = (TestHost::new(), Notes::default());
    test.run(async {
        let host = test.boot(vec![version("a", "a1", json!({}), &life).bundled()]).await.unwrap();
        let first = host.begin_turn();
        test.update(&host, vec![version("a", "a2", json!({}), &life).bundled()]).await;
        let second = host.begin_turn();
        test.update(&host, vec![]).await;
        let third = host.begin_turn();
        let guards = (guard(first.bus()).await, guard(second.bus()).await, guard(third.bus()).await);
        assert_eq!(guards, ("a1".to_owned(), "a2".to_owned(), "nobody".to_owned()));
        test.sleep(1).await;
        assert_eq!(life.read(), ["+a1", "+a2"]);
        drop(second);
        test.sleep(1).await;
        assert_eq!(life.read(), ["+a1", "+a2"], "the first turn began before, so it may hold on to it");
        drop(first);
        test.sleep(1).await;
        let stopped: BTreeSet<String> = life.read().into_iter().skip(2).collect();
        assert_eq!(stopped, BTreeSet::from(["-a1".to_owned(), "-a2".to_owned()]));
        drop(third);
    });
}

#[test]
fn a_guard_is_never_missing_while_its_next_version_starts() {
    let (test, life) = (TestHost::new(), Notes::default());
    test.run(async {
        let host = test.boot(vec![version("a", "a1", json!({}), &life).bundled()]).await.unwrap();
        let clock = test.sim.clock();
        let slow = probe_async("a", json!({}), move |host| {
            let clock = clock.clone();
            Box::pin(async move {
                add_guard(&host, "a2")?;
                dispatch_contracts::ports::Clock::sleep_ms(&clock, 2_000).await;
                Ok(())
            })
        });
        let (updating, watching) = (test.update(&host, vec![slow.bundled()]), async {
            for _ in 0..19 {
                test.sleep(100).await;
                assert_eq!(guard(host.bus()).await, "a1");
            }
        });
        futures_util::future::join(updating, watching).await;
        assert_eq!(guard(host.bus()).await, "a2");
    });
}

#[test]
fn each_event_reaches_one_version_and_jobs_of_the_old_one_end() {
    let (test, seen) = (TestHost::new(), Notes::default());
    let make = |word: &'static str| {
        let seen = seen.clone();
        let changes = json!({"contributes": {"jobs": ["tick"]}, "capabilities": ["spawn"]});
        probe("a", changes, move |host| {
            let (events, ticks) = (seen.clone(), seen.clone());
            host.on(&TURN_STARTED, move |_| {
                events.note(format!("{word} event"));
                async { Ok(()) }
            })
            .map_err(ExtensionError::new)?;
            let run = move || -> BoxFuture<'static, _> {
                ticks.note(format!("{word} tick"));
                Box::pin(async { Ok(()) })
            };
            let job = Job { name: "tick".into(), every_ms: 1_000, run: Arc::new(run) };
            host.define_job(job).map(drop).map_err(ExtensionError::new)
        })
        .bundled()
    };
    test.run(async {
        let host = test.boot(vec![make("old")]).await.unwrap();
        let held = host.begin_turn();
        test.update(&host, vec![make("new")]).await;
        host.bus().emit(&TURN_STARTED, TurnStarted { turn: turn(), model: "m".to_owned() });
        test.sleep(1_500).await;
        drop(held);
        host.shutdown().await;
    });
    assert_eq!(seen.read(), ["new event", "new tick"]);
}

#[test]
fn what_comes_lets_others_start_and_what_goes_stops_them() {
    let (test, life) = (TestHost::new(), Notes::default());
    test.run(async {
        let dependent = {
            let life = life.clone();
            with_fresh(move || version("b", "b1", json!({"dependsOn": ["a"]}), &life))
        };
        let host = test.boot(vec![dependent.clone()]).await.unwrap();
        assert!(matches!(state(&host, "b"), ExtensionState::Failed { .. }));
        let a = version("a", "a1", json!({}), &life).bundled();
        test.update(&host, vec![dependent.clone(), a]).await;
        assert_eq!((state(&host, "a"), state(&host, "b")), (ExtensionState::Active, ExtensionState::Active));
        let said = test.update(&host, vec![dependent]).await;
        assert_eq!(
            said,
            [
                "extension `b` stopped: needs `a`, which is not installed",
                "extension `a` stopped: it is not there any more"
            ]
        );
        assert!(host.commands().is_empty());
        assert_eq!(guard(host.bus()).await, "nobody");
    });
    assert_eq!(life.read(), ["+a1", "+b1", "-b1", "-a1"]);
}

#[test]
fn what_another_process_switches_off_and_on_stops_and_starts() {
    let (test, life) = (TestHost::new(), Notes::default());
    test.run(async {
        let extension = {
            let life = life.clone();
            with_fresh(move || version("a", "a1", json!({}), &life))
        };
        let host = test.boot(vec![extension.clone()]).await.unwrap();
        let entry = Disabled { extension: "a".into(), reason: "by hand".to_owned(), at_ms: 0, filters: Vec::new() };
        disable(test.store.as_ref(), entry).await.unwrap();
        assert_eq!(test.update(&host, vec![extension.clone()]).await, ["extension `a` stopped: by hand"]);
        assert_eq!(state(&host, "a"), ExtensionState::Disabled { reason: "by hand".to_owned() });
        assert!(host.commands().is_empty());
        enable(test.store.as_ref(), &"a".into()).await.unwrap();
        assert_eq!(test.update(&host, vec![extension]).await, ["extension `a` 1.0.0 started"]);
        assert_eq!(answer(&host, "a").await, "a1");
    });
    assert_eq!(life.read(), ["+a1", "-a1", "+a1"]);
}

#[test]
fn other_settings_or_grants_start_an_external_extension_again() {
    let (mut test, seen) = (TestHost::new(), Notes::default());
    let noted = seen.clone();
    let make = move || {
        let noted = noted.clone();
        probe("a", json!({"tier": "external", "capabilities": ["db"]}), move |host| {
            let word: String = host.settings().read("word").unwrap_or_default();
            let may_store = host.dynamic().require("keep data", Capability::Db).is_ok();
            noted.note(format!("{word} {may_store}"));
            Ok(())
        })
    };
    let external = Candidate { trust: dispatch_contracts::manifest::Trust::External, ..with_fresh(make) };
    let host = test.run(test.boot(vec![external.clone()])).unwrap();
    test.setting("extensions.a.word", json!("hi"));
    test.setting("extensions.b.word", json!("unrelated"));
    test.run(test.update(&host, vec![external.clone()]));
    assert_eq!(test.run(test.update(&host, vec![external.clone()])), Vec::<String>::new());
    test.grants.insert("a".into(), BTreeSet::from([Capability::Db]));
    let changes = test.run(host.update(RosterUpdate {
        extensions: vec![external],
        settings: test.settings.clone(),
        grants: test.grants.clone(),
    }));
    assert_eq!(changes.unwrap()[0].outcome, ChangeOutcome::Replaced);
    assert_eq!(seen.read(), [" false", "hi false", "hi true"]);
}

#[test]
fn a_disabled_extension_that_is_replaced_by_hand_is_forgiven_only_when_it_is_enabled() {
    let test = TestHost::new();
    test.run(async {
        let broken = |word: &'static str| {
            probe("a", json!({}), move |host| {
                host.filter(&TOOL_BEFORE, 0, move |_| async move { Err(HandlerError(word.to_owned())) })
                    .map(drop)
                    .map_err(ExtensionError::new)
            })
            .bundled()
        };
        let host = test.boot(vec![broken("one")]).await.unwrap();
        for _ in 0..3 {
            assert!(host.bus().apply(&TOOL_BEFORE, tool_before("x"), &WaitLog::new()).await.is_err());
        }
        test.update(&host, vec![broken("two")]).await;
        assert!(matches!(state(&host, "a"), ExtensionState::Disabled { .. }));
        assert!(host.bus().apply(&TOOL_BEFORE, tool_before("x"), &WaitLog::new()).await.is_err(), "it stays shut");
        enable(test.store.as_ref(), &"a".into()).await.unwrap();
        test.update(&host, vec![idle("a", json!({})).bundled()]).await;
        assert_eq!(state(&host, "a"), ExtensionState::Active);
        assert!(host.bus().apply(&TOOL_BEFORE, tool_before("x"), &WaitLog::new()).await.is_ok());
    });
}

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Which extensions are there, in which version, and whether each needs the one before it.
fn any_world() -> impl Strategy<Value = Vec<Option<(u8, bool)>>> {
    proptest::collection::vec(proptest::option::of((0..3_u8, any::<bool>())), IDS.len())
}

/// The same version is the same instance.
fn candidates(
    world: &[Option<(u8, bool)>],
    made: &mut std::collections::BTreeMap<(usize, u8, bool), Candidate>,
) -> Vec<Candidate> {
    let there = world.iter().enumerate().filter_map(|(at, one)| one.map(|(number, needs)| (at, number, needs)));
    there
        .map(|key| {
            let (at, number, needs) = key;
            let needed = IDS.get(at.wrapping_sub(1)).filter(|_| needs).copied();
            let make = move || {
                let depends_on: Vec<&str> = needed.into_iter().collect();
                let name = IDS[at];
                let changes = json!({ "dependsOn": depends_on, "contributes": { "commands": [name] } });
                probe(name, changes, move |host| {
                    let respond = Arc::new(move |_| -> BoxFuture<'static, Result<Value, HandlerError>> {
                        Box::pin(async move { Ok(Value::from(number)) })
                    });
                    let command = Command { name: name.to_owned(), summary: String::new(), respond };
                    host.define_command(command).map(drop).map_err(ExtensionError::new)
                })
            };
            made.entry(key).or_insert_with(|| with_fresh(make)).clone()
        })
        .collect()
}

/// What the host offers, for comparison.
async fn offer(host: &ExtensionHost) -> Vec<(String, Value)> {
    let mut offered = Vec::new();
    for command in host.commands() {
        offered.push((command.name.clone(), (command.item.respond)(Value::Null).await.unwrap()));
    }
    offered
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_way_of_changes_ends_where_a_fresh_start_does(worlds in proptest::collection::vec(any_world(), 1..6)) {
        let test = TestHost::new();
        test.run(async {
            let mut made = std::collections::BTreeMap::new();
            let host = test.boot(vec![]).await.unwrap();
            for world in &worlds {
                test.update(&host, candidates(world, &mut made)).await;
            }
            let last = candidates(worlds.last().unwrap(), &mut std::collections::BTreeMap::new());
            let fresh = test.boot(last).await.unwrap();
            assert_eq!(offer(&host).await, offer(&fresh).await);
            let states = |host: &ExtensionHost| -> Vec<_> {
                host.status().into_iter().map(|it| (it.id, std::mem::discriminant(&it.state))).collect()
            };
            assert_eq!(states(&host), states(&fresh));
        });
    }
}
