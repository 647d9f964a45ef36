//! One pass over a text with the built-in patterns.
//!
//! Pure.

use std::ops::Range;

use crate::marker;
use crate::prefilter;
use crate::rules::{MARKER_RULE, RULES};
use crate::span::Span;

/// What one pass saw.
#[derive(Default)]
pub(crate) struct ScanResult {
    pub(crate) spans: Vec<Span>,
    /// Where an earlier redaction left its marker.
    pub(crate) markers: Vec<Range<usize>>,
}

/// Finds every built-in secret and every marker.
pub(crate) fn builtin(text: &[u8]) -> ScanResult {
    let mut found = ScanResult::default();
    // A literal inside what its own rule has looked through starts nothing new; trying it
    // would make a text of nothing but prefixes take quadratic time.
    let mut resume: Option<[usize; RULES.len()]> = None;
    prefilter::literals(text, |hit| {
        if hit.rule == MARKER_RULE {
            found.markers.extend(marker::at(text, hit.at));
            return;
        }
        // Most texts have no literal at all, so that there is nothing to keep.
        let resume = resume.get_or_insert([0; RULES.len()]);
        let (Some(rule), Some(resume)) = (RULES.get(hit.rule), resume.get_mut(hit.rule)) else {
            return;
        };
        if hit.at < *resume {
            return;
        }
        *resume = rule.collect(text, hit.at, hit.length, &mut found.spans);
    });
    found
}

/// Finds only the markers.
pub(crate) fn markers(text: &[u8]) -> Vec<Range<usize>> {
    builtin(text).markers
}
