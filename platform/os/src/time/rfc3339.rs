//! Wall times as RFC 3339 text, and back.
//!
//! Pure.

use jiff::Timestamp;

/// `2026-01-02T03:04:05.678Z` for a wall time; a time out of range becomes the nearest that can be written.
pub fn rfc3339(unix_ms: i64) -> String {
    let nearest = if unix_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    let timestamp = Timestamp::from_millisecond(unix_ms).unwrap_or(nearest);
    format!("{timestamp:.3}")
}

/// Wall time from RFC 3339 text with any offset; finer digits than milliseconds are cut.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    text.parse::<Timestamp>()
        .ok()
        .map(|timestamp| timestamp.as_nanosecond().div_euclid(1_000_000))
        .and_then(|ms| i64::try_from(ms).ok())
}
