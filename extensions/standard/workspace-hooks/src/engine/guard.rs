//! Whether a change is the work of a run of ours: such a change starts nothing.

use crate::contract::{ContentHash, Source};
use crate::run_store::{ChangeSuspicion, FileWrite, FileWriteState};

/// Whether some run went when a change was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunPresence {
    Nobody,
    Somebody,
}

/// Whose work a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOrigin {
    /// A run's that has ended.
    Own,
    /// Somebody else's, as far as it is known.
    Foreign(ChangeSuspicion),
}

/// Whose work a reported change is. Whoever is not the file system knows that a person saved.
pub(crate) fn origin(
    source: Source,
    content: Option<&ContentHash>,
    writes: &[FileWrite],
    presence: RunPresence,
) -> ChangeOrigin {
    if source != Source::Watcher {
        return ChangeOrigin::Foreign(ChangeSuspicion::Certain);
    }
    if left_so(writes, content) {
        return ChangeOrigin::Own;
    }
    if writes.iter().any(|write| write.state == FileWriteState::Live) {
        return ChangeOrigin::Foreign(ChangeSuspicion::Held);
    }
    match presence {
        RunPresence::Somebody => ChangeOrigin::Foreign(ChangeSuspicion::Doubtful),
        RunPresence::Nobody => ChangeOrigin::Foreign(ChangeSuspicion::Certain),
    }
}

fn left_so(writes: &[FileWrite], content: Option<&ContentHash>) -> bool {
    writes.iter().any(|write| write.state == FileWriteState::Left && write.content.as_ref() == content)
}

/// The doubt about a waiting run that takes another report in. Two contents of which the first was explained by
/// nothing are certainly not both ours.
pub(crate) fn joined(before: ChangeSuspicion, report: ChangeSuspicion, same_content: bool) -> ChangeSuspicion {
    match (before, report) {
        (before, report) if same_content => before.min(report),
        (ChangeSuspicion::Held, report) => report,
        _ => ChangeSuspicion::Certain,
    }
}

/// What a doubt comes to when the run is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SuspicionRuling {
    /// It runs.
    Run,
    /// The run that may have made the change still goes.
    Wait,
    /// A run of ours made the change.
    Own,
}

/// Decides about a run that is due: `reported` is what its last event said, `present` what the file holds now.
pub(crate) fn rule(
    doubt: ChangeSuspicion,
    reported: Option<&ContentHash>,
    present: Option<&ContentHash>,
    writes: &[FileWrite],
) -> SuspicionRuling {
    if doubt == ChangeSuspicion::Certain {
        return SuspicionRuling::Run;
    }
    if writes.iter().any(|write| write.state == FileWriteState::Live) {
        return SuspicionRuling::Wait;
    }
    // Between two writes of one run the file held what nobody meant; only its last content counts.
    let own = left_so(writes, reported) || (doubt == ChangeSuspicion::Held && left_so(writes, present));
    if own { SuspicionRuling::Own } else { SuspicionRuling::Run }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(state: FileWriteState, content: &str) -> FileWrite {
        FileWrite { path: "p".into(), run: 1, state, content: Some(content.into()), at_ms: 0 }
    }

    #[test]
    fn only_what_a_run_left_is_its_own() {
        let (left, live) = (write(FileWriteState::Left, "f"), write(FileWriteState::Live, ""));
        let (f, x) = ("f".to_owned(), "x".to_owned());
        let check = |source, content, writes: &[FileWrite], presence, expected| {
            assert_eq!(origin(source, Some(content), writes, presence), expected, "{source:?} {content} {writes:?}");
        };
        use ChangeSuspicion::{Certain, Doubtful, Held};
        use RunPresence::{Nobody, Somebody};
        check(Source::Watcher, &f, std::slice::from_ref(&left), Nobody, ChangeOrigin::Own);
        check(Source::Watcher, &x, std::slice::from_ref(&left), Nobody, ChangeOrigin::Foreign(Certain));
        check(Source::Watcher, &x, std::slice::from_ref(&left), Somebody, ChangeOrigin::Foreign(Doubtful));
        check(Source::Watcher, &x, std::slice::from_ref(&live), Somebody, ChangeOrigin::Foreign(Held));
        check(Source::Editor, &f, std::slice::from_ref(&left), Nobody, ChangeOrigin::Foreign(Certain));
        check(Source::Editor, &f, std::slice::from_ref(&live), Somebody, ChangeOrigin::Foreign(Certain));
    }

    #[test]
    fn a_doubt_ends_when_its_cause_does() {
        let (left, live) = (write(FileWriteState::Left, "f"), write(FileWriteState::Live, ""));
        let (f, x) = ("f".to_owned(), "x".to_owned());
        let check = |doubt, reported, present, writes: &[FileWrite], expected| {
            assert_eq!(rule(doubt, Some(reported), Some(present), writes), expected, "{doubt:?} {reported} {present}");
        };
        check(ChangeSuspicion::Certain, &f, &f, std::slice::from_ref(&left), SuspicionRuling::Run);
        check(ChangeSuspicion::Doubtful, &f, &f, std::slice::from_ref(&left), SuspicionRuling::Own);
        check(ChangeSuspicion::Doubtful, &x, &f, std::slice::from_ref(&left), SuspicionRuling::Run);
        check(ChangeSuspicion::Doubtful, &x, &x, std::slice::from_ref(&live), SuspicionRuling::Wait);
        check(ChangeSuspicion::Held, &x, &f, std::slice::from_ref(&left), SuspicionRuling::Own);
        check(ChangeSuspicion::Held, &x, &x, std::slice::from_ref(&left), SuspicionRuling::Run);
        check(ChangeSuspicion::Held, &x, &x, &[], SuspicionRuling::Run);
    }

    #[test]
    fn what_is_certain_stays_certain() {
        for other in [ChangeSuspicion::Certain, ChangeSuspicion::Doubtful, ChangeSuspicion::Held] {
            assert_eq!(joined(ChangeSuspicion::Certain, other, false), ChangeSuspicion::Certain);
            assert_eq!(joined(ChangeSuspicion::Certain, other, true), ChangeSuspicion::Certain);
            assert_eq!(joined(other, ChangeSuspicion::Certain, true), ChangeSuspicion::Certain);
        }
        assert_eq!(joined(ChangeSuspicion::Doubtful, ChangeSuspicion::Doubtful, false), ChangeSuspicion::Certain);
        assert_eq!(joined(ChangeSuspicion::Held, ChangeSuspicion::Held, false), ChangeSuspicion::Held);
    }
}
