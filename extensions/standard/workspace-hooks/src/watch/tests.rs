//! The watcher on a real tree: what a person, an editor or a program does to files is what is reported.

use super::file_watcher::{WatchBatch, WatchHandle, WatchLimits, watch, watch_within};
use crate::content::content_hash;
use crate::contract::{Change, Event, Trigger};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What never comes is given up on; what comes is there in milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);

struct WatchedTree {
    _folder: tempfile::TempDir,
    root: PathBuf,
    batches: Receiver<WatchBatch>,
    watching: Option<WatchHandle>,
    sentinels: usize,
}

impl WatchedTree {
    /// A repository with these files, watched.
    fn new(files: &[&str]) -> Self {
        Self::limited(files, WatchLimits::default())
    }

    fn limited(files: &[&str], limits: WatchLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, if file.ends_with(".gitignore") { "out/\n*.log\n" } else { "before" }).unwrap();
        }
        let (send, batches) = channel();
        let deliver = Box::new(move |batch| drop(send.send(batch)));
        let watching = watch_within(&root, None, None, limits, deliver).unwrap();
        Self { _folder: folder, root, batches, watching: Some(watching), sentinels: 0 }
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), text).unwrap();
    }

    /// Everything reported up to a file that is written now.
    fn reported(&mut self) -> Vec<Event> {
        self.sentinels += 1;
        let name = format!("sentinel-{}", self.sentinels);
        self.write(&name, "x");
        self.until(|event| event.trigger == Trigger::DidSave && event.files.iter().any(|file| file.path == name))
    }

    /// Everything reported up to an event.
    fn until(&self, last: impl Fn(&Event) -> bool) -> Vec<Event> {
        let deadline = Instant::now() + PATIENCE;
        let mut events = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let batch = self.batches.recv_timeout(left).unwrap_or_else(|_| panic!("never reported; only {events:#?}"));
            let done = batch.events.iter().any(&last);
            events.extend(batch.events);
            if done {
                return events;
            }
        }
    }

    /// The same in words, without the sentinels.
    fn words(&mut self) -> Vec<String> {
        words(&self.reported())
    }
}

fn words(events: &[Event]) -> Vec<String> {
    let mut found = Vec::new();
    for event in events {
        for file in event.files.iter().filter(|file| !file.path.starts_with("sentinel")) {
            let change = match &file.change {
                Change::Renamed { from } => format!("from {from}"),
                other => format!("{other:?}").to_lowercase(),
            };
            found.push(format!("{:?} {} {change}", event.trigger, file.path));
        }
    }
    found.sort();
    found
}

#[test]
fn files_come_change_move_and_go() {
    let mut rig = WatchedTree::new(&["src/a"]);
    rig.write("src/a", "after");
    assert_eq!(rig.words(), ["DidSave src/a changed"]);
    rig.write("src/b", "new");
    assert_eq!(rig.words(), ["DidCreate src/b created", "DidSave src/b created"]);
    fs::rename(rig.root.join("src/b"), rig.root.join("src/c")).unwrap();
    assert_eq!(rig.words(), ["DidRename src/c from src/b"]);
    fs::remove_file(rig.root.join("src/c")).unwrap();
    assert_eq!(rig.words(), ["DidDelete src/c deleted"]);
}

#[test]
fn a_report_carries_the_content() {
    let mut rig = WatchedTree::new(&["a"]);
    rig.write("a", "after");
    let events = rig.reported();
    assert_eq!(saved(&events)["a"], content_hash(&rig.root.join("a")));
    assert_eq!(events[0].workspace, rig.root);
}

#[test]
fn an_atomic_save_is_one_change() {
    let mut rig = WatchedTree::new(&["a"]);
    for round in 0..20 {
        rig.write("a.new", &format!("content {round}"));
        fs::rename(rig.root.join("a.new"), rig.root.join("a")).unwrap();
        let words = rig.words();
        // The temporary file is seen by itself only if the disk took long between its writing and its renaming.
        let of_a: Vec<&String> = words.iter().filter(|word| !word.contains("a.new")).collect();
        assert_eq!(of_a, ["DidSave a changed"], "round {round}");
    }
}

#[test]
fn a_save_by_way_of_a_backup_is_one_change() {
    let mut rig = WatchedTree::new(&["a"]);
    fs::rename(rig.root.join("a"), rig.root.join("a~")).unwrap();
    rig.write("a", "after");
    fs::remove_file(rig.root.join("a~")).unwrap();
    assert_eq!(rig.words(), ["DidSave a changed"]);
}

#[test]
fn half_a_content_is_not_reported() {
    let mut rig = WatchedTree::new(&["a"]);
    let mut file = File::create(rig.root.join("a")).unwrap();
    file.write_all(b"half").unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(rig.words(), [""; 0]);
    }
    file.write_all(b" and half").unwrap();
    drop(file);
    assert_eq!(rig.words().last().map(String::as_str), Some("DidSave a changed"));
}

#[test]
fn a_file_that_stays_open_is_reported_when_nobody_writes() {
    let rig = WatchedTree::new(&["a"]);
    let mut file = File::create(rig.root.join("a")).unwrap();
    file.write_all(b"kept open").unwrap();
    file.flush().unwrap();
    let events = rig.until(|event| event.trigger == Trigger::DidSave);
    assert_eq!(events[0].files[0].content_hash, content_hash(&rig.root.join("a")));
}

#[test]
fn files_of_a_new_folder_are_not_missed_however_fast_they_come() {
    let mut rig = WatchedTree::new(&[]);
    let mut expected = BTreeSet::new();
    for round in 0..50 {
        let folder = format!("n{round}/deep/er");
        fs::create_dir_all(rig.root.join(&folder)).unwrap();
        rig.write(&format!("{folder}/file"), "x");
        expected.insert(format!("{folder}/file"));
    }
    let events = rig.reported();
    let found: BTreeSet<String> = saved(&events).into_keys().filter(|path| path.starts_with('n')).collect();
    assert_eq!(found, expected);
    rig.write("n7/deep/er/file", "again");
    assert_eq!(rig.words(), ["DidSave n7/deep/er/file changed"]);
}

#[test]
fn a_folder_that_moves_takes_its_files_and_its_watch_along() {
    let mut rig = WatchedTree::new(&["one/a", "one/in/b"]);
    fs::rename(rig.root.join("one"), rig.root.join("two")).unwrap();
    assert_eq!(rig.words(), ["DidRename two/a from one/a", "DidRename two/in/b from one/in/b"]);
    rig.write("two/in/b", "after");
    assert_eq!(rig.words(), ["DidSave two/in/b changed"]);
    fs::create_dir(rig.root.join("one")).unwrap();
    rig.write("one/a", "another");
    assert_eq!(rig.words(), ["DidCreate one/a created", "DidSave one/a created"]);
}

#[test]
fn a_folder_that_goes_takes_its_files_along() {
    let mut rig = WatchedTree::new(&["one/a", "one/in/b"]);
    fs::remove_dir_all(rig.root.join("one")).unwrap();
    assert_eq!(rig.words(), ["DidDelete one/a deleted", "DidDelete one/in/b deleted"]);
    fs::create_dir_all(rig.root.join("one/in")).unwrap();
    rig.write("one/in/b", "back");
    assert_eq!(rig.words(), ["DidCreate one/in/b created", "DidSave one/in/b created"]);
}

#[test]
fn a_folder_from_elsewhere_is_new_and_one_that_leaves_is_gone() {
    let mut rig = WatchedTree::new(&[]);
    let elsewhere = tempfile::tempdir_in(rig.root.parent().unwrap()).unwrap();
    fs::create_dir_all(elsewhere.path().join("come/in")).unwrap();
    fs::write(elsewhere.path().join("come/in/a"), "x").unwrap();
    fs::rename(elsewhere.path().join("come"), rig.root.join("come")).unwrap();
    assert_eq!(rig.words(), ["DidCreate come/in/a created", "DidSave come/in/a created"]);
    fs::rename(rig.root.join("come"), elsewhere.path().join("come")).unwrap();
    assert_eq!(rig.words(), ["DidDelete come/in/a deleted"]);
    fs::write(elsewhere.path().join("come/in/a"), "not ours").unwrap();
    assert_eq!(rig.words(), [""; 0]);
}

#[test]
fn ignored_folders_have_no_watch_and_their_files_no_events() {
    let mut rig = WatchedTree::new(&[".gitignore", "src/a", "out/x/y", "out/z/y", "sub/out/x"]);
    assert_eq!(rig.watching.as_ref().unwrap().folders, 3, "the root, src and sub");
    rig.write("out/x/y", "after");
    rig.write("a.log", "after");
    rig.write("src/.a.swp", "after");
    rig.write("src/a~", "after");
    assert_eq!(rig.words(), [""; 0]);
    fs::create_dir(rig.root.join("src/out")).unwrap();
    rig.write("src/out/new", "x");
    assert_eq!(rig.words(), [""; 0]);
}

#[test]
fn new_rules_of_git_hold_at_once_and_are_no_changes_themselves() {
    let mut rig = WatchedTree::new(&[".gitignore", "src/a", "out/x", "b"]);
    rig.write(".gitignore", "src/\n");
    assert_eq!(rig.words(), ["DidSave .gitignore changed"]);
    rig.write("src/a", "ignored now");
    rig.write("b", "after");
    assert_eq!(rig.words(), ["DidSave b changed"]);
    rig.write("out/x", "counts now");
    rig.write("c.log", "counts now");
    assert_eq!(rig.words(), ["DidCreate c.log created", "DidSave c.log created", "DidSave out/x changed"]);
}

#[test]
#[cfg(unix)]
fn links_are_not_followed() {
    let mut rig = WatchedTree::new(&["a"]);
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("file"), "x").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), rig.root.join("folder")).unwrap();
    std::os::unix::fs::symlink(rig.root.join("a"), rig.root.join("link")).unwrap();
    fs::write(elsewhere.path().join("file"), "y").unwrap();
    assert_eq!(rig.words(), [""; 0]);
}

#[test]
#[cfg(target_os = "linux")]
fn folders_beyond_the_limit_are_polled() {
    let rig = WatchedTree::limited(&["one/a", "two/b"], WatchLimits { watches: Some(1), ..WatchLimits::default() });
    let notes = &rig.watching.as_ref().unwrap().notes;
    assert!(notes[0].contains("max_user_watches"), "{notes:?}");
    rig.write("one/a", "after");
    let events = rig.until(|event| event.files.iter().any(|file| file.path == "one/a"));
    assert_eq!(words(&events), ["DidSave one/a changed"]);
    fs::create_dir(rig.root.join("two/three")).unwrap();
    rig.write("two/three/c", "new");
    fs::remove_file(rig.root.join("two/b")).unwrap();
    let mut left = BTreeSet::from(["two/three/c", "two/b"]);
    while !left.is_empty() {
        for event in rig.until(|event| event.files.iter().any(|file| left.contains(file.path.as_str()))) {
            left.retain(|path| !event.files.iter().any(|file| file.path == *path));
        }
    }
}

#[test]
fn hooks_are_reported_even_where_git_ignores_them() {
    let rig = WatchedTree::new(&[".gitignore"]);
    rig.write(".gitignore", ".akira/\n");
    let folder = rig.root.join(".akira");
    fs::create_dir(&folder).unwrap();
    let configuration = || {
        let deadline = Instant::now() + PATIENCE;
        while !rig.batches.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap().configuration {}
    };
    configuration();
    fs::write(folder.join("hooks.json"), "{}").unwrap();
    configuration();
}

#[test]
fn a_flood_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for number in 0..200 {
        fs::write(root.join(format!("f{number}")), "before").unwrap();
    }
    let (send, batches) = channel();
    let (release, held) = channel::<()>();
    let mut held = Some(held);
    let deliver = Box::new(move |batch| {
        let _ = send.send(batch);
        // The first batch keeps the watcher until more was noticed than it has room for.
        if let Some(held) = held.take() {
            let _ = held.recv();
        }
    });
    let limits = WatchLimits { notices: 64, ..WatchLimits::default() };
    let watching = watch_within(&root, None, None, limits, deliver).unwrap();
    fs::write(root.join("first"), "x").unwrap();
    let first = batches.recv_timeout(PATIENCE).unwrap();
    assert_eq!(first.events.len(), 2);
    assert!(first.notes.is_empty());
    for round in 0..3 {
        for number in 1..200 {
            fs::write(root.join(format!("f{number}")), format!("{round} of {number}")).unwrap();
        }
    }
    fs::remove_file(root.join("f0")).unwrap();
    fs::write(root.join("last"), "x").unwrap();
    release.send(()).unwrap();
    let mut contents = BTreeMap::new();
    let mut deleted = false;
    while !(deleted && contents.contains_key("last")) {
        let batch = batches.recv_timeout(PATIENCE).unwrap();
        deleted |= batch.events.iter().any(|event| event.trigger == Trigger::DidDelete && event.files[0].path == "f0");
        contents.extend(saved(&batch.events));
    }
    watching.stop();
    batches.try_iter().for_each(|batch| contents.extend(saved(&batch.events)));
    for number in 1..200 {
        let name = format!("f{number}");
        assert_eq!(contents.get(&name).cloned().flatten(), content_hash(&root.join(&name)), "{name}");
    }
}

#[test]
fn a_workspace_that_goes_ends_it() {
    let rig = WatchedTree::new(&["a"]);
    fs::remove_dir_all(&rig.root).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !rig.batches.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap().ended {}
    assert!(watch(&rig.root, None, None, Box::new(|_| {})).is_err());
}

/// The last content that was reported of each saved file.
fn saved(events: &[Event]) -> BTreeMap<String, Option<String>> {
    let saves = events.iter().filter(|event| event.trigger == Trigger::DidSave);
    saves.flat_map(|event| &event.files).map(|file| (file.path.clone(), file.content_hash.clone())).collect()
}

#[test]
fn what_changed_while_nobody_watched_is_reported_once() {
    let mut rig =
        WatchedTree::limited(&["old", "sub/new", "sub/.gitignore", "sub/out/ignored"], WatchLimits::default());
    assert_eq!(rig.words(), Vec::<String>::new());
    drop(rig.watching.take());
    let now_ms = u64::try_from(dispatch_os::time::unix_ms()).unwrap();
    for (since_ms, expected) in [(now_ms + 3_600_000, 0), (now_ms - 3_600_000, 1)] {
        let (send, batches) = channel();
        let deliver = Box::new(move |batch| drop(send.send(batch)));
        rig.batches = batches;
        rig.watching = Some(watch_within(&rig.root, None, Some(since_ms), WatchLimits::default(), deliver).unwrap());
        let mut told = rig.words();
        // A young process waits for a second in which nobody writes.
        let deadline = Instant::now() + PATIENCE;
        while told.len() < 2 * expected && Instant::now() < deadline {
            told.extend(rig.words());
        }
        let of = |name: &str| told.iter().filter(|word| word.contains(name)).count();
        assert_eq!([of("old"), of("sub/new"), of("ignored")], [expected, expected, 0], "{told:?}");
        assert_eq!(rig.words(), Vec::<String>::new());
        drop(rig.watching.take());
    }
}
