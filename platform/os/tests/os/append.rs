//! Appended lines stay whole: many writers, torn tails, full disks, planted links.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use dispatch_os::files::{MAX_LINE_BYTES, append_line, read_complete_lines};
use dispatch_os::{Access, AppendOptions, LineAppender, OsError, SymlinkPolicy, TailRepair};

use super::role::{RoleProcess, must_succeed, output_of, say};

const PROCESSES: usize = 16;
const THREADS: usize = 4;
const LINES: usize = 200;

fn body(writer: &str, number: usize) -> String {
    let length = 20 + (number * 131) % 3_000;
    let letter = char::from(b'a' + (number % 26) as u8);
    format!("{writer} {number} {}", String::from(letter).repeat(length))
}

pub fn role(path: &str) {
    let process = std::process::id();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let writer = format!("{process}-{thread}");
                for number in 0..LINES {
                    let line = body(&writer, number);
                    append_line(Path::new(path), line.as_bytes(), TailRepair::Check).unwrap();
                }
            });
        }
    });
    say("done");
}

#[test]
fn lines_of_64_writers_in_16_processes_stay_whole_and_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let processes: Vec<RoleProcess> =
        (0..PROCESSES).map(|_| RoleProcess::start("append", path.to_str().unwrap())).collect();
    for mut process in processes {
        assert_eq!(process.hear(), "done");
    }
    let lines = read_complete_lines(&path, 0, 1 << 30).unwrap();
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for line in lines.iter() {
        let line = std::str::from_utf8(line).unwrap();
        let mut words = line.split(' ');
        let writer = words.next().unwrap();
        let number = next.entry(writer.to_owned()).or_default();
        assert_eq!(line, body(writer, *number));
        *number += 1;
    }
    assert_eq!(next.len(), PROCESSES * THREADS);
    assert!(next.values().all(|count| *count == LINES));
}

#[test]
fn a_torn_tail_is_closed_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let cases = [
        ("", TailRepair::Check, "new\n"),
        ("old\n", TailRepair::Check, "old\nnew\n"),
        ("torn", TailRepair::Check, "torn\nnew\n"),
        ("torn", TailRepair::Skip, "tornnew\n"),
        ("\n", TailRepair::Check, "\nnew\n"),
    ];
    for (before, tail, after) in cases {
        std::fs::write(&path, before).unwrap();
        append_line(&path, b"new", tail).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    }
}

#[test]
fn an_open_appender_checks_the_tail_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut appender = LineAppender::open(&path, TailRepair::Check).unwrap();
    appender.append(b"one").unwrap();
    let mut other = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut other, b"tor").unwrap();
    appender.append(b"").unwrap();
    appender.append(b"two").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntor\n\ntwo\n");
}

#[test]
fn lines_that_are_not_one_line_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    std::fs::write(&path, "old\n").unwrap();
    let error = append_line(&path, b"two\nlines", TailRepair::Check).unwrap_err();
    assert!(matches!(error, OsError::LineFeedInLine { .. }));
    let long = vec![b'x'; MAX_LINE_BYTES + 1];
    let error = append_line(&path, &long, TailRepair::Check).unwrap_err();
    assert!(matches!(error, OsError::TooLarge { limit, .. } if limit == MAX_LINE_BYTES as u64));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old\n");
}

#[test]
fn links_pipes_and_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target"), folder.path().join("link"));
    symlink(&target, &link).unwrap();
    let error = append_line(&link, b"x", TailRepair::Check).unwrap_err();
    assert!(matches!(error, OsError::SymlinkRefused { .. }), "{error}");
    assert!(!target.exists());
    let follow = AppendOptions { symlink: SymlinkPolicy::Follow, ..AppendOptions::default() };
    append_line(&link, b"x", follow).unwrap();
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "x\n");

    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for tail in [TailRepair::Check, TailRepair::Skip] {
        assert!(append_line(&pipe, b"x", tail).is_err());
    }
    assert!(append_line(folder.path(), b"x", TailRepair::Check).is_err());
}

#[test]
fn a_new_log_can_be_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let options = AppendOptions { access: Access::OwnerOnly, ..AppendOptions::default() };
    append_line(&path, b"x", options).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A file-size limit makes the system take a part of a line, as a full disk does.
pub fn limited_role(path: &str) {
    let path = Path::new(path);
    append_line(path, b"12345", TailRepair::Check).unwrap();
    let limit = rustix::process::Rlimit { current: Some(10), maximum: None };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
    match append_line(path, b"abcdefghij", TailRepair::Check) {
        Err(OsError::ShortWrite { written, wanted, .. }) => say(format!("{written} of {wanted}")),
        other => say(format!("{other:?}")),
    }
}

#[test]
fn a_short_write_is_reported_and_the_next_line_repairs_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let (output, _) = output_of("append-limited", path.to_str().unwrap());
    assert!(output.contains("!4 of 11"), "{output}");
    append_line(&path, b"next", TailRepair::Check).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "12345\nabcd\nnext\n");
}

/// The kernel may stop a killed process within its `write`, so one line can be cut; it must stay alone.
#[test]
fn a_writer_killed_midway_spoils_at_most_its_own_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    for _ in 0..5 {
        let process = RoleProcess::start("append", path.to_str().unwrap());
        let killed = format!("{}-", process.child.id());
        super::waiting::eventually("some lines", || path.exists());
        process.kill();
        must_succeed("append", path.to_str().unwrap());
        let lines = read_complete_lines(&path, 0, 1 << 30).unwrap();
        let mut cut = 0;
        for line in lines.iter().map(|line| std::str::from_utf8(line).unwrap()) {
            let mut words = line.split(' ');
            let (writer, number) = (words.next().unwrap(), words.next().unwrap());
            let whole = body(writer, number.parse().unwrap());
            if line != whole {
                assert!(whole.starts_with(line) && writer.starts_with(&killed), "{line}");
                cut += 1;
            }
        }
        assert!(cut <= 1);
        std::fs::remove_file(&path).unwrap();
    }
}
