//! How a command ended, in words for the model.

use std::time::Duration;

use dispatch_os::{ChildEnd, ChildOutcome};

pub(crate) fn ended(outcome: &ChildOutcome, timeout: Option<Duration>) -> String {
    let after = seconds(outcome.duration);
    match &outcome.end {
        ChildEnd::Exited { code } => format!("exit code {code}{} after {after}", meaning(*code)),
        ChildEnd::Signalled { signal } => format!("killed by {} after {after}", name_of(*signal)),
        ChildEnd::TimedOut => format!(
            "timed out after {}: it and everything it started was killed. Give a larger timeout_ms, or background: true for something that keeps running",
            seconds(timeout.unwrap_or(outcome.duration))
        ),
        ChildEnd::Cancelled => format!("cancelled after {after}: it and everything it started was killed"),
        ChildEnd::FailedToStart(failure) => match failure.hint() {
            Some(hint) => format!("{failure}; {hint}"),
            None => failure.to_string(),
        },
        ChildEnd::StatusUnknown => format!("ended in an unknown way after {after}"),
    }
}

pub(crate) fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0..=59 => format!("{:.1} s", duration.as_secs_f64()),
        total => format!("{} min {} s", total / 60, total % 60),
    }
}

fn meaning(code: i32) -> &'static str {
    match code {
        126 => " (not executable)",
        127 => " (command not found)",
        _ => "",
    }
}

fn name_of(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL (perhaps it needed too much memory)",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Duration::from_millis(1_234)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(name_of(11), "SIGSEGV");
        assert_eq!(name_of(64), "signal 64");
        assert_eq!(meaning(127), " (command not found)");
    }
}
