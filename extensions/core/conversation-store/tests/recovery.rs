//! Whatever prefix of its rows a turn left behind, the history is one that every provider takes.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/test_ledger.rs"]
mod test_ledger;

use dispatch_contracts::conversation::{ResultStatus, Role, Row, RowBody, project, validate};
use dispatch_contracts::turn::TurnEnd;
use dispatch_kernel::reconcile::reconcile;
use proptest::prelude::*;
use test_ledger::{TestLedger, asked, ended, row, started, step_ended, text};

/// What one step of a turn did with each of its calls.
#[derive(Clone, Copy, Debug)]
enum CallAction {
    Asked,
    Started,
    Ended,
    Denied,
}

fn action() -> impl Strategy<Value = CallAction> {
    prop_oneof![Just(CallAction::Asked), Just(CallAction::Started), Just(CallAction::Ended), Just(CallAction::Denied)]
}

fn step() -> impl Strategy<Value = (Vec<String>, Vec<CallAction>, Option<String>)> {
    (prop::collection::vec("\\PC{0,12}", 0..3), prop::collection::vec(action(), 0..4), prop::option::of("\\PC{0,8}"))
}

fn rows_of(turn: &str, steps: &[(Vec<String>, Vec<CallAction>, Option<String>)]) -> Vec<Row> {
    let mut bodies = vec![(0, text(Role::User, 0, 0, "do it"))];
    for (at, (parts, deeds, steer)) in (0..).zip(steps) {
        for (part, said) in (0..).zip(parts) {
            bodies.push((at, text(Role::Assistant, 0, part, said)));
        }
        let id = |number: usize| format!("{turn}-{at}-{number}");
        for (number, _) in deeds.iter().enumerate() {
            bodies.push((at, asked(u32::try_from(number).unwrap() + 1, &id(number))));
        }
        for (number, action) in deeds.iter().enumerate() {
            if matches!(action, CallAction::Started | CallAction::Ended) {
                bodies.push((at, started(u32::try_from(number).unwrap() + 1, &id(number))));
            }
        }
        // Calls end in another order than they were asked in.
        for (number, action) in deeds.iter().enumerate().rev() {
            match action {
                CallAction::Ended => bodies.push((at, ended(&id(number), ResultStatus::Succeeded))),
                CallAction::Denied => bodies.push((at, ended(&id(number), ResultStatus::Denied))),
                CallAction::Asked | CallAction::Started => {}
            }
        }
        if let Some(steer) = steer {
            bodies.push((at, RowBody::Steer { index: 0, text: steer.clone() }));
        }
        bodies.push((at, step_ended()));
    }
    let last = bodies.last().map_or(0, |(at, _)| *at);
    bodies.push((last, RowBody::TurnEnded { end: TurnEnd::Finished }));
    bodies.into_iter().enumerate().map(|(number, (at, body))| row(turn, number, at, body)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_prefix_of_a_turn_is_a_valid_history(steps in prop::collection::vec(step(), 1..4), cut in 0.0..1.0_f64) {
        let ledger = TestLedger::memory();
        let session = ledger.session("main");
        ledger.exchange(&session, "t0", "before", "it");
        let rows = rows_of("t1", &steps);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small number")]
        let kept = (rows.len() as f64 * cut) as usize;
        ledger.begin(&session, "t1", 2);
        ledger.append_all(&session, 2, rows[..kept].to_vec());
        let cut = ledger.run(ledger.conversations.history("main")).unwrap();
        prop_assert_eq!(validate(&cut.messages()), Ok(()));
        let again = reconcile(&cut.rows);
        prop_assert_eq!(&again.rows, &cut.rows, "repairing twice changes nothing");
        prop_assert_eq!(&project(&again.rows), &cut.messages());
        prop_assert_eq!(ledger.run(ledger.conversations.history("main")).unwrap(), cut);
        ledger.begin(&session, "t2", 3);
        ledger.append_all(&session, 3, rows_of("t2", &steps));
        let next = ledger.run(ledger.conversations.history("main")).unwrap();
        prop_assert_eq!(validate(&next.messages()), Ok(()));
    }
}
