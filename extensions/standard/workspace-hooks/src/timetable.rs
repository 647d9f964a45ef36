//! Time tables in cron's words: when a scheduled hook runs next.
//!
//! Pure.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::collections::HashMap;

/// The longest time table.
const MAX_BYTES: usize = 256;
/// The year 4960. A table that fits at all fits again within 40 years, and the search ends with the year 5000: from
/// here it is short, also for a table that fits never.
const LAST_YEARS_MS: i64 = 94_355_280_000_000;
/// What stands before the zone of a time table that has one.
const ZONE_PREFIX: &str = "CRON_TZ=";

/// A time table of five fields (minute, hour, day, month, weekday) or six (seconds first). It is kept in UTC, unless it
/// starts with `CRON_TZ=Europe/Berlin `, or whichever zone it means. A time that a zone skips is made up for right
/// after the gap, and one that it repeats counts once.
#[derive(Clone, Debug)]
pub(crate) struct Timetable {
    cron: Cron,
    zone: TimeZone,
}

/// Why a schedule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TimetableError {
    /// The fields cannot be read.
    #[error("invalid schedule: {0}")]
    Fields(String),
    /// The fields can be read and no day fits them.
    #[error("the schedule never comes up")]
    Never,
    /// This machine does not know the zone.
    #[error("unknown time zone")]
    Zone,
}

impl TimetableError {
    /// Whether it is about the zone.
    pub(crate) const fn is_of_zone(&self) -> bool {
        matches!(self, Self::Zone)
    }

    /// What to do about it.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Fields(_) => {
                "five fields: minute, hour, day, month, weekday; \"0 9 * * 1-5\" is nine on working days"
            }
            Self::Never => "look at the day and the month",
            Self::Zone => "write a name such as \"Europe/Berlin\", or leave it out for UTC",
        }
    }
}

/// A time table as a hook keeps it: with its zone in front, if one is named.
pub(crate) fn text(schedule: &str, zone: Option<&str>) -> String {
    let schedule = schedule.split_whitespace().collect::<Vec<_>>().join(" ");
    match zone {
        Some(zone) => format!("{ZONE_PREFIX}{zone} {schedule}"),
        None => schedule,
    }
}

impl Timetable {
    /// Reads a time table.
    ///
    /// # Errors
    /// When it is invalid, or its zone is unknown.
    pub(crate) fn parse(text: &str) -> Result<Self, TimetableError> {
        if text.len() > MAX_BYTES {
            return Err(TimetableError::Fields(format!("{} bytes, more than the limit of {MAX_BYTES}", text.len())));
        }
        let (zone, fields) = match text.strip_prefix(ZONE_PREFIX) {
            Some(rest) => {
                let (name, fields) = rest.split_once(' ').unwrap_or((rest, ""));
                (TimeZone::get(name).map_err(|_| TimetableError::Zone)?, fields)
            }
            None => (TimeZone::UTC, text),
        };
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
        let cron = parser.parse(fields).map_err(|error| TimetableError::Fields(reason(&error.to_string())))?;
        Ok(Self { cron, zone })
    }

    /// The first moment after this one, both in Unix milliseconds; `None` if it never comes up again.
    pub(crate) fn next_after(&self, unix_ms: i64) -> Option<i64> {
        let now = Timestamp::from_millisecond(unix_ms).ok()?;
        let next = self.cron.find_next_occurrence(&Zoned::new(now, self.zone.clone()), false).ok()?;
        let next = next.timestamp().as_second().checked_mul(1_000)?;
        (next > unix_ms).then_some(next)
    }
}

/// The first moment of a time table after this one, both in Unix milliseconds; `None` for an invalid one.
#[must_use]
pub(crate) fn next_after(table: &str, unix_ms: u64) -> Option<u64> {
    let next = Timetable::parse(table).ok()?.next_after(i64::try_from(unix_ms).ok()?)?;
    u64::try_from(next).ok()
}

/// What the parser says, without the names of its own types.
fn reason(text: &str) -> String {
    let told = text.split_once(": ").map_or(text, |(_, rest)| rest);
    let told = told.trim_end_matches('.').replace("CronPattern", "it");
    let mut letters = told.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What was said about time tables so far: many hooks have the same one, and each takes a while.
#[derive(Default)]
pub(crate) struct CheckedTimetables {
    known: HashMap<String, Result<(), TimetableError>>,
}

impl CheckedTimetables {
    /// Whether a text is a time table that comes up at all.
    pub(crate) fn check(&mut self, text: &str) -> Result<(), TimetableError> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let judged = Timetable::parse(text)
            .and_then(|table| table.next_after(LAST_YEARS_MS).map(drop).ok_or(TimetableError::Never));
        self.known.insert(text.to_owned(), judged.clone());
        judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(table: &str, after: &str) -> Option<String> {
        let after: Timestamp = after.parse().unwrap();
        let next = Timetable::parse(table).unwrap().next_after(after.as_millisecond())?;
        Some(Timestamp::from_millisecond(next).unwrap().to_string())
    }

    #[test]
    fn the_next_time_is_after_the_given_one() {
        for (table, after, expected) in [
            ("* * * * *", "2025-01-01T00:00:00Z", "2025-01-01T00:01:00Z"),
            ("* * * * *", "2025-01-01T00:00:59.999Z", "2025-01-01T00:01:00Z"),
            ("*/15 * * * *", "2025-01-01T00:15:00Z", "2025-01-01T00:30:00Z"),
            ("*/10 * * * * *", "2025-01-01T00:00:01Z", "2025-01-01T00:00:10Z"),
            ("0 9 * * 1-5", "2025-01-03T09:00:00Z", "2025-01-06T09:00:00Z"),
            ("0 0 29 2 *", "2025-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("@daily", "2025-12-31T12:00:00Z", "2026-01-01T00:00:00Z"),
            ("0 0 L * *", "2025-02-01T00:00:00Z", "2025-02-28T00:00:00Z"),
        ] {
            assert_eq!(next(table, after).as_deref(), Some(expected), "{table}");
        }
    }

    #[test]
    fn what_is_no_time_table_is_refused() {
        for table in ["", " ", "x", "* * * *", "60 * * * *", "* * * * * * * *", "0 0 * * 8", "\u{0}", "CRON_TZ=UTC"] {
            assert!(matches!(Timetable::parse(table), Err(TimetableError::Fields(_))), "{table:?}");
        }
        assert!(Timetable::parse(&"*".repeat(10_000)).is_err());
        assert_eq!(Timetable::parse("CRON_TZ=Mars/Base 0 9 * * *").unwrap_err(), TimetableError::Zone);
        assert_eq!(CheckedTimetables::default().check("0 0 30 2 *"), Err(TimetableError::Never));
        for rare in ["0 0 29 2 *", "0 0 29 2 +1", "0 0 31 12 *", "59 59 23 31 12 *", "0 0 * 2 5#5"] {
            assert_eq!(CheckedTimetables::default().check(rare), Ok(()), "{rare}");
        }
    }

    #[test]
    fn moments_at_the_ends_of_time_are_no_panic() {
        let table = Timetable::parse("* * * * *").unwrap();
        for unix_ms in [i64::MIN, i64::MAX, 0, -1] {
            let _ = table.next_after(unix_ms);
        }
        assert_eq!(table.next_after(-1), Some(0));
    }

    /// Machines without a database of time zones know UTC alone.
    #[test]
    fn a_zone_moves_the_table() {
        let berlin = text("0 9  * * *", Some("Europe/Berlin"));
        assert_eq!(berlin, "CRON_TZ=Europe/Berlin 0 9 * * *");
        match Timetable::parse(&berlin) {
            Err(error) => assert_eq!(error, TimetableError::Zone),
            Ok(_) => {
                assert_eq!(next(&berlin, "2025-01-15T00:00:00Z").as_deref(), Some("2025-01-15T08:00:00Z"));
                assert_eq!(next(&berlin, "2025-07-15T00:00:00Z").as_deref(), Some("2025-07-15T07:00:00Z"));
                let gap = text("30 2 * * *", Some("Europe/Berlin"));
                assert!(next(&gap, "2025-03-30T00:00:00Z").is_some(), "the night without half past two");
            }
        }
    }
}
