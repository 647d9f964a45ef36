//! What waits and what is taken next, as tables.

use super::*;

fn waiting(id: &str, mode: Mode, at_ms: u64, partition: &str) -> WaitingInput {
    WaitingInput {
        id: DispatchId::new(id),
        mode,
        partition: partition.to_owned(),
        not_before_ms: not_before(mode, at_ms),
        at_ms,
        attempts: 0,
        submission: Submission { text: id.to_owned(), mode, ..Submission::default() },
        scope: None,
    }
}

fn started(next: &NextInput) -> String {
    match next {
        NextInput::Start(batch) => batch.iter().map(|one| one.id.as_str()).collect::<Vec<_>>().join("+"),
        NextInput::WaitUntil(at) => format!("wait {at}"),
        NextInput::Rest => "rest".to_owned(),
    }
}

#[test]
fn one_after_the_other_unless_they_collect() {
    use Mode::{Collect, Followup, Interrupt, Steer};
    let cases: [(&[WaitingInput], u64, &str); 9] = [
        (&[], 0, "rest"),
        (&[waiting("a", Followup, 0, "p"), waiting("b", Followup, 0, "p")], 0, "a"),
        (&[waiting("a", Steer, 0, "p"), waiting("b", Followup, 0, "p")], 0, "a"),
        (&[waiting("a", Interrupt, 0, "p")], 0, "a"),
        (&[waiting("a", Collect, 0, "p"), waiting("b", Collect, 10, "p")], 500, "wait 1010"),
        (&[waiting("a", Collect, 0, "p"), waiting("b", Collect, 10, "p")], 1_010, "a+b"),
        (&[waiting("a", Collect, 0, "p"), waiting("b", Collect, 10, "q")], 20, "a"),
        (&[waiting("a", Collect, 0, "p"), waiting("b", Collect, 9_900, "p")], 10_000, "a+b"),
        (&[waiting("a", Collect, 0, "p"), waiting("b", Followup, 1, "p")], 2, "a"),
    ];
    for (all, now_ms, expected) in cases {
        assert_eq!(started(&next(all, now_ms)), expected, "{all:?} at {now_ms}");
    }
}

#[test]
fn a_steady_talker_cannot_postpone_a_batch_for_ever() {
    let all: Vec<WaitingInput> = (0..30).map(|n| waiting(&n.to_string(), Mode::Collect, n * 400, "p")).collect();
    assert_eq!(ready_at(&all, 9_000), Some(COLLECT_MS));
}

#[test]
fn an_input_that_is_tried_again_goes_alone_and_later() {
    let again = WaitingInput { attempts: 1, not_before_ms: 2_000, ..waiting("a", Mode::Collect, 0, "p") };
    let all = [again, waiting("b", Mode::Collect, 0, "p")];
    assert_eq!(started(&next(&all, 1_999)), "wait 2000");
    assert_eq!(started(&next(&all, 2_000)), "a");
}

#[test]
fn only_text_of_the_same_rights_steers() {
    let mut picture = waiting("c", Mode::Steer, 0, "p");
    picture
        .submission
        .images
        .push(dispatch_contracts::conversation::Image { media_type: "image/png".to_owned(), data: "x".to_owned() });
    let all = [
        waiting("f", Mode::Followup, 0, "p"),
        waiting("a", Mode::Steer, 0, "p"),
        waiting("b", Mode::Steer, 0, "other"),
        picture,
    ];
    let ids: Vec<&str> = steers(&all, "p").map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["a"], "an older follow-up does not stand in the way");
}

#[test]
fn rights_and_targets_are_part_of_the_key() {
    let base = Submission { session: "s".into(), text: "a".into(), ..Submission::default() };
    let same = Submission { text: "b".into(), mode: Mode::Collect, id: Some("x".into()), ..base.clone() };
    assert_eq!(partition(&base, None), partition(&same, None));
    for other in [
        Submission { delivery: serde_json::json!({"chat": 1}), ..base.clone() },
        Submission { persona: Some("p".into()), ..base.clone() },
        Submission { ask: crate::contract::Ask::None, ..base.clone() },
        Submission { model: Some("m".into()), ..base.clone() },
    ] {
        assert_ne!(partition(&base, None), partition(&other, None), "{other:?}");
    }
}

#[test]
fn a_clock_that_was_set_back_makes_nobody_wait() {
    let day = 24 * 60 * 60 * 1_000;
    let plain = [waiting("a", Mode::Followup, 2 * day, "p")];
    let batch = [waiting("a", Mode::Collect, 2 * day, "p"), waiting("b", Mode::Collect, 2 * day + 5, "p")];
    let again = [WaitingInput { attempts: 2, not_before_ms: 2 * day + 4_000, ..waiting("a", Mode::Followup, 0, "p") }];
    for all in [&plain[..], &batch, &again] {
        assert!(matches!(next(all, day), NextInput::Start(_)), "{all:?}");
        assert_eq!(ready_at(all, day), Some(day));
    }
    for at in [QUIET_MS, COLLECT_MS, BACKOFF_MS * u64::from(MAX_ATTEMPTS)] {
        assert!(!is_due(day + at, day), "an ordinary wait of {at} ms is waited for");
    }
}

#[test]
fn a_receipt_says_why_a_steer_becomes_a_turn_of_its_own() {
    let running = Submission { text: "a".into(), ..Submission::default() };
    let steer = Submission { text: "b".into(), mode: Mode::Steer, ..Submission::default() };
    let told = |new: &Submission| steer_obstacle(Some((&running, None)), new, None);
    assert_eq!(told(&steer), None);
    assert_eq!(steer_obstacle(None, &steer, None).unwrap(), "no turn runs");
    let other = Submission { ask: crate::contract::Ask::None, model: Some("m".into()), ..steer };
    assert_eq!(told(&other).unwrap(), "the running turn has another model, ask");
}

#[test]
fn messages_of_one_chat_share_a_turn_whichever_message_they_answer() {
    let to = |reply: &str, peer: &str| Submission {
        delivery: serde_json::json!({"channel": "mail", "peerId": peer, "replyToId": reply}),
        ..Submission::default()
    };
    assert_eq!(partition(&to("1", "a"), None), partition(&to("2", "a"), None));
    assert_ne!(partition(&to("1", "a"), None), partition(&to("1", "b"), None));
    assert_eq!(steer_obstacle(Some((&to("1", "a"), None)), &to("2", "a"), None), None);
    assert!(steer_obstacle(Some((&to("1", "a"), None)), &to("1", "b"), None).unwrap().contains("delivery"));
}

#[test]
fn an_interrupt_supersedes_what_its_sender_may() {
    use crate::contract::MessageSender;
    let of = |id: &str, is_owner: bool| Submission {
        sender: Some(MessageSender { id: id.to_owned(), is_owner }),
        ..Submission::default()
    };
    let (local, owner, ann, bob) =
        (Submission::default(), of("mail:me", true), of("mail:ann", false), of("mail:bob", false));
    for (interrupt, other, expected) in [
        (&local, &owner, true),
        (&local, &ann, true),
        (&owner, &local, true),
        (&owner, &ann, true),
        (&ann, &ann, true),
        (&ann, &bob, false),
        (&ann, &owner, false),
        (&ann, &local, false),
    ] {
        assert_eq!(may_supersede(interrupt, other), expected, "{interrupt:?} {other:?}");
    }
}
