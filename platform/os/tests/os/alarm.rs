//! The alarm answers exactly once, whatever the process is stuck in.

use std::time::Duration;

use dispatch_os::OsError;
use dispatch_os::alarm::{self, Claim};

use super::role::output_of;

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(600);

/// Answers are told apart from the words of the test harness by their brackets.
fn answers(argument: &str) -> (Vec<String>, Option<i32>) {
    let (output, code) = output_of("alarm", argument);
    let parts = output.split('<').skip(1);
    let answers = parts.map(|part| part.split_once('>').expect("torn").0.to_owned());
    (answers.collect(), code)
}

pub fn role(argument: &str) {
    match argument {
        "loop" => {
            alarm::arm(SHORT, b"<time is up>", 7).unwrap();
            loop {
                std::hint::spin_loop();
            }
        }
        "blocked-signal" => {
            block_alarm_signal();
            alarm::arm(SHORT, b"<unblocked>", 0).unwrap();
            super::role::stay();
        }
        "swap" => {
            alarm::arm(SHORT, b"<go on>", 0).unwrap();
            alarm::prepare(b"<deny>", 2);
            super::role::stay();
        }
        "swap-storm" => {
            alarm::arm(SHORT, b"<start>", 0).unwrap();
            let all = [b"<aaaaaaaaaaaaaaaa>".as_slice(), b"<bbbbbbbb>", b"<cccc>"];
            for answer in all.iter().cycle() {
                alarm::prepare(answer, 0);
            }
        }
        "normal" => {
            alarm::arm(LONG, b"<alarm>", 1).unwrap();
            alarm::answer(b"<normal>", 3);
        }
        "claimed" => {
            alarm::arm(SHORT, b"<alarm>", 1).unwrap();
            assert_eq!(alarm::claim(), Claim::Won);
            assert_eq!(alarm::claim(), Claim::Lost);
            std::thread::sleep(SHORT * 6);
            dispatch_os::exit::answer(b"<claimed>", 0);
        }
        "disarmed" => {
            alarm::arm(SHORT, b"<alarm>", 1).unwrap();
            alarm::disarm();
            std::thread::sleep(SHORT * 6);
            alarm::arm(SHORT, b"<again>", 4).unwrap();
            assert!(matches!(alarm::arm(SHORT, b"", 0), Err(OsError::AlarmArmed)));
            super::role::stay();
        }
        "starved" => {
            alarm::arm_budget(LONG, SHORT, b"<time is up>", 0).unwrap();
            alarm::prepare_starved(b"<no time>", 2);
            super::role::stay();
        }
        "no longer starved" => {
            alarm::arm_budget(LONG, SHORT, b"<time is up>", 0).unwrap();
            alarm::prepare_starved(b"<no time>", 2);
            alarm::forget_starved();
            super::role::stay();
        }
        "worked" => {
            // Twice the budget fits into the wall clock, whatever else the machine does.
            alarm::prepare_starved(b"<no time>", 2);
            alarm::arm_budget(SHORT, LONG, b"<time is up>", 0).unwrap();
            loop {
                std::hint::spin_loop();
            }
        }
        line if line.starts_with("starved line ") => {
            let file = std::path::Path::new(line.strip_prefix("starved line ").unwrap());
            alarm::leave_line(file, b"out of time");
            alarm::arm_budget(LONG, SHORT, b"<time is up>", 0).unwrap();
            alarm::prepare_starved(b"<no time>", 2);
            alarm::leave_starved_line(file, b"no time");
            super::role::stay();
        }
        line if line.starts_with("line ") => {
            let file = std::path::Path::new(line.strip_prefix("line ").unwrap());
            alarm::leave_line(file, b"too early");
            alarm::leave_line(file, b"out of time");
            alarm::arm(SHORT, b"<time is up>", 0).unwrap();
            super::role::stay();
        }
        line if line.starts_with("no line ") => {
            alarm::leave_line(std::path::Path::new(line.strip_prefix("no line ").unwrap()), b"out of time");
            alarm::leave_nothing();
            alarm::arm(SHORT, b"<time is up>", 0).unwrap();
            super::role::stay();
        }
        "flush" => {
            print!("<buffered>");
            dispatch_os::exit::now(5);
        }
        race => {
            let spins: u64 = race.strip_prefix("race ").unwrap().parse().unwrap();
            alarm::arm(Duration::from_millis(1), b"<one>", 0).unwrap();
            std::thread::sleep(Duration::from_micros(spins));
            alarm::answer(b"<one>", 0);
        }
    }
}

#[allow(unsafe_code, reason = "sets up the mask that a careless parent would leave")]
fn block_alarm_signal() {
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGALRM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

#[test]
fn an_endless_loop_still_answers() {
    assert_eq!(answers("loop"), (vec!["time is up".to_owned()], Some(7)));
}

#[test]
fn a_parent_that_left_the_signal_blocked_does_not_matter() {
    assert_eq!(answers("blocked-signal"), (vec!["unblocked".to_owned()], Some(0)));
}

#[test]
fn the_latest_prepared_answer_is_given() {
    assert_eq!(answers("swap"), (vec!["deny".to_owned()], Some(2)));
}

#[test]
fn an_answer_exchanged_all_the_time_is_never_torn() {
    let (given, code) = answers("swap-storm");
    let whole = ["start", "aaaaaaaaaaaaaaaa", "bbbbbbbb", "cccc"];
    assert_eq!((given.len(), code), (1, Some(0)));
    assert!(whole.contains(&given[0].as_str()), "{given:?}");
}

#[test]
fn the_normal_path_answers_alone_when_it_is_first() {
    assert_eq!(answers("normal"), (vec!["normal".to_owned()], Some(3)));
    assert_eq!(answers("claimed"), (vec!["claimed".to_owned()], Some(0)));
}

#[test]
fn a_disarmed_alarm_is_silent_and_can_be_armed_again() {
    assert_eq!(answers("disarmed"), (vec!["again".to_owned()], Some(4)));
}

#[test]
fn two_sides_at_the_same_moment_give_one_answer() {
    for spins in [0, 700, 850, 900, 950, 1_000, 1_050, 1_200, 3_000] {
        let given = answers(&format!("race {spins}"));
        assert_eq!(given, (vec!["one".to_owned()], Some(0)), "{spins}");
    }
}

#[test]
fn leaving_at_once_keeps_what_was_printed() {
    assert_eq!(answers("flush"), (vec!["buffered".to_owned()], Some(5)));
}

#[test]
fn the_alarm_leaves_its_line_at_the_end_of_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    for (before, after) in [
        (None, "out of time\n"),
        (Some("one\n"), "one\nout of time\n"),
        (Some("one\ntorn"), "one\ntorn\nout of time\n"),
    ] {
        let _ = std::fs::remove_file(&log);
        if let Some(before) = before {
            std::fs::write(&log, before).unwrap();
        }
        assert_eq!(answers(&format!("line {}", log.display())), (vec!["time is up".to_owned()], Some(0)));
        assert_eq!(std::fs::read_to_string(&log).unwrap(), after);
    }
    std::fs::remove_file(&log).unwrap();
    assert_eq!(answers(&format!("no line {}", log.display())), (vec!["time is up".to_owned()], Some(0)));
    assert!(!log.exists());
}

#[cfg(unix)]
#[test]
fn a_process_that_could_not_work_has_an_answer_of_its_own() {
    assert_eq!(answers("starved"), (vec!["no time".to_owned()], Some(2)));
    assert_eq!(answers("no longer starved"), (vec!["time is up".to_owned()], Some(0)));
    assert_eq!(answers("worked"), (vec!["time is up".to_owned()], Some(0)));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    assert_eq!(answers(&format!("starved line {}", log.display())), (vec!["no time".to_owned()], Some(2)));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "no time\n");
}

#[cfg(unix)]
#[test]
fn a_line_goes_through_no_link_and_into_nothing_but_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (link, target) = (folder.path().join("link"), folder.path().join("target"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    for place in [link.clone(), folder.path().to_owned(), folder.path().join("missing/log")] {
        assert_eq!(answers(&format!("line {}", place.display())), (vec!["time is up".to_owned()], Some(0)));
    }
    assert!(!target.exists());
}
