//! The invariants of the queue, checked on what a history left behind.

use super::disk::FileAuthor;
use super::simulation::Simulation;
use crate::contract::{ExecutionRecord, Status};
use crate::run_executor::RunEnd;
use std::collections::{BTreeMap, BTreeSet};

/// Checks everything.
pub(super) async fn check(simulation: &Simulation) {
    let records = simulation.records().await;
    assert!(records.len() > 20, "a history without runs proves nothing");
    every_limit_was_kept(simulation);
    every_run_has_one_named_end(&records);
    nothing_was_completed_twice(simulation);
    the_book_says_what_happened(simulation, &records);
    every_final_content_was_handled(simulation, &records);
}

fn every_limit_was_kept(simulation: &Simulation) {
    assert_eq!(*simulation.log.broken.lock().unwrap(), Vec::<String>::new());
    assert!(*simulation.log.most_at_once.lock().unwrap() > 1, "nothing ever ran at the same time");
}

fn every_run_has_one_named_end(records: &[ExecutionRecord]) {
    for record in records {
        assert!(record.status.is_over() && record.end_ts.is_some(), "{record:?}");
        assert!(record.status == Status::Success || !record.reason.is_empty(), "{record:?} has no reason");
    }
    let ids: BTreeSet<_> = records.iter().map(|record| &record.id).collect();
    assert_eq!(ids.len(), records.len());
}

/// No content of a file was handled to a good end twice by one hook.
fn nothing_was_completed_twice(simulation: &Simulation) {
    let mut completed: BTreeMap<(String, String, String), u32> = BTreeMap::new();
    for played in simulation.log.ended.lock().unwrap().iter().filter(|played| played.end == RunEnd::Success) {
        let content = played.content.clone().expect("the file was there");
        let count = completed.entry((played.hook.clone(), played.path.clone(), content)).or_default();
        *count += 1;
        assert_eq!(*count, 1, "{played:?}");
    }
}

/// A run ended well in the store if and only if it did, whoever died in between.
fn the_book_says_what_happened(simulation: &Simulation, records: &[ExecutionRecord]) {
    let played = simulation.log.ended.lock().unwrap();
    let good: BTreeSet<_> =
        played.iter().filter(|played| played.end == RunEnd::Success).map(|played| &played.run).collect();
    let stored: BTreeSet<_> =
        records.iter().filter(|record| record.status == Status::Success).map(|record| &record.id).collect();
    assert_eq!(good, stored);
}

/// What a person left in a file was handled by each of its hooks; what a run left was not handled again and again.
fn every_final_content_was_handled(simulation: &Simulation, records: &[ExecutionRecord]) {
    for (path, (content, author)) in simulation.disk.all() {
        let hooks: &[&str] = match path.starts_with("formatted/") {
            true => &["lint", "test", "docs", "flaky", "format"],
            false => &["lint", "test", "docs", "flaky"],
        };
        for hook in hooks {
            let ours = |record: &&ExecutionRecord| {
                record.hook_id == *hook
                    && record.files.iter().any(|file| file.path == path)
                    && record.status != Status::Canceled
                    && record.content_hash.as_ref() == Some(&content)
            };
            let handled: Vec<&ExecutionRecord> = records.iter().filter(ours).collect();
            let good = handled.iter().filter(|record| record.status == Status::Success).count();
            assert!(good <= 1, "{hook} {path} {content}: {handled:#?}");
            if author == FileAuthor::Person {
                assert!(!handled.is_empty(), "{hook} never saw `{content}` in {path}");
            }
        }
    }
}
