//! What a real disk, a real kill and a second process do to the database.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the other process speaks through its output")]

use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, SqlValue, Storage, StorageBackend, StorageError};
use ext_storage_sqlite::contract::{Location, SqliteBackend, inspect};
use std::future::Future;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const NOTES: &[Migration] =
    &[Migration::new(1, "notes", &["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"])];
const TITLES: Migration = Migration::new(2, "titles", &["ALTER TABLE notes ADD COLUMN title TEXT"]);

/// Says to a test that it is the other process of one, and which.
const ROLE: &str = "STORAGE_TEST_ROLE";
const FILE: &str = "STORAGE_TEST_FILE";

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn open(path: &Path) -> Result<SqliteBackend, StorageError> {
    SqliteBackend::open(&Location::File(path.to_owned()))
}

fn notes(backend: &SqliteBackend) -> Arc<dyn Storage> {
    let store = StorageBackend::open(backend, "notes");
    run(store.migrate(NOTES.to_vec())).unwrap();
    store
}

fn add(store: &Arc<dyn Storage>, body: impl Into<String>) -> Result<(), StorageError> {
    let body = body.into();
    run(store.transact(
        Keys::Everything,
        Box::new(move |tx| {
            tx.execute(&statement!("INSERT INTO notes (body) VALUES (?1)", body))?;
            Ok(Vec::new())
        }),
    ))
    .map(drop)
}

fn count(store: &Arc<dyn Storage>) -> i64 {
    run(store.query(statement!("SELECT COUNT(*) FROM notes"))).unwrap()[0].integer(0).unwrap()
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/dispatch.db");
    (folder, path)
}

/// This test binary again, as another process in a role.
fn other(role: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_another_process", "--nocapture"]);
    command.env(ROLE, role).env(FILE, path).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Lines that a role prints, without those of the test harness.
fn lines(child: &mut Child) -> impl Iterator<Item = String> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| line.split_once("said ").map(|(_, said)| said.to_owned()))
}

/// Not a test of its own: what the other processes do.
#[test]
fn in_another_process() {
    let (Ok(role), Ok(path)) = (std::env::var(ROLE), std::env::var(FILE)) else { return };
    let opened = open(Path::new(&path));
    let backend = match opened {
        Ok(backend) => backend,
        Err(error) => return println!("said {error}"),
    };
    match role.as_str() {
        "migrate" => {
            let store = StorageBackend::open(&backend, "notes");
            let outcome = run(store.migrate(vec![NOTES[0].clone(), TITLES]));
            println!("said {outcome:?}");
        }
        "write" => {
            let store = notes(&backend);
            for number in 0.. {
                match add(&store, format!("note {number} {}", "x".repeat(2_000))) {
                    Ok(()) => println!("said {number}"),
                    Err(error) => return println!("said {error}"),
                }
            }
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    for round in 1..4 {
        let (_folder, path) = folder();
        let mut child = other("write", &path).spawn().unwrap();
        let mut acknowledged = 0;
        for line in lines(&mut child).take(round * 40) {
            acknowledged = line.parse::<i64>().unwrap() + 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let backend = open(&path).unwrap();
        let found = count(&notes(&backend));
        assert!(found >= acknowledged, "{acknowledged} were acknowledged, {found} are there");
        drop(backend);
        assert_eq!(inspect(&Location::File(path)).problems, []);
    }
}

#[test]
#[cfg(unix)]
fn a_disk_without_room_fails_a_write_and_harms_nothing() {
    let (_folder, path) = folder();
    drop(notes(&open(&path).unwrap()));
    // The limit on the size of a file is a full disk that needs no root; its signal is ignored.
    let child = other("write", &path);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 512; exec \"$@\"", "sh"])
        .arg(child.get_program())
        .args(child.get_args());
    for (name, value) in child.get_envs() {
        limited.env(name, value.unwrap());
    }
    let mut child = limited.stdout(Stdio::piped()).spawn().unwrap();
    let said: Vec<String> = lines(&mut child).collect();
    child.wait().unwrap();
    let (last, acknowledged) = said.split_last().unwrap();
    assert!(last.contains("cannot be written"), "{last}");
    let backend = open(&path).unwrap();
    let store = notes(&backend);
    assert_eq!(count(&store), i64::try_from(acknowledged.len()).unwrap(), "all that was acknowledged, and no more");
    add(&store, "there is room again").unwrap();
    drop((store, backend));
    assert_eq!(inspect(&Location::File(path)).problems, []);
}

#[test]
#[cfg(unix)]
fn the_file_and_its_folder_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = folder();
    let backend = open(&path).unwrap();
    add(&notes(&backend), "private").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for entry in path.parent().unwrap().read_dir().unwrap().flatten() {
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
    }
}

#[test]
#[cfg(unix)]
fn a_link_in_the_place_of_the_file_is_refused() {
    let (folder, path) = folder();
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let target = folder.path().join("elsewhere");
    for there in [false, true] {
        if there {
            std::fs::write(&target, "important").unwrap();
        }
        _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(&target, &path).unwrap();
        let refused = open(&path).map(drop).unwrap_err().to_string();
        assert!(refused.contains("symbolic link"), "{refused}");
        assert_eq!(target.exists(), there);
    }
    assert_eq!(std::fs::read(&target).unwrap(), b"important");
    let beside = folder.path().join("linked");
    std::os::unix::fs::symlink(folder.path().join("data"), &beside).unwrap();
    open(&beside.join("real.db")).map(drop).unwrap();
    assert!(folder.path().join("data/real.db").exists(), "links in the folders above are the user's own");
}

#[test]
fn a_place_that_cannot_hold_a_file_is_told() {
    let (folder, path) = folder();
    std::fs::create_dir_all(&path).unwrap();
    assert!(
        matches!(open(&path).map(drop), Err(StorageError::Unwritable(said)) if said.contains("is not a regular file"))
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(open(&file.join("x/dispatch.db")).map(drop), Err(StorageError::Unwritable(_))));
}

#[test]
fn a_damaged_file_is_told_and_left_as_it_is() {
    let (_folder, path) = folder();
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let garbage = b"this was a database once ".repeat(400);
    std::fs::write(&path, &garbage).unwrap();
    match open(&path).map(drop) {
        Err(StorageError::Corrupt(said)) => assert!(said.contains("it has no backup"), "{said}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read(&path).unwrap(), garbage);
    let found = inspect(&Location::File(path));
    assert!(found.problems.iter().any(|problem| problem.what.contains("not a database")), "{found:?}");
}

#[test]
fn damage_inside_is_told_with_the_backup() {
    let (_folder, path) = folder();
    {
        let backend = open(&path).unwrap();
        let store = notes(&backend);
        for _ in 0..200 {
            add(&store, "x".repeat(4_000)).unwrap();
        }
    }
    {
        let store = StorageBackend::open(&open(&path).unwrap(), "notes");
        run(store.migrate(vec![NOTES[0].clone(), TITLES])).unwrap();
    }
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64 * 1024].fill(0xA5);
    std::fs::write(&path, &bytes).unwrap();
    let backend = open(&path).unwrap();
    let store = StorageBackend::open(&backend, "notes");
    match run(store.query(statement!("SELECT SUM(LENGTH(body)) FROM notes"))) {
        Err(StorageError::Corrupt(said)) => assert!(said.contains("the newest backup is"), "{said}"),
        other => panic!("{other:?}"),
    }
    drop((store, backend));
    let found = inspect(&Location::File(path));
    let backup = found.backup.clone().unwrap();
    assert!(found.problems.iter().all(|problem| problem.hint.contains(&backup.display().to_string())), "{found:?}");
    assert!(!found.problems.is_empty());
    let backend = open(&backup).unwrap();
    assert_eq!(count(&StorageBackend::open(&backend, "notes")), 200, "the backup can be put in its place");
}

#[test]
fn data_is_copied_before_it_is_migrated_and_only_then() {
    let (_folder, path) = folder();
    let backups = || {
        let entries = path.parent().unwrap().read_dir().unwrap().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".backup")).count()
    };
    let backend = open(&path).unwrap();
    add(&notes(&backend), "kept").unwrap();
    drop(backend);
    drop(notes(&open(&path).unwrap()));
    assert_eq!(backups(), 0, "a new database, and one that needs no step, are not copied");
    for (number, name) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        let backend = open(&path).unwrap();
        for twice in ["x", "y"] {
            let step = Migration::new(1, "none", &[]);
            run(StorageBackend::open(&backend, &format!("{name}-{twice}")).migrate(vec![step])).unwrap();
        }
        assert_eq!(backups(), (number + 1).min(3), "one per start, and a bounded number");
    }
}

#[test]
fn a_file_of_another_program_is_refused() {
    let (folder, _) = folder();
    let path = folder.path().join("foreign.db");
    // An empty database of another program cannot be told from a new file; one with a table can.
    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')").unwrap();
    drop(foreign);
    let before = std::fs::read(&path).unwrap();
    let refused = open(&path).map(drop).unwrap_err().to_string();
    assert!(refused.contains("another program"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let newer = rusqlite::Connection::open(folder.path().join("newer.db")).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(newer);
    let refused = open(&folder.path().join("newer.db")).map(drop).unwrap_err();
    assert!(matches!(refused, StorageError::Migration(_)), "{refused:?}");
}

#[test]
fn a_database_that_somebody_holds_is_busy_and_then_is_not() {
    let (_folder, path) = folder();
    let backend = open(&path).unwrap();
    let store = notes(&backend);
    let holder = rusqlite::Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE; INSERT INTO notes (body) VALUES ('held')").unwrap();
    assert_eq!(add(&store, "waits"), Err(StorageError::Busy));
    assert_eq!(count(&store), 0, "reading goes on meanwhile");
    holder.execute_batch("COMMIT").unwrap();
    add(&store, "goes on").unwrap();
    assert_eq!(count(&store), 2);
}

#[test]
fn several_processes_write_and_migrate_the_same_file() {
    let (_folder, path) = folder();
    let mut starting: Vec<Child> = (0..4).map(|_| other("migrate", &path).spawn().unwrap()).collect();
    for child in &mut starting {
        assert_eq!(lines(child).collect::<Vec<_>>(), ["Ok(())"]);
        child.wait().unwrap();
    }
    let backend = open(&path).unwrap();
    let store = StorageBackend::open(&backend, "notes");
    run(store.migrate(vec![NOTES[0].clone(), TITLES])).unwrap();
    let (_folder, path) = folder();
    let mut writers: Vec<Child> = (0..2).map(|_| other("write", &path).spawn().unwrap()).collect();
    for child in &mut writers {
        let said: Vec<String> = lines(child).take(50).collect();
        assert_eq!(said.last().map(String::as_str), Some("49"), "neither starves the other");
    }
    for child in &mut writers {
        child.kill().unwrap();
        let mut rest = String::new();
        _ = child.stdout.take().map(|mut stdout| stdout.read_to_string(&mut rest));
        child.wait().unwrap();
    }
    assert!(count(&notes(&open(&path).unwrap())) >= 100);
}

#[test]
fn a_closed_storage_has_kept_everything_and_refuses_the_rest() {
    let (_folder, path) = folder();
    let backend = open(&path).unwrap();
    let store = notes(&backend);
    add(&store, "one").unwrap();
    backend.close();
    let log = path.with_file_name("dispatch.db-wal");
    assert!(!log.exists() || log.metadata().unwrap().len() == 0, "the log is folded into the file");
    assert!(matches!(add(&store, "two"), Err(StorageError::Unwritable(said)) if said.contains("closed")));
    let late = run(store.query(statement!("SELECT 1")));
    assert!(matches!(late, Err(StorageError::Unwritable(said)) if said.contains("closed")));
    assert_eq!(count(&notes(&open(&path).unwrap())), 1);
}

#[test]
fn a_look_from_outside_makes_nothing() {
    let (folder, path) = folder();
    let found = inspect(&Location::File(path.clone()));
    assert_eq!((found.path, found.problems), (None, vec![]));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    let backend = open(&path).unwrap();
    add(&notes(&backend), "x").unwrap();
    let live = inspect(&Location::File(path.clone()));
    assert_eq!(live.problems, [], "also while it is used");
    assert!(live.bytes > 0 && live.path.is_some());
    add(&notes(&backend), "still works").unwrap();
    assert_eq!(inspect(&Location::Memory).problems, []);
}

#[test]
fn a_store_reaches_nothing_but_rows_of_its_tables() {
    let (_folder, path) = folder();
    let backend = open(&path).unwrap();
    let store = notes(&backend);
    run(store.put("key", Some(vec![1]))).unwrap();
    for refused in [
        "ATTACH '/tmp/x.db' AS x",
        "DETACH x",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA synchronous = OFF",
        "PRAGMA user_version",
        "PRAGMA writable_schema = ON",
        "VACUUM",
        "VACUUM INTO '/tmp/copy.db'",
        "ANALYZE",
        "REINDEX",
        "SELECT name FROM sqlite_schema",
        "SELECT name FROM sqlite_master",
        "SELECT name FROM pragma_table_info('notes')",
        "SELECT value FROM dispatch_values",
        "SELECT COUNT(*) FROM dispatch_values",
        "SELECT COUNT(*) FROM sqlite_schema",
        "SELECT COUNT(*) FROM pragma_table_list",
        "SELECT namespace FROM dispatch_tables",
        "DELETE FROM dispatch_migrations",
        "UPDATE main.dispatch_tables SET namespace = 'notes'",
        "CREATE TEMP TABLE t (x)",
        "CREATE VIRTUAL TABLE t USING fts5 (x)",
        "CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM dispatch_values; END",
        "/*0*/ SELECT key FROM dispatch_values",
        "EXPLAIN SELECT key FROM dispatch_values",
        "SELECT load_extension('x')",
    ] {
        let written = run(store.transact(Keys::Everything, Box::new(move |tx| tx.query(&statement!(refused)))));
        assert!(matches!(written, Err(StorageError::Statement(_))), "{refused}: {written:?}");
        let read = run(store.query(statement!(refused)));
        assert!(matches!(read, Err(StorageError::Statement(_))), "{refused}: {read:?}");
    }
    assert_eq!(run(store.get("key")), Ok(Some(vec![1])));
    let text = "before\0after";
    add(&store, text).unwrap();
    let found = run(store.query(statement!("SELECT body FROM notes"))).unwrap();
    assert_eq!(found, [[SqlValue::from(text)]], "text with a null character is whole");
}

#[test]
#[cfg(unix)]
fn a_read_only_folder_is_told_and_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = folder();
    add(&notes(&open(&path).unwrap()), "kept").unwrap();
    let data = path.parent().unwrap();
    let allow = |file: u32, folder: u32| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(file)).unwrap();
        std::fs::set_permissions(data, std::fs::Permissions::from_mode(folder)).unwrap();
    };
    allow(0o400, 0o500);
    let enforced = std::fs::File::create(data.join("probe")).is_err();
    let outcome = open(&path).map(drop);
    let found = inspect(&Location::File(path.clone()));
    allow(0o600, 0o700);
    // The superuser may write anywhere; for everybody else the file is out of reach.
    if enforced {
        assert!(matches!(outcome, Err(StorageError::Unwritable(_))), "{outcome:?}");
        assert!(found.problems.iter().any(|problem| problem.what.contains("read-only")), "{found:?}");
    }
    assert_eq!(count(&notes(&open(&path).unwrap())), 1);
}

#[test]
fn many_read_while_others_write() {
    const THREADS: i64 = 16;
    const ROUNDS: i64 = 25;
    let (_folder, path) = folder();
    let backend = open(&path).unwrap();
    let store = notes(&backend);
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                let mut seen = 0;
                for _ in 0..ROUNDS {
                    if number % 4 == 0 {
                        add(&store, "x").unwrap();
                    }
                    let now = count(&store);
                    assert!(now >= seen, "what was seen once stays");
                    seen = now;
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(count(&store), THREADS / 4 * ROUNDS);
}

#[test]
fn the_last_store_may_go_with_a_work() {
    let (_folder, path) = folder();
    let store = notes(&open(&path).unwrap());
    let held = Arc::clone(&store);
    let (told, hears) = std::sync::mpsc::channel();
    {
        let mut asked = store.transact(
            Keys::Everything,
            Box::new(move |_| {
                drop((held, told));
                Ok(Vec::new())
            }),
        );
        // Handed over, and then nobody waits for it any more.
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        _ = asked.as_mut().poll(&mut context);
    }
    drop(store);
    let ended: Result<(), _> = hears.recv();
    assert!(ended.is_err(), "the work is gone, and with it what it held");
    add(&notes(&open(&path).unwrap()), "the file can be used again").unwrap();
}
