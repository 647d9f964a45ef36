//! Sessions, turns, rows and calls, written the way the orchestrator writes them, over real SQLite.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/test_ledger.rs"]
mod test_ledger;

use dispatch_contracts::conversation::{Message, ResultStatus, Role, RowBody};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, StorageError};
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::ledger::{
    NewTurn, append_row, begin_turn, load_rows, load_turn, running_turns, sweep,
};
use ext_conversation_store::contract::{ConversationError, MAX_TITLE_CHARS, Session, SessionFilter, TurnState};
use test_ledger::{TestLedger, asked, call, ended, row, said, started, step_ended, text};

fn given_up<T: std::fmt::Debug>(outcome: Result<T, StorageError>) -> String {
    match outcome {
        Err(StorageError::GivenUp(said)) => said,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_conversation_is_read_as_the_model_would_get_it() {
    for ledger in [TestLedger::file(), TestLedger::memory()] {
        let session = ledger.session("main");
        ledger.exchange(&session, "t1", "hello", "hi");
        ledger.exchange(&session, "t2", "how are you", "well");
        let history = ledger.run(ledger.conversations.history("main")).unwrap();
        let spoken =
            [(Role::User, "hello"), (Role::Assistant, "hi"), (Role::User, "how are you"), (Role::Assistant, "well")];
        assert_eq!(history.messages(), spoken.map(|(role, said)| Message::text(role, said)));
        assert_eq!(history.turns.iter().map(|turn| turn.ord).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(history.session.last_seq, 8);
        let raw = ledger.write(move |tx| load_rows(tx, &session)).unwrap();
        assert_eq!(raw, history.rows, "a clean log needs no repair");
        assert!(ledger.run(ledger.conversations.history("other")).is_err());
        let fresh = ledger.run(ledger.conversations.create("fresh", "coder")).unwrap();
        assert_eq!((fresh.head, fresh.turns, fresh.last_seq), (None, 0, 0));
        assert!(ledger.run(ledger.conversations.history("fresh")).unwrap().messages().is_empty());
    }
}

#[test]
fn positions_have_no_gaps_and_a_client_resumes_at_one() {
    let ledger = TestLedger::file();
    let session = ledger.session("main");
    ledger.exchange(&session, "t1", "a", "b");
    ledger.begin(&session, "t2", 2);
    let first = row("t2", 0, 0, text(Role::User, 0, 0, "c"));
    assert_eq!(ledger.append(&session, 2, &first), Ok(5));
    assert_eq!(ledger.append(&session, 2, &first), Ok(5), "a row that was written is not written again");
    let other = row("t2", 0, 0, text(Role::User, 0, 0, "something else"));
    assert!(given_up(ledger.append(&session, 2, &other)).contains("another row"));
    let rolled_back = {
        let session = session.clone();
        ledger.write(move |tx| {
            append_row(tx, &session, 2, &row("t2", 1, 0, step_ended()))?;
            Err::<(), _>(StorageError::GivenUp("crashed".into()))
        })
    };
    assert!(rolled_back.is_err());
    assert_eq!(
        ledger.append(&session, 2, &row("t2", 2, 0, step_ended())),
        Ok(6),
        "what was rolled back took no number"
    );
    let after = |seq, limit| {
        let rows = ledger.run(ledger.conversations.rows_after(&session, seq, limit)).unwrap();
        rows.iter().map(|stored| stored.seq).collect::<Vec<_>>()
    };
    assert_eq!(after(0, 0), [1, 2, 3, 4, 5, 6]);
    assert_eq!(after(4, 1), [5]);
    assert_eq!(after(6, 10), [0_u64; 0]);
    assert_eq!(after(u64::MAX, 10), [0_u64; 0]);
}

#[test]
fn a_writer_with_another_fence_is_refused() {
    let ledger = TestLedger::file();
    let session = ledger.session("main");
    let t1 = ledger.begin(&session, "t1", 5);
    let user = row("t1", 0, 0, text(Role::User, 0, 0, "x"));
    for fence in [4, 6] {
        assert!(given_up(ledger.append(&session, fence, &user)).contains("fence 5"));
        assert!(given_up(ledger.end(&t1, fence)).contains("fence 5"));
    }
    ledger.append(&session, 5, &user).unwrap();
    let known = ledger.run(ledger.conversations.session("main")).unwrap().unwrap();
    let second = |fence, read: &Session| {
        let new = NewTurn { id: "t2".into(), fence, model: "m".into(), at_ms: ledger.now() };
        let read = read.clone();
        ledger.write(move |tx| {
            begin_turn(tx, &read, &new, &[])?;
            Ok(load_turn(tx, &new.id)?.unwrap())
        })
    };
    assert!(given_up(second(5, &known)).contains("still running"), "one turn at a time");
    for stale in [Session { head: None, ..known.clone() }, Session { last_seq: 0, ..known.clone() }] {
        assert!(given_up(second(6, &stale)).contains("moved on"), "behind the head alone");
    }
    let t2 = second(6, &known).unwrap();
    assert_eq!((t2.ord, t2.state, t2.fence), (1, TurnState::Running, 6));
    let t1_now = ledger.run(ledger.conversations.turn(&t1)).unwrap().unwrap().turn;
    assert_eq!(t1_now.state, TurnState::Interrupted, "a higher fence says that the lower one is dead");
    let late = row("t1", 1, 0, text(Role::Assistant, 0, 0, "late"));
    assert!(given_up(ledger.append(&session, 5, &late)).contains("is over"));
    assert!(given_up(ledger.end(&t1, 5)).contains("is over"));
}

#[test]
fn a_turn_ends_once() {
    let ledger = TestLedger::file();
    let session = ledger.session("main");
    let t1 = ledger.exchange(&session, "t1", "q", "a");
    ledger.end(&t1, 1).unwrap();
    let other = {
        let t1 = t1.clone();
        ledger.write(move |tx| {
            ext_conversation_store::contract::ledger::end_turn(tx, &t1, 1, &TurnEnd::Cancelled, &Default::default(), 9)
        })
    };
    assert!(given_up(other).contains("is over"));
    let known = ledger.run(ledger.conversations.turn(&t1)).unwrap().unwrap();
    assert_eq!((known.turn.end, known.turn.state), (Some(TurnEnd::Finished), TurnState::Ended));
    let none = given_up(ledger.end(&TurnId::new("missing"), 1));
    assert!(none.contains("no turn `missing`"), "{none}");
}

#[test]
fn calls_are_known_before_they_run_and_run_at_most_once() {
    let ledger = TestLedger::file();
    let session = ledger.session("main");
    let t1 = ledger.begin(&session, "t1", 1);
    let bodies = [
        text(Role::User, 0, 0, "go"),
        asked(0, "a"),
        asked(1, "b"),
        asked(2, "c"),
        started(0, "a"),
        started(1, "b"),
        ended("a", ResultStatus::Succeeded),
        ended("c", ResultStatus::Denied),
    ];
    ledger.append_all(&session, 1, bodies.into_iter().enumerate().map(|(at, body)| row("t1", at, 0, body)).collect());
    let again = ledger.append(&session, 1, &row("t1", 20, 0, RowBody::CallStarted { index: 0, call: call("a") }));
    assert!(matches!(again, Err(StorageError::Constraint(_))), "{again:?}");
    let calls = |ledger: &TestLedger| {
        let mut calls = ledger.run(ledger.conversations.turn(&t1)).unwrap().unwrap().calls;
        calls.sort_by(|one, other| one.call.cmp(&other.call));
        calls.into_iter().map(|call| (call.name, call.status, call.started_at_ms.is_some())).collect::<Vec<_>>()
    };
    let a = ("tool-a".to_owned(), Some(ResultStatus::Succeeded), true);
    let c = ("tool-c".to_owned(), Some(ResultStatus::Denied), false);
    assert_eq!(calls(&ledger), [a.clone(), ("tool-b".to_owned(), None, true), c.clone()]);
    let (dead, now) = (t1.clone(), ledger.now());
    assert_eq!(ledger.write(move |tx| sweep(tx, &[dead], now)), Ok(1));
    assert_eq!(calls(&ledger), [a, ("tool-b".to_owned(), Some(ResultStatus::Unknown), true), c]);
}

#[test]
fn the_sweep_closes_the_turns_it_is_told_and_believes_their_rows() {
    let ledger = TestLedger::file();
    let sessions = ["a", "b", "c"].map(|label| ledger.session(label));
    let turns = [0, 1, 2].map(|at| ledger.begin(&sessions[at], &format!("t{at}"), 1));
    ledger.append(&sessions[0], 1, &row("t0", 0, 0, text(Role::User, 0, 0, "cut"))).unwrap();
    ledger.append(&sessions[0], 1, &row("t0", 1, 0, step_ended())).unwrap();
    ledger.append_all(&sessions[1], 1, said("t1", "whole", "answer"));
    assert_eq!(ledger.write(running_turns).unwrap().len(), 3);
    let dead = [turns[0].clone(), turns[1].clone(), TurnId::new("missing")];
    let now = ledger.now();
    assert_eq!(ledger.write(move |tx| sweep(tx, &dead, now)), Ok(2));
    let state = |at: usize| ledger.run(ledger.conversations.turn(&turns[at])).unwrap().unwrap().turn;
    assert_eq!((state(0).state, state(0).end), (TurnState::Interrupted, None));
    assert_eq!(state(0).usage.input_tokens, 10, "what it cost is known from its rows");
    assert_eq!((state(1).state, state(1).end), (TurnState::Ended, Some(TurnEnd::Finished)));
    assert_eq!(state(2).state, TurnState::Running, "another process drives it");
    let (dead, now) = (turns[0].clone(), ledger.now());
    assert_eq!(ledger.write(move |tx| sweep(tx, &[dead], now)), Ok(0));
}

#[test]
fn a_fork_shares_turns_and_goes_its_own_way() {
    let ledger = TestLedger::file();
    let main = ledger.session("main");
    let t1 = ledger.exchange(&main, "t1", "one", "1");
    ledger.exchange(&main, "t2", "two", "2");
    let fork = ledger.run(ledger.conversations.fork("main", Some(&t1), "try")).unwrap();
    assert_eq!(fork.head.as_ref(), Some(&t1));
    assert_eq!(fork.forked_from.as_ref().map(|from| (&from.session, from.turn.as_ref())), Some((&main, Some(&t1))));
    ledger.exchange(&fork.id, "f1", "other", "way");
    let questions = |label| {
        let history = ledger.run(ledger.conversations.history(label)).unwrap();
        history.turns.into_iter().map(|turn| turn.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((questions("main"), questions("try")), (vec!["t1".into(), "t2".into()], vec!["t1".into(), "f1".into()]));
    assert_eq!(ledger.run(ledger.conversations.rows_after(&fork.id, 0, 0)).unwrap().len(), 4, "its own rows alone");
    let at_head = ledger.run(ledger.conversations.fork("try", None, "again")).unwrap();
    assert_eq!(at_head.head.unwrap().as_str(), "f1");
    let shared = ledger.run(ledger.conversations.fork("again", Some(&t1), "shared")).unwrap();
    assert_eq!(shared.head, Some(t1.clone()), "any turn of its history will do");
    let foreign = ledger.run(ledger.conversations.fork("try", Some(&TurnId::new("t2")), "x"));
    assert!(matches!(foreign, Err(ConversationError::NoTurn { .. })), "{foreign:?}");
    let taken = ledger.run(ledger.conversations.fork("try", None, "main"));
    assert_eq!(taken, Err(ConversationError::LabelTaken { label: "main".into() }));
    ledger.begin(&main, "t3", 2);
    let running = ledger.run(ledger.conversations.fork("main", None, "x"));
    assert_eq!(running, Err(ConversationError::Running { label: "main".into() }));
    assert_eq!(ledger.run(ledger.conversations.session("x")).unwrap(), None, "nothing was left behind");
}

#[test]
fn deleting_keeps_what_forks_go_on_from_and_nothing_else() {
    let ledger = TestLedger::file();
    let main = ledger.session("main");
    let t1 = ledger.exchange(&main, "t1", "shared words", "1");
    ledger.exchange(&main, "t2", "lonely words", "2");
    let fork = ledger.run(ledger.conversations.fork("main", Some(&t1), "try")).unwrap();
    ledger.exchange(&fork.id, "f1", "other", "way");
    let running = ledger.begin(&main, "t3", 2);
    assert_eq!(
        ledger.run(ledger.conversations.delete("main")),
        Err(ConversationError::Running { label: "main".into() })
    );
    ledger.end(&running, 2).unwrap();
    ledger.run(ledger.conversations.delete("main")).unwrap();
    let history = ledger.run(ledger.conversations.history("try")).unwrap();
    assert_eq!(history.messages().len(), 4);
    for gone in ["t2", "t3"] {
        assert_eq!(ledger.run(ledger.conversations.turn(&gone.into())).unwrap(), None);
    }
    let hits = ledger.run(ledger.conversations.search("words", 10)).unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].label.as_str(), &hits[0].turn), ("try", &t1), "found through the fork");
    ledger.session("main");
    ledger.run(ledger.conversations.delete("try")).unwrap();
    let left = ledger.write(|tx| {
        let mut counts = Vec::new();
        for table in ["agent_turns", "agent_messages", "agent_tool_calls", "agent_texts"] {
            let count = tx.query(&statement!(format!("SELECT COUNT(*) FROM {table}")))?;
            counts.push(count[0].integer(0)?);
        }
        Ok(counts)
    });
    assert_eq!(left, Ok(vec![0; 4]), "the last one takes the shared turns with it");
    assert_eq!(ledger.run(ledger.conversations.search("words", 10)), Ok(Vec::new()));
    assert!(matches!(ledger.run(ledger.conversations.delete("try")), Err(ConversationError::NoSession { .. })));
}

#[test]
fn sessions_are_listed_named_and_titled() {
    let ledger = TestLedger::file();
    for label in ["chat:1", "chat:2", "work"] {
        ledger.session(label);
    }
    let list = |filter| {
        let found = ledger.run(ledger.conversations.sessions(filter)).unwrap();
        found.into_iter().map(|session| session.label).collect::<Vec<_>>()
    };
    assert_eq!(list(SessionFilter::default()), ["work", "chat:2", "chat:1"]);
    let chats = SessionFilter { label_prefix: Some("chat:".into()), limit: 1, ..SessionFilter::default() };
    assert_eq!(list(chats), ["chat:2"]);
    assert!(list(SessionFilter { persona: Some("nobody".into()), ..SessionFilter::default() }).is_empty());
    let first = ledger.run(ledger.conversations.session("chat:1")).unwrap().unwrap();
    ledger.exchange(&first.id, "t1", "q", "a");
    assert_eq!(list(SessionFilter::default())[0], "chat:1", "the one that changed last comes first");
    let before = SessionFilter { updated_before_ms: Some(first.updated_at_ms + 1), ..SessionFilter::default() };
    assert!(list(before).is_empty(), "it has changed since");
    let renamed = ledger.run(ledger.conversations.rename("work", "play")).unwrap();
    assert_eq!(renamed.label, "play");
    let taken = ledger.run(ledger.conversations.rename("play", "chat:1"));
    assert_eq!(taken, Err(ConversationError::LabelTaken { label: "chat:1".into() }));
    let bad = ledger.run(ledger.conversations.create("two words", "coder"));
    assert!(matches!(bad, Err(ConversationError::BadLabel { .. })), "{bad:?}");
    let titled = ledger.run(ledger.conversations.set_title("play", Some(" a\n\ttitle\u{7} "))).unwrap();
    assert_eq!(titled.title.as_deref(), Some("a title"));
    let long = ledger.run(ledger.conversations.set_title("play", Some(&"\u{e9}".repeat(5_000)))).unwrap();
    assert_eq!(long.title.unwrap().chars().count(), MAX_TITLE_CHARS);
    assert_eq!(ledger.run(ledger.conversations.set_title("play", Some("  "))).unwrap().title, None);
}

#[test]
fn what_was_said_is_found() {
    for ledger in [TestLedger::file(), TestLedger::memory()] {
        let session = ledger.session("main");
        ledger.exchange(&session, "t1", "Where is the K\u{e9}yboard?", "Under the table.");
        ledger.exchange(
            &session,
            "t2",
            "100% sure? it's a_b",
            "Yes; \u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc} OR NEAR(x)",
        );
        ledger.begin(&session, "t3", 2);
        let parts = ["the answer is in the tele", "scope, and", " nowhere else\0!"];
        for (at, part) in parts.iter().enumerate() {
            let body = text(Role::Assistant, 0, u32::try_from(at).unwrap(), part);
            ledger.append(&session, 2, &row("t3", at, 0, body)).unwrap();
        }
        ledger.append(&session, 2, &row("t3", 9, 0, ended("x", ResultStatus::Succeeded))).unwrap();
        for (question, expected) in [
            ("keyboard", vec!["t1"]),
            ("KEY", vec!["t1"]),
            ("table under", vec!["t1"]),
            ("the", vec!["t3", "t1"]),
            ("telescope", vec!["t3"]),
            ("telescope nowhere", vec!["t3"]),
            ("eyb", vec![]),
            ("ybo", vec!["t1"]),
            ("\u{30bf}\u{30ef}\u{30fc}", vec!["t2"]),
            ("100%", vec!["t2"]),
            ("a_b", vec!["t2"]),
            ("OR NEAR(x)", vec!["t2"]),
            ("\"", vec![]),
            ("'; DROP TABLE agent_texts", vec![]),
            ("result", vec![]),
            ("", vec![]),
        ] {
            let hits = ledger.run(ledger.conversations.search(question, 10)).unwrap();
            let turns: Vec<&str> = hits.iter().map(|hit| hit.turn.as_str()).collect();
            assert_eq!(turns, expected, "{question}");
            assert!(hits.iter().all(|hit| hit.label == "main" && !hit.snippet.contains(char::is_control)));
        }
        assert_eq!(ledger.run(ledger.conversations.search("the", 1)).unwrap().len(), 1);
    }
}

#[test]
fn an_export_holds_everything_and_survives_json() {
    let ledger = TestLedger::file();
    let session = ledger.session("main");
    ledger.exchange(&session, "t1", "a \0 \u{1f980}", "b");
    let t2 = ledger.begin(&session, "t2", 1);
    let bodies = [text(Role::User, 0, 0, "go"), asked(0, "a"), started(0, "a"), ended("a", ResultStatus::Failed)];
    ledger.append_all(&session, 1, bodies.into_iter().enumerate().map(|(at, body)| row("t2", at, 0, body)).collect());
    let export = ledger.run(ledger.conversations.export("main")).unwrap();
    assert_eq!(export.turns.iter().map(|log| log.rows.len()).collect::<Vec<_>>(), [4, 4]);
    assert_eq!(export.turns[1].calls.len(), 1);
    assert_eq!(Some(export.turns[1].clone()), ledger.run(ledger.conversations.turn(&t2)).unwrap());
    let json = serde_json::to_string(&export).unwrap();
    assert_eq!(serde_json::from_str::<ext_conversation_store::contract::Export>(&json).unwrap(), export);
}

#[test]
fn a_row_that_cannot_be_read_costs_itself_alone() {
    let ledger = TestLedger::file();
    let session = ledger.session("main");
    ledger.exchange(&session, "t1", "hello", "hi");
    ledger.exchange(&session, "t2", "still", "here");
    ledger
        .write(|tx| {
            tx.execute(&statement!("UPDATE agent_messages SET body = '{torn' WHERE turn = 't1' AND seq = 2"))?;
            tx.execute(&statement!(
                "UPDATE agent_turns SET usage = 'x', \"end\" = '{}', state = 'odd' WHERE id = 't1'"
            ))?;
            tx.execute(&statement!("UPDATE agent_turns SET parent = 't2' WHERE id = 't1'"))
        })
        .unwrap();
    let history = ledger.run(ledger.conversations.history("main")).unwrap();
    dispatch_contracts::conversation::validate(&history.messages()).unwrap();
    assert!(history.messages().contains(&Message::text(Role::User, "hello")), "{:?}", history.messages());
    assert!(history.messages().contains(&Message::text(Role::Assistant, "here")));
    assert_eq!(ledger.write(|tx| load_turn(tx, &"t1".into())).unwrap().unwrap().state, TurnState::Interrupted);
}
