//! Records of process groups: what a crash left running is ended, and nobody else.

use std::path::Path;
use std::process::{Command, Stdio};

use dispatch_os::process::sweep;
use dispatch_os::{Canceller, SweepReport, Ulid};

use super::process::shell;
use super::role::{RoleProcess, say};
use super::waiting::{all_gone, eventually, is_alive};

const FAMILY: &str = "echo $$; sleep 300 & echo $!; setsid sleep 300 & echo $!; wait";

pub fn parent_role(folder: &str) {
    let spec = shell(FAMILY).record_in(folder);
    let mut heard = String::new();
    let outcome = spec.run_with(&Canceller::new(), &mut |_, chunk| {
        heard.push_str(&String::from_utf8_lossy(chunk));
        if heard.lines().count() == 3 && heard.ends_with('\n') {
            say(heard.trim_end().replace('\n', " "));
        }
    });
    panic!("the child ended before its parent: {}", outcome.end);
}

fn records(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn what_a_crash_left_running_is_swept() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = RoleProcess::start("recorded-parent", folder.path().to_str().unwrap());
    let family: Vec<i32> = parent.hear().split(' ').map(|pid| pid.parse().unwrap()).collect();
    let while_it_runs = sweep(folder.path()).unwrap();
    assert_eq!(while_it_runs, SweepReport { in_use: 1, ..SweepReport::default() });
    assert!(family.iter().all(|pid| is_alive(*pid)));

    parent.kill();
    eventually("the leader died with its parent", || !is_alive(family[0]));
    assert!(is_alive(family[1]) && is_alive(family[2]), "grandchildren outlive a crash");
    let report = sweep(folder.path()).unwrap();
    assert_eq!((report.killed, report.removed, report.in_use), (2, 1, 0));
    all_gone(&family);
    assert_eq!(records(folder.path()), 0);
}

#[test]
fn a_record_goes_when_its_child_does() {
    let folder = tempfile::tempdir().unwrap();
    let records_folder = folder.path().join("groups");
    let mut during = 0;
    let outcome = shell("echo x")
        .record_in(&records_folder)
        .run_with(&Canceller::new(), &mut |_, _| during = records(&records_folder));
    assert!(outcome.succeeded());
    assert_eq!((during, records(&records_folder)), (1, 0));
    assert_eq!(sweep(&records_folder).unwrap(), SweepReport::default());
    assert_eq!(sweep(&folder.path().join("none")).unwrap(), SweepReport::default());
}

fn start_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(')').unwrap().1;
    fields.split_whitespace().nth(19).unwrap().parse().unwrap()
}

#[test]
fn a_reused_process_id_is_spared_and_a_true_one_is_not() {
    use std::os::unix::process::CommandExt;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let (right, elsewhere) = (boot.trim(), "00000000-0000-0000-0000-000000000000");
    for (boot, tick_shift, is_spared) in [(right, 1, true), (elsewhere, 0, true), (right, 0, false)] {
        let folder = tempfile::tempdir().unwrap();
        let mut bystander = Command::new("sleep").arg("300").process_group(0).stdout(Stdio::null()).spawn().unwrap();
        let pid = bystander.id();
        let ticks = start_ticks(pid) + tick_shift;
        let record =
            format!("token {}\nboot {boot}\nowner {} 1\ngroup {pid} {ticks}\n", Ulid::generate(), std::process::id());
        std::fs::write(folder.path().join("x.group"), record).unwrap();
        let report = sweep(folder.path()).unwrap();
        assert_eq!(report.removed, 1);
        assert_eq!(report.killed, usize::from(!is_spared));
        if is_spared {
            assert!(bystander.try_wait().unwrap().is_none());
            bystander.kill().unwrap();
        }
        bystander.wait().unwrap();
    }
}

#[test]
fn broken_records_are_counted_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("a.group", &b""[..]), ("b.group", b"\xff\xff"), ("c.group", b"group 1 1\n")] {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    std::fs::write(folder.path().join("README"), "not a record").unwrap();
    let report = sweep(folder.path()).unwrap();
    assert_eq!(report, SweepReport { unverified: 3, ..SweepReport::default() });
    assert_eq!(records(folder.path()), 4);
}
