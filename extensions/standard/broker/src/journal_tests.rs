//! The journal on real storage: what is held or has to wait takes no place of what is not.

use crate::dispatch_plan::SenderStanding;
use crate::event_intake::{EventIntake, UnroutedEvent};
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
    let events = numbers.map(|number| UnroutedEvent { event: event(number), needs_hooks: true }).collect();
    let noted = wait(journal.note_events(EventIntake { claim: claim("nobody", 0), events, through })).unwrap();
    assert!(noted.taken.is_empty() && noted.some_wait, "nobody had room for any");
}

#[test]
fn events_that_others_route_take_no_place_in_a_claim() {
    on_both(|journal| {
        open(journal, 1..=6);
        assert_eq!(ids(&wait(journal.claim(claim("a", 2))).unwrap().taken), ["cli:1", "cli:2"]);
        // Two are held: a claim of two still finds two.
        assert_eq!(ids(&wait(journal.claim(claim("a", 2))).unwrap().taken), ["cli:3", "cli:4"]);
        assert_eq!(ids(&wait(journal.claim(claim("b", 9))).unwrap().taken), ["cli:5", "cli:6"]);
        assert!(wait(journal.claim(claim("b", 9))).unwrap().taken.is_empty(), "all are held");
        let after_a = RouteClaim { dead: vec!["a".to_owned()], ..claim("b", 9) };
        let taken = wait(journal.claim(after_a)).unwrap().taken;
        assert_eq!((taken.len(), taken[0].fence), (4, 2), "what a dead process held is free");
        let late = RouteClaim { now_ms: NOW_MS + 30_000, until_ms: NOW_MS + 60_000, ..claim("c", 9) };
        assert_eq!(wait(journal.claim(late)).unwrap().taken.len(), 6, "leases have run out");
    });
}

#[test]
fn new_events_are_taken_with_their_noting_and_those_that_no_hook_sees_are_over() {
    on_both(|journal| {
        let unrouted = |number: u64, peer: &str, needs_hooks| {
            let event = Event { peer_id: peer.to_owned(), ..event(number) };
            UnroutedEvent { event, needs_hooks }
        };
        let noted = || {
            let events = vec![
                unrouted(1, "ann", true),
                unrouted(2, "ann", true),
                unrouted(3, "bob", false),
                unrouted(4, "bob", true),
                unrouted(5, "eve", true),
            ];
            wait(journal.note_events(EventIntake { claim: claim("a", 2), events, through: 5 })).unwrap()
        };
        let first = noted();
        let taken: Vec<(&str, &str)> =
            first.taken.iter().map(|(open, event)| (open.event.as_str(), event.id.as_str())).collect();
        assert_eq!(
            taken,
            [("cli:1", "cli:1"), ("cli:4", "cli:4")],
            "one of a conversation, and no more than asked for"
        );
        assert!(first.some_wait);
        assert!(wait(journal.is_routed("cli:3")).unwrap() && !wait(journal.is_routed("cli:4")).unwrap());
        assert_eq!(wait(journal.cursor(WORKSPACE)).unwrap(), 5);
        let again = noted();
        assert!(again.taken.is_empty() && again.some_wait, "another process may have noted them");
        let others = wait(journal.claim(claim("b", 9))).unwrap();
        assert_eq!((ids(&others.taken), others.some_wait), (vec!["cli:5"], true), "the second waits for the first");
        let (open, _) = first.taken.into_iter().next().unwrap();
        assert!(decided(journal, open, "a", json!({"fire": false})), "what was taken can be decided");
        let others = wait(journal.claim(claim("b", 9))).unwrap();
        assert_eq!((ids(&others.taken), others.some_wait), (vec!["cli:2"], false));
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
        for open in wait(journal.claim(claim("a", 9))).unwrap().taken {
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
        let stopped = wait(journal.claim(claim("a", 9))).unwrap().taken;
        let taken = wait(journal.claim(RouteClaim { dead: vec!["a".to_owned()], ..claim("b", 9) })).unwrap().taken;
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
