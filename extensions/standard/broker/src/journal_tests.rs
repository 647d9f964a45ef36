//! The journal on real storage: what is held or has to wait takes no place of what is not.

use crate::dispatch_plan::SenderStanding;
use crate::hook_result::read_result;
use crate::journal::{HookOutcome, Invocation, Journal, OpenEvent, RouteClaim, RoutedEvent};
use crate::tables::MIGRATIONS;
use dispatch_contracts::storage::{Storage, StorageBackend};
use dispatch_sim::wait;
use dispatch_support::PostgresServer;
use ext_event_ledger::contract::{Event, PeerKind};
use ext_session_orchestrator::contract::Submission;
use ext_storage_postgres::contract::{DatabaseAddress, PostgresBackend};
use ext_storage_sqlite::contract::{Location, SqliteBackend};
use serde_json::{Map, json};
use std::sync::Arc;

const WORKSPACE: &str = "/work";
const NOW_MS: u64 = 1_000_000;

fn journal(storage: Arc<dyn Storage>) -> Journal {
    wait(storage.migrate(MIGRATIONS.to_vec())).unwrap();
    Journal::new(storage)
}

/// The same on both databases.
fn on_both(play: impl Fn(&Journal)) {
    play(&journal(StorageBackend::open(&SqliteBackend::open(&Location::Memory).unwrap(), "broker")));
    let server = PostgresServer::start();
    let backend = PostgresBackend::open(&DatabaseAddress::parse(&server.url()).unwrap()).unwrap();
    play(&journal(StorageBackend::open(&backend, "broker")));
}

fn event(number: u64) -> Event {
    Event {
        id: format!("cli:{number}"),
        sequence: number,
        channel: "cli".to_owned(),
        account_id: "default".to_owned(),
        from: format!("p{number}"),
        peer_kind: PeerKind::Dm,
        peer_id: format!("p{number}"),
        thread_id: None,
        content: "hi".to_owned(),
        content_type: "text".to_owned(),
        timestamp: 0,
        received_at: 0,
        metadata: Map::new(),
        origin: None,
    }
}

fn claim(owner: &str, limit: u32) -> RouteClaim {
    let (workspace, owner) = (WORKSPACE.to_owned(), owner.to_owned());
    RouteClaim { workspace, owner, dead: Vec::new(), now_ms: NOW_MS, until_ms: NOW_MS + 30_000, limit }
}

fn ids(taken: &[OpenEvent]) -> Vec<&str> {
    taken.iter().map(|open| open.event.as_str()).collect()
}

fn open(journal: &Journal, numbers: std::ops::RangeInclusive<u64>) {
    let through = *numbers.end();
    wait(journal.open_events(WORKSPACE, numbers.map(event).collect(), through, NOW_MS)).unwrap();
}

#[test]
fn events_that_others_route_take_no_place_in_a_claim() {
    on_both(|journal| {
        open(journal, 1..=6);
        assert_eq!(ids(&wait(journal.claim(claim("a", 2))).unwrap()), ["cli:1", "cli:2"]);
        // Two are held: a claim of two still finds two.
        assert_eq!(ids(&wait(journal.claim(claim("a", 2))).unwrap()), ["cli:3", "cli:4"]);
        assert_eq!(ids(&wait(journal.claim(claim("b", 9))).unwrap()), ["cli:5", "cli:6"]);
        assert!(wait(journal.claim(claim("b", 9))).unwrap().is_empty(), "all are held");
        let after_a = RouteClaim { dead: vec!["a".to_owned()], ..claim("b", 9) };
        let taken = wait(journal.claim(after_a)).unwrap();
        assert_eq!((taken.len(), taken[0].fence), (4, 2), "what a dead process held is free");
        let late = RouteClaim { now_ms: NOW_MS + 30_000, until_ms: NOW_MS + 60_000, ..claim("c", 9) };
        assert_eq!(wait(journal.claim(late)).unwrap().len(), 6, "leases have run out");
    });
}

fn decided(journal: &Journal, open: OpenEvent, owner: &str, result: serde_json::Value) -> bool {
    let number: u64 = open.event.strip_prefix("cli:").unwrap().parse().unwrap();
    let invocation = Invocation {
        hook: "h".to_owned(),
        origin: "user".to_owned(),
        version: "v".to_owned(),
        priority: 0,
        outcome: HookOutcome::Fired,
        reason: String::new(),
        value: Some(result.clone()),
        result: read_result(&result).unwrap(),
        ms: 1,
        dispatch: format!("d{number}"),
    };
    let routed = RoutedEvent {
        open,
        owner: owner.to_owned(),
        workspace: WORKSPACE.to_owned(),
        event: event(number),
        sender: SenderStanding::default(),
        invocations: vec![invocation],
        submission: Box::new(|planned, id| Submission {
            session: planned.label.clone(),
            text: "hi".to_owned(),
            id: Some(id.to_owned()),
            ..Submission::default()
        }),
        now_ms: NOW_MS,
    };
    wait(journal.decide(routed)).unwrap()
}

#[test]
fn a_full_session_takes_no_place_of_others_in_the_hand_over() {
    on_both(|journal| {
        open(journal, 1..=3);
        for open in wait(journal.claim(claim("a", 9))).unwrap() {
            let session = if open.event == "cli:3" { "free" } else { "full" };
            assert!(decided(journal, open, "a", json!({"fire": true, "routing": {"session": session}})));
        }
        let waiting = |now_ms| -> Vec<String> {
            wait(journal.waiting(WORKSPACE, now_ms)).unwrap().into_iter().map(|it| it.id).collect()
        };
        assert_eq!(waiting(NOW_MS), ["d1", "d2", "d3"]);
        wait(journal.set_dispatch("d1", "waiting", "full", NOW_MS + 1_000)).unwrap();
        assert_eq!(waiting(NOW_MS), ["d3"], "what stands behind it in its session waits too");
        assert_eq!(waiting(NOW_MS + 1_000), ["d1", "d2", "d3"]);
        wait(journal.set_dispatch("d1", "handed", "", NOW_MS)).unwrap();
        assert_eq!(waiting(NOW_MS), ["d2", "d3"]);
    });
}

#[test]
fn whoever_lost_an_event_decides_nothing_and_a_hook_disables_itself_once() {
    on_both(|journal| {
        open(journal, 1..=2);
        let stopped = wait(journal.claim(claim("a", 9))).unwrap();
        let taken = wait(journal.claim(RouteClaim { dead: vec!["a".to_owned()], ..claim("b", 9) })).unwrap();
        let once = json!({"fire": true, "disableHook": true});
        assert!(!decided(journal, stopped[0].clone(), "a", once.clone()), "it was taken over");
        for open in taken {
            assert!(decided(journal, open.clone(), "b", once.clone()));
            assert!(!decided(journal, open, "b", once.clone()), "what was decided stays decided");
        }
        let outcome = |id: &str| wait(journal.invocations(id)).unwrap().remove(0).outcome;
        assert_eq!((outcome("cli:1").as_str(), outcome("cli:2").as_str()), ("fired", "hook_already_disabled"));
        assert_eq!(wait(journal.dispatches("cli:2")).unwrap().len(), 0);
        assert_eq!(wait(journal.disabled()).unwrap().len(), 1);
    });
}
