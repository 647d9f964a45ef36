//! Tables of reports and what they do.

use super::*;
use crate::contract::{RunId, Status, Usage};
use crate::run_store::{RunFacts, RunKey};
use proptest::prelude::*;

fn run(status: Status, content: &str) -> Run {
    Run {
        number: 1,
        id: RunId("r1".into()),
        key: RunKey { workspace: "w".into(), hook: "h".into(), subject: "s".into() },
        status,
        content: Some(content.into()),
        attempts: 0,
        reason: String::new(),
        queued_ms: 1_000,
        not_before_ms: 1_200,
        started_ms: None,
        ended_ms: None,
        owner: None,
        stop: false,
        version: 1,
        facts: RunFacts {
            trigger: "onDidSaveTextDocument".into(),
            source: Source::Watcher,
            files: Vec::new(),
            metadata: serde_json::Map::new(),
            left: None,
            doubt: ChangeSuspicion::Certain,
            failures: 0,
            interruptions: 0,
            burst_ms: 1_000,
            heard_ms: 1_000,
            exit_code: None,
            wrote: Vec::new(),
            usage: Usage::default(),
            session: None,
            patch: None,
            patch_applied: false,
            first_started_ms: None,
            retry_of: None,
            superseded: false,
            chain_depth: 0,
        },
    }
}

fn report(source: Source, content: &str, now_ms: u64) -> ChangeReport {
    ChangeReport {
        source,
        sameness: RunSameness::ByContent,
        content: Some(content.into()),
        files: Vec::new(),
        doubt: ChangeSuspicion::Certain,
        debounce_ms: 200,
        now_ms,
    }
}

fn due(verdict: &ArrivalVerdict) -> u64 {
    match verdict {
        ArrivalVerdict::Queue { not_before_ms } => *not_before_ms,
        ArrivalVerdict::Join(run) => run.not_before_ms,
        ArrivalVerdict::Unchanged => 0,
    }
}

#[test]
fn content_that_a_run_stands_for_needs_no_other() {
    let said = report(Source::Watcher, "a", 5_000);
    let table = [
        (Status::Success, "a", ArrivalVerdict::Unchanged),
        (Status::Running, "a", ArrivalVerdict::Unchanged),
        (Status::Failed, "a", ArrivalVerdict::Queue { not_before_ms: 5_200 }),
        (Status::Timeout, "a", ArrivalVerdict::Queue { not_before_ms: 5_200 }),
        (Status::Canceled, "a", ArrivalVerdict::Queue { not_before_ms: 5_200 }),
        (Status::Success, "b", ArrivalVerdict::Queue { not_before_ms: 5_200 }),
        (Status::Running, "b", ArrivalVerdict::Queue { not_before_ms: 5_200 }),
    ];
    for (status, content, expected) in table {
        assert_eq!(decide(&said, None, Some(&run(status, content))), expected, "{status:?} {content}");
    }
}

#[test]
fn what_a_run_left_counts_and_not_what_it_found() {
    let mut last = run(Status::Success, "a");
    last.facts.left = Some("formatted".into());
    assert_eq!(decide(&report(Source::Watcher, "formatted", 5_000), None, Some(&last)), ArrivalVerdict::Unchanged);
    assert_ne!(decide(&report(Source::Watcher, "a", 5_000), None, Some(&last)), ArrivalVerdict::Unchanged);
    let saved = decide(&report(Source::Editor, "formatted", 5_000), None, Some(&last));
    assert_ne!(saved, ArrivalVerdict::Unchanged, "a person may have saved that while the run ended");
}

#[test]
fn unread_content_is_always_new() {
    let said = ChangeReport { content: None, ..report(Source::Watcher, "", 5_000) };
    let last = Run { content: None, ..run(Status::Success, "") };
    assert_eq!(decide(&said, None, Some(&last)), ArrivalVerdict::Queue { not_before_ms: 5_200 });
}

#[test]
fn a_person_always_gets_a_run_at_once() {
    let said = report(Source::Person, "a", 5_000);
    let verdict = decide(&said, Some(&run(Status::Queued, "a")), Some(&run(Status::Success, "a")));
    assert_eq!(verdict, ArrivalVerdict::Queue { not_before_ms: 5_000 });
}

#[test]
fn new_content_starts_the_wait_anew_and_the_same_does_not() {
    let waiting = run(Status::Queued, "a");
    assert_eq!(due(&decide(&report(Source::Watcher, "b", 1_100), Some(&waiting), None)), 1_300);
    assert_eq!(due(&decide(&report(Source::Editor, "a", 1_100), Some(&waiting), None)), 1_200);
    assert_eq!(due(&decide(&report(Source::Watcher, "b", 2_950), Some(&waiting), None)), 3_000, "not for ever");
}

#[test]
fn new_content_ends_the_wait_for_a_repetition_and_its_count() {
    let mut waiting = run(Status::Queued, "a");
    waiting.attempts = 2;
    waiting.facts.failures = 2;
    waiting.not_before_ms = 90_000;
    let ArrivalVerdict::Join(same) = decide(&report(Source::Watcher, "a", 60_000), Some(&waiting), None) else {
        panic!()
    };
    assert_eq!((same.not_before_ms, same.facts.failures), (90_000, 2));
    let ArrivalVerdict::Join(new) = decide(&report(Source::Watcher, "b", 60_000), Some(&waiting), None) else {
        panic!()
    };
    assert_eq!((new.not_before_ms, new.facts.failures, new.attempts), (60_200, 0, 2));
}

#[test]
fn a_file_that_is_removed_twice_is_told_twice() {
    let said =
        |source, now_ms| ChangeReport { sameness: RunSameness::ByMoment, content: None, ..report(source, "", now_ms) };
    let last = Run { content: None, ..run(Status::Success, "") };
    assert_eq!(
        decide(&said(Source::Editor, 1_500), None, Some(&last)),
        ArrivalVerdict::Unchanged,
        "the watcher said so"
    );
    assert_ne!(decide(&said(Source::Watcher, 1_500), None, Some(&last)), ArrivalVerdict::Unchanged);
    assert_ne!(decide(&said(Source::Editor, 9_000), None, Some(&last)), ArrivalVerdict::Unchanged);
}

#[test]
fn each_commit_and_each_sent_event_is_one_of_its_own() {
    for trigger in [Trigger::GitCommit, Trigger::Git("pre-push".into()), Trigger::Custom("x".into()), Trigger::Manual] {
        assert_eq!(sameness(&trigger), RunSameness::Never);
    }
    let said = ChangeReport { sameness: RunSameness::Never, ..report(Source::Git, "a", 5_000) };
    assert!(matches!(decide(&said, Some(&run(Status::Queued, "a")), None), ArrivalVerdict::Queue { .. }));
}

proptest! {
    #[test]
    fn no_series_of_changes_puts_a_run_off_for_ever(steps in prop::collection::vec(0_u64..400, 1..60)) {
        let mut waiting = run(Status::Queued, "start");
        let mut now_ms = 1_000;
        for (at, step) in steps.into_iter().enumerate() {
            now_ms += step;
            let said = report(Source::Watcher, &at.to_string(), now_ms);
            let ArrivalVerdict::Join(next) = decide(&said, Some(&waiting), None) else { panic!("it waits") };
            prop_assert!(next.not_before_ms <= 1_000 + 10 * 200);
            waiting = *next;
        }
    }
}
