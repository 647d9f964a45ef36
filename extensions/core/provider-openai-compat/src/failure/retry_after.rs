//! Reads when a server wants to be asked again.
//!
//! Pure.

use jiff::fmt::rfc2822;

/// The longest wait that is believed; a server that says more means "not today".
const MAX_RETRY_AFTER_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// The wait that the headers ask for: `retry-after-ms`, else `Retry-After` in seconds or as a date.
pub(crate) fn retry_after_ms(exact: Option<&str>, usual: Option<&str>, now_ms: u64) -> Option<u64> {
    let exact = exact.and_then(|text| text.trim().parse::<f64>().ok()).and_then(whole);
    let wait = exact.or_else(|| {
        let text = usual?.trim();
        match text.parse::<f64>() {
            Ok(seconds) => whole(seconds * 1000.0),
            Err(_) => date_ms(text).map(|at_ms| at_ms.saturating_sub(now_ms)),
        }
    });
    wait.map(|ms| ms.min(MAX_RETRY_AFTER_MS))
}

fn whole(ms: f64) -> Option<u64> {
    (ms.is_finite() && ms >= 0.0).then(|| ms.ceil().min(MAX_RETRY_AFTER_MS as f64) as u64)
}

fn date_ms(text: &str) -> Option<u64> {
    let date = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    u64::try_from(date.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_dates_and_nonsense() {
        // 2015-10-21T07:28:00Z
        let now = 1_445_412_480_000;
        for (exact, usual, expected) in [
            (None, None, None),
            (None, Some("2"), Some(2_000)),
            (None, Some(" 1.5 "), Some(1_500)),
            (Some("250"), Some("2"), Some(250)),
            (Some("soon"), Some("2"), Some(2_000)),
            (None, Some("Wed, 21 Oct 2015 07:28:10 GMT"), Some(10_000)),
            (None, Some("Wed, 21 Oct 2015 07:27:00 GMT"), Some(0)),
            (None, Some("-1"), None),
            (None, Some("NaN"), None),
            (None, Some("in a while"), None),
            (None, Some("1e300"), Some(MAX_RETRY_AFTER_MS)),
        ] {
            assert_eq!(retry_after_ms(exact, usual, now), expected, "{exact:?} {usual:?}");
        }
    }
}
