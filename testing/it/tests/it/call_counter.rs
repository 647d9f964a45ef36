//! Kills a program at its nth call that changes a file, sends something or starts a process: a small library, compiled here
//! and loaded into the program, counts them.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = include_str!("call_counter/call_counter.c");

/// Whether a program dies before it has done something or behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    Behind,
}

pub(crate) struct CallCounter {
    folder: tempfile::TempDir,
}

impl CallCounter {
    pub(crate) fn compile() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("call_counter.c");
        std::fs::write(&source, SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
        let done = compiler.arg(folder.path().join("call_counter.so")).arg(source).arg("-ldl").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self { folder }
    }

    /// The variables of a program that dies at its nth call, counted from when it is armed.
    pub(crate) fn variables(&self, at: u64, moment: Moment) -> [(&'static str, String); 5] {
        for name in ["armed", "note"] {
            let _ = std::fs::remove_file(self.file(name));
        }
        let path = |name| self.file(name).display().to_string();
        [
            ("LD_PRELOAD", path("call_counter.so")),
            ("DISPATCH_TEST_KILL_AT", at.to_string()),
            ("DISPATCH_TEST_KILL_BEHIND", u8::from(moment == Moment::Behind).to_string()),
            ("DISPATCH_TEST_KILL_ARMED_BY", path("armed")),
            ("DISPATCH_TEST_KILL_NOTE", path("note")),
        ]
    }

    /// From now on is counted.
    pub(crate) fn arm(&self) {
        std::fs::write(self.file("armed"), "").unwrap();
    }

    /// What the program that was started last died at, if it came to that.
    pub(crate) fn struck(&self) -> Option<String> {
        let note = std::fs::read_to_string(self.file("note")).ok()?;
        let (call, what) = note.split_once(' ').unwrap_or((&note, ""));
        let place = match what.rsplit('/').next().unwrap_or_default() {
            name if name.starts_with("socket:") => "a connection",
            name if name.starts_with("dispatch.db") => name,
            _ if call.starts_with("posix_spawn") => "a process",
            _ => "another file",
        };
        Some(format!("{call} {place}"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
