//! Decides how much of a conversation a summary has to stand for.
//!
//! Pure.

/// What a request is made of, in estimated tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestSize<'a> {
    /// The past turns that are not summarised yet, oldest first.
    pub(crate) turns: &'a [u64],
    /// What stays in every case: system text, tools, the turn that runs.
    pub(crate) fixed: u64,
    /// What a summary may take.
    pub(crate) summary: u64,
}

/// How many of the oldest turns a summary has to stand for so that the request fits the budget: all but the last
/// `keep`, or more if those do not fit. `None` if there is nothing to summarise.
pub(crate) fn turns_to_summarise(size: RequestSize<'_>, budget: u64, keep: usize) -> Option<usize> {
    let most = size.turns.len().min(keep);
    let room = budget.saturating_sub(size.fixed).saturating_sub(size.summary);
    let mut kept = 0;
    let mut taken = 0_u64;
    for turn in size.turns.iter().rev().take(most) {
        taken = taken.saturating_add(*turn);
        if taken > room {
            break;
        }
        kept += 1;
    }
    let summarised = size.turns.len() - kept;
    (summarised > 0).then_some(summarised)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_turns_stay_if_they_fit() {
        let size = |turns| RequestSize { turns, fixed: 100, summary: 50 };
        for (turns, budget, keep, expected) in [
            (&[10, 10, 10, 10][..], 1_000, 2, Some(2)),
            (&[10, 10, 10, 10], 175, 4, Some(2)),
            (&[10, 10, 10, 10], 1_000, 0, Some(4)),
            (&[10, 10, 10, 10], 50, 2, Some(4)),
            (&[500, 10], 200, 2, Some(1)),
            (&[10, 500], 200, 2, Some(2)),
            (&[10, 10], 1_000, 4, None),
            (&[], 10, 4, None),
        ] {
            assert_eq!(
                turns_to_summarise(size(turns), budget, keep),
                expected,
                "{turns:?} in {budget}, keeping {keep}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_stays_fits_and_a_larger_keep_summarises_no_more(
            turns in proptest::collection::vec(0_u64..500, 0..20),
            fixed in 0_u64..500,
            budget in 0_u64..3_000,
            keep in 0_usize..10,
        ) {
            let size = RequestSize { turns: &turns, fixed, summary: 50 };
            let summarised = turns_to_summarise(size, budget, keep).unwrap_or(0);
            let stays: u64 = turns[summarised..].iter().sum();
            if summarised > 0 && summarised < turns.len() {
                prop_assert!(fixed + 50 + stays <= budget);
                prop_assert!(turns.len() - summarised <= keep);
            }
            let more = turns_to_summarise(size, budget, keep + 1).unwrap_or(0);
            prop_assert!(more <= summarised || summarised == 0);
        }
    }
}
