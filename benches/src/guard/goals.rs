//! What the guard should cost, beside what it was measured to cost.

use crate::{row, table};

/// What a ratio should be.
#[derive(Clone, Copy)]
pub(super) enum WantedRatio {
    AtMost(f64),
    AtLeast(f64),
}

/// The ratios that were asked about.
#[derive(Default)]
pub(super) struct Goals {
    rows: Vec<Vec<String>>,
}

impl Goals {
    /// One time against another; what was not measured is said to be so.
    pub(super) fn ratio(&mut self, what: &str, us: Option<f64>, base_us: Option<f64>, wanted: WantedRatio) {
        let ratio = us.zip(base_us).map(|(us, base)| us / base);
        let (bound, met) = match wanted {
            WantedRatio::AtMost(bound) => (format!("at most {bound:.2} x"), ratio.map(|ratio| ratio <= bound)),
            WantedRatio::AtLeast(bound) => (format!("at least {bound:.0} x"), ratio.map(|ratio| ratio >= bound)),
        };
        let measured = ratio.map_or("not measured".to_owned(), |ratio| format!("{ratio:.2} x"));
        self.rows.push(row![what, measured, bound, met.map_or("-", |met| if met { "yes" } else { "no" })]);
    }

    /// A time that should stay below a limit.
    pub(super) fn below(&mut self, what: &str, us: Option<f64>, limit_ms: f64) {
        let measured = us.map_or("not measured".to_owned(), |us| format!("{:.2} ms", us / 1e3));
        let met = us.map_or("-", |us| if us < limit_ms * 1e3 { "yes" } else { "no" });
        self.rows.push(row![what, measured, format!("under {limit_ms:.0} ms"), met]);
    }

    pub(super) fn print(self) {
        let mut rows = vec![row!["what", "measured", "wanted", "met"]];
        rows.extend(self.rows);
        table::print(&rows);
    }
}
