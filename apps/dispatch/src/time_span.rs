//! A length of time as people write it on a command line: `45s`, `10m`, `12h`, `7d`, `2w`.
//!
//! Pure.

use std::fmt;
use std::str::FromStr;

const UNITS: [(&str, i64); 5] = [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
/// About three thousand years; more is a typing error.
const MAX_MS: i64 = 100_000_000_000_000;

/// A length of time in milliseconds, more than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimeSpan {
    ms: i64,
}

impl TimeSpan {
    pub(crate) const fn minutes(minutes: i64) -> Self {
        Self { ms: minutes * 60_000 }
    }

    pub(crate) const fn ms(self) -> i64 {
        self.ms
    }

    /// A whole number of milliseconds as a span, rounded to what people care about.
    pub(crate) fn from_ms(ms: i64) -> Self {
        let unit = if ms >= 86_400_000 { 3_600_000 } else { 1_000 };
        Self { ms: ((ms + unit - 1) / unit * unit).max(1_000) }
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("invalid time span `{text}`; expected for example 45s, 10m, 12h, 7d or 2w");
        let digits = text.find(|character: char| !character.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(digits);
        let (_, unit_ms) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: i64 = number.parse().map_err(|_| wrong())?;
        let ms = number.checked_mul(unit_ms).filter(|ms| (1..=MAX_MS).contains(ms)).ok_or_else(wrong)?;
        Ok(Self { ms })
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.ms;
        for (name, unit_ms) in UNITS {
            let count = rest / unit_ms;
            // `60m` rather than `1h 0m`: only units that matter are shown.
            if count > 0 {
                write!(formatter, "{}{count}{name}", if rest == self.ms { "" } else { " " })?;
                rest %= unit_ms;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_shown() {
        for (text, ms, shown) in [
            ("45s", 45_000, "45s"),
            ("10m", 600_000, "10m"),
            ("90m", 5_400_000, "1h 30m"),
            ("7d", 604_800_000, "1w"),
            ("2w", 1_209_600_000, "2w"),
        ] {
            let span: TimeSpan = text.parse().unwrap();
            assert_eq!((span.ms(), span.to_string().as_str()), (ms, shown));
        }
        assert_eq!(TimeSpan::from_ms(599_001).to_string(), "10m");
        assert_eq!(TimeSpan::from_ms(0).to_string(), "1s");
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in ["", "7", "d", "7 d", "-7d", "0d", "7y", "1.5h", "99999999999999999999d", "9999999999w", "٧d"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text:?}");
        }
    }
}
