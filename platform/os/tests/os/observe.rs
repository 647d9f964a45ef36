//! Observed writes: every way to change the tree of files is seen, and nothing that is observed behaves differently.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dispatch_os::process::MAX_OBSERVED_PATHS;
use dispatch_os::{Canceller, ChildEnd, ChildOutcome, ChildSpec, DescendantPolicy, Leftovers};

use super::process::shell;
use super::role::{RoleProcess, say};
use super::waiting::{PATIENCE, all_gone, is_alive};

/// A folder with a physical path.
struct ObservedFolder {
    _folder: tempfile::TempDir,
    base: PathBuf,
}

impl ObservedFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        Self { _folder: folder, base }
    }

    fn observed(&self, spec: ChildSpec) -> ChildSpec {
        spec.working_folder(&self.base).descendants(DescendantPolicy::Guarded).observe_writes()
    }

    fn run(&self, script: &str) -> ChildOutcome {
        let outcome = self.observed(shell(script)).run();
        assert!(outcome.succeeded(), "{script}: {}: {}", outcome.end, outcome.stderr.text());
        outcome
    }

    /// The names below this folder that were seen.
    fn names(&self, outcome: &ChildOutcome) -> BTreeSet<String> {
        let wrote = outcome.wrote.as_ref().unwrap();
        let inside = wrote.iter().filter_map(|path| path.strip_prefix(&self.base).ok());
        inside.map(|path| path.to_str().unwrap().to_owned()).collect()
    }

    fn check(&self, script: &str, expected: &[&str]) {
        let seen = self.names(&self.run(script));
        assert_eq!(seen, expected.iter().map(|name| (*name).to_owned()).collect(), "{script}");
    }
}

/// Whether this system lets anybody observe; where it does not, the children must run all the same.
fn can_observe() -> bool {
    let outcome = shell("exit 3").descendants(DescendantPolicy::Guarded).observe_writes().run();
    assert_eq!(outcome.exit_code(), Some(3), "{}", outcome.end);
    outcome.wrote.is_some()
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn every_way_to_change_the_tree_is_seen() {
    if !can_observe() {
        return;
    }
    let place = ObservedFolder::new();
    for (script, expected) in [
        ("true", &[][..]),
        ("echo x > a", &["a"]),
        ("echo x >> a", &["a"]),
        ("cat a > /dev/null; ls -la; test -e a; stat a", &[]),
        (": <> both", &["both"]),
        ("mkdir -p d/e", &["d", "d/e"]),
        ("mv a d/b", &["a", "d/b"]),
        ("cd d && ln b hard && ln -s b soft", &["d/hard", "d/soft"]),
        ("cd d/e && echo x > ../soft", &["d/b"]),
        ("ln -sfn d alias; echo x > alias/through", &["alias", "d/through"]),
        ("truncate -s 1 d/b", &["d/b"]),
        ("cp d/b copy", &["copy"]),
        ("rm d/hard", &["d/hard"]),
        ("mkfifo pipe", &["pipe"]),
        ("rmdir d/e", &["d/e"]),
        ("(sh -c '(sh -c \"echo x > deep\")')", &["deep"]),
        ("setsid sh -c 'echo x > own-session'", &["own-session"]),
        ("env -i /bin/sh -c 'echo x > clean'", &["clean"]),
        ("echo x > 'sp ace\n'", &["sp ace\n"]),
    ] {
        place.check(script, expected);
    }
    let seen = place.names(&place.run("sed -i s/x/y/ copy"));
    assert!(seen.contains("copy") && seen.len() == 2, "the file and its temporary one: {seen:?}");
    let outside = place.run("echo x > /dev/null; echo x > /proc/self/comm");
    assert_eq!(outside.wrote.as_deref(), Some(&[][..]), "switches and devices are no files");
}

#[test]
fn a_name_that_is_no_text_is_seen() {
    if !can_observe() {
        return;
    }
    use std::os::unix::ffi::OsStrExt;
    let place = ObservedFolder::new();
    let outcome = place.run(r#"f=$(printf 'a\377b'); : > "$f""#);
    let expected = place.base.join(std::ffi::OsStr::from_bytes(b"a\xffb"));
    assert_eq!(outcome.wrote.unwrap(), [expected]);
}

#[test]
fn python_and_its_threads_are_seen() {
    if !can_observe() || !has("python3") {
        return;
    }
    let place = ObservedFolder::new();
    let program = "
import os, threading, tempfile, shutil
def write(number):
    for turn in range(20):
        with open(f'thread-{number}-{turn}', 'w') as file: file.write('x')
threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
folder = os.open('.', os.O_RDONLY)
os.makedirs('below')
inner = os.open('below', os.O_RDONLY)
os.close(os.open('named', os.O_CREAT | os.O_WRONLY, dir_fd=inner))
os.rename('named', 'renamed', src_dir_fd=inner, dst_dir_fd=folder)
os.truncate('renamed', 3)
os.chdir('below')
open('relative', 'x').close()
os.unlink('relative')
";
    let outcome = place.observed(ChildSpec::new("python3").arg("-c").arg(program)).run();
    assert!(outcome.succeeded(), "{}", outcome.stderr.text());
    let seen = place.names(&outcome);
    let threads = (0..8).flat_map(|number| (0..20).map(move |turn| format!("thread-{number}-{turn}")));
    let others = ["below", "below/named", "renamed", "below/relative"].map(str::to_owned);
    for name in threads.chain(others) {
        assert!(seen.contains(&name), "{name}");
    }
}

#[test]
fn git_works_and_is_seen() {
    if !can_observe() || !has("git") {
        return;
    }
    let place = ObservedFolder::new();
    let script = "git init -q . && git config user.name n && git config user.email e && echo x > file && git add file \
                  && git commit -q -m one && git checkout -q -b other && echo y > file && git commit -q -am two \
                  && git checkout -q - && git gc -q && git fsck";
    let outcome = place.run(script);
    let seen = place.names(&outcome);
    for name in ["file", ".git/index", ".git/HEAD", ".git/index.lock"] {
        assert!(seen.contains(name), "{name} in {seen:?}");
    }
    assert!(!outcome.wrote_more);
}

#[test]
fn a_statically_linked_program_is_seen() {
    let place = ObservedFolder::new();
    let source = "#include <fcntl.h>\n#include <unistd.h>\n#include <sys/syscall.h>\n\
                  int main(void) { int f = open(\"static\", O_CREAT | O_WRONLY, 0600); write(f, \"x\", 1);\n\
                  struct { unsigned long long f, m, r; } how = { O_CREAT | O_RDWR, 0600, 0 };\n\
                  int g = syscall(437, AT_FDCWD, \"second\", &how, sizeof how);\n\
                  struct { unsigned long long f, m, r; } reading = { O_RDONLY, 0, 0 };\n\
                  int h = syscall(437, AT_FDCWD, \"program\", &reading, sizeof reading);\n\
                  return f < 0 || g < 0 || h < 0; }\n";
    std::fs::write(place.base.join("program.c"), source).unwrap();
    let built = Command::new("cc").args(["-static", "-o", "program", "program.c"]).current_dir(&place.base).output();
    if !can_observe() || !built.is_ok_and(|output| output.status.success()) {
        return;
    }
    let outcome = place.observed(ChildSpec::new(place.base.join("program"))).run();
    assert!(outcome.succeeded(), "{}", outcome.end);
    assert_eq!(place.names(&outcome), ["second".to_owned(), "static".to_owned()].into());
}

#[test]
fn a_path_is_told_before_it_is_written() {
    if !can_observe() {
        return;
    }
    let place = ObservedFolder::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let on_write = Arc::new(move |path: &Path| telling.lock().unwrap().push((path.to_owned(), path.exists())));
    let spec = shell("echo x > first; echo x > second; echo y > first").working_folder(&place.base);
    let outcome = spec.descendants(DescendantPolicy::Guarded).on_write(on_write).run();
    assert!(outcome.succeeded());
    let expected = [(place.base.join("first"), false), (place.base.join("second"), false)];
    assert_eq!(*told.lock().unwrap(), expected);
    assert_eq!(outcome.wrote.unwrap().len(), 2);
}

#[test]
fn a_callback_that_panics_harms_nobody() {
    let place = ObservedFolder::new();
    let on_write = Arc::new(|_: &Path| panic!("on purpose"));
    let spec = shell("echo x > a; echo x > b").working_folder(&place.base).descendants(DescendantPolicy::Guarded);
    assert!(spec.on_write(on_write).run().succeeded());
    assert!(place.base.join("b").exists());
}

/// Stands under an observer, and tries to be one.
pub fn nested_role(folder: &str) {
    let place = Path::new(folder);
    let outcome =
        shell("echo x > inner").working_folder(place).descendants(DescendantPolicy::Guarded).observe_writes().run();
    assert!(outcome.succeeded(), "{}: {}", outcome.end, outcome.stderr.text());
    say(if outcome.wrote.is_some() { "seen" } else { "not seen" });
}

#[test]
fn an_observed_process_may_run_what_it_asks_to_observe() {
    if !can_observe() {
        return;
    }
    let place = ObservedFolder::new();
    let program = super::role::command("nested-observer", place.base.to_str().unwrap());
    let mut spec = ChildSpec::new(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        spec = spec.variable(name, value.unwrap());
    }
    let outcome = place.observed(spec).run();
    assert!(outcome.succeeded(), "{}", outcome.stdout.text());
    assert!(outcome.stdout.text().contains("!not seen"), "{}", outcome.stdout.text());
    assert!(place.names(&outcome).contains("inner"), "the outer one sees it");
}

#[test]
fn only_a_family_that_ends_as_a_whole_is_observed() {
    let observed = || shell("exit 0").observe_writes();
    assert!(observed().run().wrote.is_none());
    assert!(observed().descendants(DescendantPolicy::Guarded).leftovers(Leftovers::Leave).run().wrote.is_none());
    assert!(shell("exit 0").descendants(DescendantPolicy::Guarded).run().wrote.is_none());
    let missing = ChildSpec::new("/no/such/program").descendants(DescendantPolicy::Guarded).observe_writes().run();
    assert!(matches!(missing.end, ChildEnd::FailedToStart(_)) && missing.wrote.is_none(), "{}", missing.end);
}

#[test]
fn a_timeout_ends_a_writer_and_what_it_wrote_is_known() {
    let place = ObservedFolder::new();
    let script = "while :; do echo x > a; echo x > b; done";
    let outcome = place.observed(shell(script)).timeout(Duration::from_millis(1500)).run();
    assert!(matches!(outcome.end, ChildEnd::TimedOut), "{}", outcome.end);
    assert!(outcome.duration < PATIENCE);
    if can_observe() {
        assert_eq!(place.names(&outcome), ["a".to_owned(), "b".to_owned()].into());
    }
}

#[test]
fn a_cancelled_writer_is_killed_even_while_it_is_looked_at() {
    let place = ObservedFolder::new();
    let canceller = Canceller::new();
    let stopping = canceller.clone();
    let on_write = Arc::new(move |_: &Path| stopping.cancel());
    let spec = shell("echo x > a; sleep 300").working_folder(&place.base).descendants(DescendantPolicy::Guarded);
    let outcome = spec.on_write(on_write).grace(Duration::ZERO).timeout(PATIENCE).run_with(&canceller, &mut |_, _| {});
    let expected_end = if can_observe() { matches!(outcome.end, ChildEnd::Cancelled) } else { true };
    assert!(expected_end, "{}", outcome.end);
}

/// Writes without end under an observer.
pub fn writing_parent_role(folder: &str) {
    let mut heard = String::new();
    let script = "exec 3> ../failed; trap '' PIPE; echo $PPID $$; while :; do echo x > a || echo failed >&3; done";
    let spec = shell(script).working_folder(Path::new(folder).join("below")).descendants(DescendantPolicy::Guarded);
    let outcome = spec.observe_writes().run_with(&Canceller::new(), &mut |_, chunk| {
        heard.push_str(&String::from_utf8_lossy(chunk));
        say(heard.trim_end());
    });
    panic!("the child ended before its parent: {}", outcome.end);
}

#[test]
fn writes_wait_rather_than_fail_when_the_observer_dies() {
    for _ in 0..20 {
        let place = ObservedFolder::new();
        std::fs::create_dir(place.base.join("below")).unwrap();
        let mut parent = RoleProcess::start("writing-parent", place.base.to_str().unwrap());
        let family: Vec<i32> = parent.hear().split(' ').map(|pid| pid.parse().unwrap()).collect();
        assert!(family.iter().all(|pid| is_alive(*pid)));
        parent.kill();
        all_gone(&family);
        // Opened before, because a call that failed would have failed for the report, too.
        assert_eq!(std::fs::read_to_string(place.base.join("failed")).unwrap(), "");
    }
}

#[test]
fn more_paths_than_can_be_remembered_are_counted_as_more() {
    if !can_observe() || !has("python3") {
        return;
    }
    let place = ObservedFolder::new();
    let program = format!("for n in range({}): open(f'{{n}}', 'w').close()", MAX_OBSERVED_PATHS + 5);
    let outcome = place.observed(ChildSpec::new("python3").arg("-c").arg(program)).run();
    assert!(outcome.succeeded(), "{}", outcome.stderr.text());
    assert_eq!(outcome.wrote.unwrap().len(), MAX_OBSERVED_PATHS);
    assert!(outcome.wrote_more);
}

/// Prints what it measures: the numbers are for people, and depend on what else the machine does.
#[test]
fn what_observing_costs() {
    const FILES: usize = 10_000;
    const ROUNDS: usize = 3;
    let place = ObservedFolder::new();
    for (what, act) in [("writes", ": > f$i"), ("reads", ": < f$i")] {
        let script = format!("i=0; while [ $i -lt {FILES} ]; do {act}; i=$((i+1)); done");
        let quickest = |spec: ChildSpec| {
            let rounds = (0..ROUNDS).map(|_| {
                let outcome = spec.run();
                assert!(outcome.succeeded(), "{}", outcome.stderr.text());
                outcome.duration
            });
            rounds.min().unwrap()
        };
        let plain = || shell(&script).working_folder(&place.base).descendants(DescendantPolicy::Guarded);
        let (unobserved, observed) = (quickest(plain()), quickest(place.observed(plain())));
        let each = observed.saturating_sub(unobserved).as_micros() as f64 / FILES as f64;
        println!("{FILES} {what}: {unobserved:?} unobserved, {observed:?} observed, {each:.1} us more for each");
    }
}
