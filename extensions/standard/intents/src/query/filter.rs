//! Selects entries of the ledger; most lines are rejected without parsing.

use dispatch_os::time::parse_rfc3339;
use memchr::memmem;

use crate::trace_entry::TraceEntry;

/// Conditions on an entry; `None` accepts everything.
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    /// Its intent.
    pub intent: Option<String>,
    /// The path of its file.
    pub path: Option<String>,
    /// Starts of the id of its session, one of which it has; none accepts every session.
    pub session: Vec<String>,
    /// Its earliest time, in Unix milliseconds.
    pub since_ms: Option<i64>,
}

impl EntryFilter {
    /// Whether a line matches; `None` if it had to be parsed and is not an entry.
    #[must_use]
    pub fn wants(&self, line: &[u8]) -> Option<bool> {
        let asks = self.intent.is_some() || self.path.is_some() || !self.session.is_empty() || self.since_ms.is_some();
        if !asks {
            return Some(true);
        }
        let needles = [self.intent.as_deref(), self.path.as_deref()];
        // Escaped text has a backslash, so such a line is parsed.
        let escaped = memchr::memchr(b'\\', line).is_some();
        let missing = |needle: &str| !needle.is_empty() && memmem::find(line, needle.as_bytes()).is_none();
        if !escaped && needles.into_iter().flatten().any(missing) {
            return Some(false);
        }
        Some(self.fits(&serde_json::from_slice(line).ok()?))
    }

    fn fits(&self, entry: &TraceEntry) -> bool {
        let since = |since_ms| parse_rfc3339(&entry.timestamp).is_some_and(|time_ms| time_ms >= since_ms);
        self.intent.as_ref().is_none_or(|intent| entry.intent_id == *intent)
            && self.path.as_ref().is_none_or(|path| entry.path() == Some(path))
            && (self.session.is_empty() || self.session.iter().any(|session| entry.session_id.starts_with(session)))
            && self.since_ms.is_none_or(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::samples;

    #[test]
    fn entries_are_selected_by_their_fields() {
        let entry = samples::entry(3, "a \"b\".rs");
        let line = serde_json::to_vec(&entry).unwrap();
        let wants = |change: &dyn Fn(&mut EntryFilter)| {
            let mut filter = EntryFilter::default();
            change(&mut filter);
            filter.wants(&line).unwrap()
        };
        assert!(wants(&|_| {}));
        assert!(wants(&|filter| filter.intent = Some("INT-002".into())));
        assert!(!wants(&|filter| filter.intent = Some("INT-00".into())));
        assert!(wants(&|filter| filter.path = Some("a \"b\".rs".into())));
        assert!(!wants(&|filter| filter.path = Some("b".into())));
        assert!(wants(&|filter| filter.session = vec!["zz".into(), "0000".into()]));
        assert!(!wants(&|filter| filter.session = vec!["ffff".into()]));
        let at = parse_rfc3339(&entry.timestamp).unwrap();
        assert!(wants(&|filter| filter.since_ms = Some(at)));
        assert!(!wants(&|filter| filter.since_ms = Some(at + 1)));
        let filter = EntryFilter { since_ms: Some(0), ..EntryFilter::default() };
        assert_eq!(filter.wants(b"{"), None);
    }
}
