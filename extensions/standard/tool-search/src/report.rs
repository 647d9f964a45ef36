//! A report that never grows beyond what a model reads, and says what it left out.

use std::time::{Duration, Instant};

const MAX_BYTES: usize = 40 * 1024;
/// How long one search may take.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Why a search stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Results,
    Bytes,
    Time,
    Cancelled,
}

pub(crate) struct Report {
    text: String,
    results: usize,
    max_results: usize,
    deadline: Instant,
    pub(crate) stop: Option<Stop>,
}

impl Report {
    pub(crate) fn new(max_results: usize) -> Self {
        let deadline = Instant::now() + MAX_TIME;
        Self { text: String::new(), results: 0, max_results, deadline, stop: None }
    }

    /// Adds a line that is a result; says whether there is room for more.
    pub(crate) fn result(&mut self, line: &str) -> bool {
        if self.results >= self.max_results {
            self.stop = Some(Stop::Results);
            return false;
        }
        let fits = self.line(line);
        self.results += usize::from(fits);
        fits
    }

    /// Adds a line that is none.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if self.text.len() + line.len() > MAX_BYTES {
            self.stop = Some(Stop::Bytes);
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Whether to go on; asked between files and now and then within one.
    pub(crate) fn goes_on(&mut self, is_cancelled: impl FnOnce() -> bool) -> bool {
        if is_cancelled() {
            self.stop = Some(Stop::Cancelled);
        } else if Instant::now() > self.deadline {
            self.stop = Some(Stop::Time);
        }
        self.stop.is_none()
    }

    pub(crate) fn results(&self) -> usize {
        self.results
    }

    /// The report with its last line, which says how complete it is.
    pub(crate) fn finish(mut self, what: &str) -> String {
        let end = match self.stop {
            None => format!("[{} {what}.]", self.results),
            Some(Stop::Results) => format!(
                "[Only the first {} {what}; there are more. Search for something narrower, or give a larger max_results.]",
                self.results
            ),
            Some(Stop::Bytes) => {
                format!("[Only the first {} {what}: more did not fit. Search for something narrower.]", self.results)
            }
            Some(Stop::Time) => format!(
                "[{} {what} so far: the time of {} s was up. Search in a folder, or for something narrower.]",
                self.results,
                MAX_TIME.as_secs()
            ),
            Some(Stop::Cancelled) => format!("[{} {what} so far: the search was cancelled.]", self.results),
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
        let mut report = Report::new(2);
        assert!(report.result("a") && report.result("b") && !report.result("c"));
        assert_eq!(report.stop, Some(Stop::Results));
        assert!(report.finish("matches").starts_with("a\nb\n[Only the first 2 matches; there are more."));
        let mut report = Report::new(9);
        assert!(!report.result(&"x".repeat(MAX_BYTES + 1)));
        assert_eq!(report.stop, Some(Stop::Bytes));
        let mut report = Report::new(9);
        assert!(!report.goes_on(|| true));
        assert!(report.finish("files").contains("cancelled"));
    }
}
