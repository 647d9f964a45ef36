//! Whether a change is the work of a run of ours: such a change starts nothing.

use crate::book::{Doubt, Write, WriteState};
use crate::contract::{ContentHash, Source};

/// Whether some run went when a change was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Nobody,
    Somebody,
}

/// Whose work a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A run's that has ended.
    Own,
    /// Somebody else's, as far as it is known.
    Foreign(Doubt),
}

/// Whose work a reported change is. Whoever is not the file system knows that a person saved.
pub(crate) fn origin(source: Source, content: Option<&ContentHash>, writes: &[Write], presence: Presence) -> Origin {
    if source != Source::Watcher {
        return Origin::Foreign(Doubt::Certain);
    }
    if left_so(writes, content) {
        return Origin::Own;
    }
    if writes.iter().any(|write| write.state == WriteState::Live) {
        return Origin::Foreign(Doubt::Held);
    }
    match presence {
        Presence::Somebody => Origin::Foreign(Doubt::Doubtful),
        Presence::Nobody => Origin::Foreign(Doubt::Certain),
    }
}

fn left_so(writes: &[Write], content: Option<&ContentHash>) -> bool {
    writes.iter().any(|write| write.state == WriteState::Left && write.content.as_ref() == content)
}

/// The doubt about a waiting run that takes another report in. Two contents of which the first was explained by
/// nothing are certainly not both ours.
pub(crate) fn joined(before: Doubt, report: Doubt, same_content: bool) -> Doubt {
    match (before, report) {
        (before, report) if same_content => before.min(report),
        (Doubt::Held, report) => report,
        _ => Doubt::Certain,
    }
}

/// What a doubt comes to when the run is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It runs.
    Run,
    /// The run that may have made the change still goes.
    Wait,
    /// A run of ours made the change.
    Own,
}

/// Decides about a run that is due: `reported` is what its last event said, `present` what the file holds now.
pub(crate) fn rule(
    doubt: Doubt,
    reported: Option<&ContentHash>,
    present: Option<&ContentHash>,
    writes: &[Write],
) -> Ruling {
    if doubt == Doubt::Certain {
        return Ruling::Run;
    }
    if writes.iter().any(|write| write.state == WriteState::Live) {
        return Ruling::Wait;
    }
    // Between two writes of one run the file held what nobody meant; only its last content counts.
    let own = left_so(writes, reported) || (doubt == Doubt::Held && left_so(writes, present));
    if own { Ruling::Own } else { Ruling::Run }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(state: WriteState, content: &str) -> Write {
        Write { path: "p".into(), run: 1, state, content: Some(content.into()), at_ms: 0 }
    }

    #[test]
    fn only_what_a_run_left_is_its_own() {
        let (left, live) = (write(WriteState::Left, "f"), write(WriteState::Live, ""));
        let (f, x) = ("f".to_owned(), "x".to_owned());
        let check = |source, content, writes: &[Write], presence, expected| {
            assert_eq!(origin(source, Some(content), writes, presence), expected, "{source:?} {content} {writes:?}");
        };
        use Doubt::{Certain, Doubtful, Held};
        use Presence::{Nobody, Somebody};
        check(Source::Watcher, &f, std::slice::from_ref(&left), Nobody, Origin::Own);
        check(Source::Watcher, &x, std::slice::from_ref(&left), Nobody, Origin::Foreign(Certain));
        check(Source::Watcher, &x, std::slice::from_ref(&left), Somebody, Origin::Foreign(Doubtful));
        check(Source::Watcher, &x, std::slice::from_ref(&live), Somebody, Origin::Foreign(Held));
        check(Source::Editor, &f, std::slice::from_ref(&left), Nobody, Origin::Foreign(Certain));
        check(Source::Editor, &f, std::slice::from_ref(&live), Somebody, Origin::Foreign(Certain));
    }

    #[test]
    fn a_doubt_ends_when_its_cause_does() {
        let (left, live) = (write(WriteState::Left, "f"), write(WriteState::Live, ""));
        let (f, x) = ("f".to_owned(), "x".to_owned());
        let check = |doubt, reported, present, writes: &[Write], expected| {
            assert_eq!(rule(doubt, Some(reported), Some(present), writes), expected, "{doubt:?} {reported} {present}");
        };
        check(Doubt::Certain, &f, &f, std::slice::from_ref(&left), Ruling::Run);
        check(Doubt::Doubtful, &f, &f, std::slice::from_ref(&left), Ruling::Own);
        check(Doubt::Doubtful, &x, &f, std::slice::from_ref(&left), Ruling::Run);
        check(Doubt::Doubtful, &x, &x, std::slice::from_ref(&live), Ruling::Wait);
        check(Doubt::Held, &x, &f, std::slice::from_ref(&left), Ruling::Own);
        check(Doubt::Held, &x, &x, std::slice::from_ref(&left), Ruling::Run);
        check(Doubt::Held, &x, &x, &[], Ruling::Run);
    }

    #[test]
    fn what_is_certain_stays_certain() {
        for other in [Doubt::Certain, Doubt::Doubtful, Doubt::Held] {
            assert_eq!(joined(Doubt::Certain, other, false), Doubt::Certain);
            assert_eq!(joined(Doubt::Certain, other, true), Doubt::Certain);
            assert_eq!(joined(other, Doubt::Certain, true), Doubt::Certain);
        }
        assert_eq!(joined(Doubt::Doubtful, Doubt::Doubtful, false), Doubt::Certain);
        assert_eq!(joined(Doubt::Held, Doubt::Held, false), Doubt::Held);
    }
}
