//! Saves by the hundred through `dispatch watch`, with and without `kill -9`: every content is handled once.

mod ledger;
mod storm_workspace;

use dispatch_support::slow_lane;
use ledger::RunLedger;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use storm_workspace::{StormWatch, StormWorkspace, wait_for};

const HOOKS: u32 = 5;
/// Runs that may go at once: of one hook, and in all.
const OF_HOOK: usize = 2;
const IN_ALL: usize = 6;
/// What `dispatch watch` may need more after a storm than after its first wave.
const MAX_GROWTH_KB: u64 = 12 * 1024;

/// Every hook tells what it was started for, at its begin and as its last act.
fn hooks(workspace: &StormWorkspace, nap: &str) -> Value {
    let command = json!([workspace.program(), workspace.log(), nap]);
    let hook = |number: u32| {
        json!({
            "id": format!("hook{number}"), "trigger": "onDidSaveTextDocument", "pattern": "src/**",
            "command": command, "concurrency": OF_HOOK, "debounceMs": 20 * number,
        })
    };
    json!({ "limits": { "concurrency": IN_ALL }, "hooks": (1..=HOOKS).map(hook).collect::<Vec<_>>() })
}

struct Storm {
    files: u32,
    saves: u32,
    lasts: Duration,
}

/// Saves files in turn, evenly over the time; gives the last content of each.
fn save_all(workspace: &StormWorkspace, storm: &Storm) -> Vec<(String, String)> {
    let start = Instant::now();
    for number in 0..storm.saves {
        let due = storm.lasts.mul_f64(f64::from(number) / f64::from(storm.saves));
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        // A step that is prime to the number of files reaches all of them, in no order that a hook could rely on.
        workspace.save(number * 7 % storm.files, number);
    }
    (0..storm.files).map(|file| workspace.now(file)).collect()
}

fn check_final(ledger: &RunLedger, contents: &[(String, String)]) {
    for hook in (1..=HOOKS).map(|number| format!("hook{number}")) {
        for (file, hash) in contents {
            let found = ledger.completed(&hook, file, hash);
            assert_eq!(found.len(), 1, "{hook} handled the last content of {file} {} times: {found:?}", found.len());
        }
    }
}

#[test]
fn a_storm_of_saves_is_handled_once_within_its_limits() {
    let storm = match slow_lane() {
        true => Storm { files: 200, saves: 10_000, lasts: Duration::from_secs(60) },
        false => Storm { files: 30, saves: 600, lasts: Duration::from_secs(3) },
    };
    let workspace = StormWorkspace::new();
    workspace.approve(&hooks(&workspace, "0.03"));
    let watch = StormWatch::start(&workspace);
    (0..storm.files).for_each(|file| workspace.save(file, u32::MAX));
    let first: Vec<_> = (0..storm.files).map(|file| workspace.now(file)).collect();
    wait_for("the first wave is handled", || RunLedger::read(&workspace).has_all(&first, HOOKS));
    let before_kb = watch.resident_kb();
    let begin = Instant::now();
    let last = save_all(&workspace, &storm);
    let saved = begin.elapsed();
    wait_for("the storm is handled", || RunLedger::read(&workspace).has_all(&last, HOOKS));
    wait_for("nothing waits", || !workspace.is_busy());
    let (handled, after_kb) = (begin.elapsed(), watch.resident_kb());
    let ledger = RunLedger::read(&workspace);
    check_final(&ledger, &last);
    assert_eq!(ledger.repeated(), Vec::<String>::new(), "no content is handled twice");
    let (of_hook, in_all) = ledger.most_at_once();
    assert!(of_hook <= OF_HOOK && in_all <= IN_ALL, "{of_hook} of a hook and {in_all} in all at once");
    assert!(after_kb < before_kb + MAX_GROWTH_KB, "{before_kb} kB before, {after_kb} kB after");
    assert_eq!(watch.stop(), Some(0));
    let runs = workspace.runs();
    assert!(runs.iter().all(is_settled), "{:#?}", runs.iter().find(|run| !is_settled(run)));
    println!(
        "{} saves of {} files in {saved:.1?}, {} runs of {HOOKS} hooks done after {handled:.1?}; at most {of_hook} of a \
         hook and {in_all} in all at once; {before_kb} kB resident before, {after_kb} kB after",
        storm.saves,
        storm.files,
        ledger.count(),
    );
}

/// Whether a run came to a good end: done, or another did its work.
fn is_settled(run: &Value) -> bool {
    let reason = run["reason"].as_str().unwrap_or_default();
    run["status"] == "success" || (run["status"] == "canceled" && reason.contains("handled this content"))
}

#[test]
fn kill_9_of_the_watcher_loses_nothing_and_repeats_nothing() {
    let (kills, files) = if slow_lane() { (50, 40) } else { (5, 12) };
    let workspace = StormWorkspace::new();
    workspace.approve(&hooks(&workspace, "0.05"));
    let mut queued = BTreeSet::new();
    let mut number = 0;
    for kill in 0..kills {
        let watch = StormWatch::start(&workspace);
        if kill == 0 {
            (0..files).for_each(|file| workspace.save(file, u32::MAX));
        }
        let before = RunLedger::read(&workspace);
        // Something of this life is done before it ends, so no run dies again and again; and something goes.
        let is_time = || {
            let now = RunLedger::read(&workspace);
            now.count() > before.count() + 3 && now.unfinished() > before.unfinished()
        };
        while !is_time() {
            (0..4).for_each(|_| {
                number += 1;
                workspace.save(number * 5 % files, number);
            });
            std::thread::sleep(Duration::from_millis(u64::from(number * 13 % 40)));
        }
        watch.kill();
        // Nobody watches now.
        number += 1;
        workspace.save(number * 5 % files, number);
        queued.extend(workspace.runs().iter().filter_map(|run| run["id"].as_str().map(str::to_owned)));
    }
    let watch = StormWatch::start(&workspace);
    let last: Vec<_> = (0..files).map(|file| workspace.now(file)).collect();
    wait_for("the last content of every file is handled", || RunLedger::read(&workspace).has_all(&last, HOOKS));
    wait_for("nothing waits", || !workspace.is_busy());
    assert_eq!(watch.stop(), Some(0));
    let ledger = RunLedger::read(&workspace);
    check_final(&ledger, &last);
    let runs = workspace.runs();
    for run in &runs {
        queued.remove(run["id"].as_str().unwrap_or_default());
        assert!(is_settled(run), "{run:#}");
    }
    assert_eq!(queued, BTreeSet::new(), "runs that were queued and are gone");
    assert_eq!(ledger.repeated(), Vec::<String>::new(), "no content is handled twice");
    let interrupted = runs.iter().filter(|run| run["attempts"].as_u64() > Some(1)).count();
    println!("{kills} kills, {} runs done, {interrupted} of them begun more than once", ledger.count());
    assert_eq!(workspace.owners(), Vec::<String>::new(), "nothing is left of those who died");
}

#[test]
fn what_a_running_hook_writes_is_held_and_starts_nothing() {
    let workspace = StormWorkspace::new();
    let (go, begun) = (workspace.outside("go"), workspace.outside("begun"));
    let script = format!(
        "read -r event; printf formed > \"$DISPATCH_FILE\"; printf other > src/other; : > {begun}; \
         until [ -e {go} ]; do sleep 0.02; done; printf done > \"$DISPATCH_FILE\"",
        begun = begun.display(),
        go = go.display(),
    );
    workspace.approve(&json!({ "hooks": [{
        "id": "format", "trigger": "onDidSaveTextDocument", "pattern": "src/**",
        "command": ["sh", "-c", script], "debounceMs": 20,
    }] }));
    let watch = StormWatch::start(&workspace);
    workspace.save(1, 1);
    wait_for("the hook has written", || begun.exists());
    let held = || {
        let waiting = workspace.runs_in(&["queued"]);
        (waiting.len() == 2).then(|| waiting.iter().all(|run| run["reason"].as_str().unwrap().contains("still goes")))
    };
    wait_for("both changes are held", || held() == Some(true));
    std::fs::write(&go, "").unwrap();
    wait_for("nothing waits", || !workspace.is_busy());
    assert_eq!(watch.stop(), Some(0));
    let runs = workspace.runs();
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(runs[0]["status"], "success", "{runs:#?}");
    let wrote: BTreeSet<&str> = runs[0]["wrote"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(wrote, BTreeSet::from(["src/f1", "src/other"]));
}
