//! A report that is bounded to what a model reads, and says what it left out.
//!
//! Pure.

use std::time::Duration;

const MAX_BYTES: usize = 40 * 1024;
/// How long one search may take.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(20);

/// Why a search stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    Results,
    Bytes,
    Time,
    Cancelled,
}

pub(crate) struct SearchReport {
    text: String,
    results: usize,
    max_results: usize,
    pub(crate) stop: Option<StopReason>,
}

impl SearchReport {
    pub(crate) fn new(max_results: usize) -> Self {
        Self { text: String::new(), results: 0, max_results, stop: None }
    }

    /// Adds a line that is a result; says whether there is room for more.
    pub(crate) fn result(&mut self, line: &str) -> bool {
        if self.results >= self.max_results {
            self.stop = Some(StopReason::Results);
            return false;
        }
        let fits = self.line(line);
        self.results += usize::from(fits);
        fits
    }

    /// Adds a line that is not a result.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if self.text.len() + line.len() > MAX_BYTES {
            self.stop = Some(StopReason::Bytes);
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Notes a reason to stop, if there is one; says whether to go on.
    pub(crate) fn goes_on(&mut self, reason: Option<StopReason>) -> bool {
        self.stop = reason.or(self.stop);
        self.stop.is_none()
    }

    pub(crate) fn results(&self) -> usize {
        self.results
    }

    /// The report with its last line, which says how complete it is.
    pub(crate) fn finish(mut self, what: &str) -> String {
        let end = match self.stop {
            None => format!("[{} {what}.]", self.results),
            Some(StopReason::Results) => format!(
                "[Only the first {} {what}; there are more. Search for something narrower, or give a larger max_results.]",
                self.results
            ),
            Some(StopReason::Bytes) => {
                format!("[Only the first {} {what}: more did not fit. Search for something narrower.]", self.results)
            }
            Some(StopReason::Time) => format!(
                "[{} {what} so far: the time of {} s was up. Search in a folder, or for something narrower.]",
                self.results,
                MAX_TIME.as_secs()
            ),
            Some(StopReason::Cancelled) => format!("[{} {what} so far: the search was cancelled.]", self.results),
        };
        self.text.push_str(&end);
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_stops_at_its_bounds_and_says_which() {
        let mut report = SearchReport::new(2);
        assert!(report.result("a") && report.result("b") && !report.result("c"));
        assert_eq!(report.stop, Some(StopReason::Results));
        assert!(report.finish("matches").starts_with("a\nb\n[Only the first 2 matches; there are more."));
        let mut report = SearchReport::new(9);
        assert!(!report.result(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!(report.stop, Some(StopReason::Bytes));
        let mut report = SearchReport::new(9);
        assert!(report.goes_on(None) && !report.goes_on(Some(StopReason::Cancelled)));
        assert!(report.finish("files").contains("cancelled"));
    }
}
