//! Draws activity over time as an SVG bar chart.

use std::collections::BTreeMap;

use dispatch_os::time::{parse_rfc3339, rfc3339};

use super::escape;
use crate::query::summary::DayActivity;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 44.0;
const BOTTOM: f64 = 24.0;
const TOP: f64 = 10.0;
const MAX_BAR_WIDTH: f64 = 48.0;
/// With more days, a bar covers several days.
const MAX_BARS: usize = 120;

const DAY_MS: i64 = 86_400_000;
/// A longer time means a wrong clock, so only days with entries are drawn.
const MAX_DAYS: i64 = 3_660;

/// One bar.
struct ChartBar {
    from: String,
    to: String,
    day: DayActivity,
}

/// Bars with changes in scope below and escapes on top.
pub(super) fn activity(days: &BTreeMap<String, DayActivity>) -> String {
    let bars = group(days);
    let highest = bars.iter().map(|bar| bar.day.inside + bar.day.escapes).max().unwrap_or_default().max(1);
    let step = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let width = (step * 0.8).min(MAX_BAR_WIDTH);
    let scale = (HEIGHT - BOTTOM - TOP) / highest as f64;
    let base = HEIGHT - BOTTOM;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Entries per day\">\
         <line class=\"axis\" x1=\"{LEFT}\" y1=\"{base}\" x2=\"{WIDTH}\" y2=\"{base}\"/>"
    );
    for value in ticks(highest) {
        let y = base - value as f64 * scale;
        svg.push_str(&format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{WIDTH}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
            LEFT - 6.0,
            y + 4.0
        ));
    }
    let labelled = (bars.len() / 8).max(1);
    for (index, bar) in bars.iter().enumerate() {
        let middle = LEFT + step * (index as f64 + 0.5);
        svg.push_str(&draw(bar, middle - width / 2.0, width, base, scale));
        if index % labelled == 0 {
            svg.push_str(&format!(
                "<text class=\"tick\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - 6.0,
                escape(bar.from.get(5..).unwrap_or(&bar.from))
            ));
        }
    }
    svg.push_str("</svg>");
    svg
}

fn draw(bar: &ChartBar, x: f64, width: f64, base: f64, scale: f64) -> String {
    let (inside, escapes) = (bar.day.inside as f64 * scale, bar.day.escapes as f64 * scale);
    let days = if bar.from == bar.to { bar.from.clone() } else { format!("{} to {}", bar.from, bar.to) };
    let title = escape(&format!("{days}: {} in scope, {} escapes", bar.day.inside, bar.day.escapes));
    format!(
        "<g><title>{title}</title>\
         <rect class=\"inside\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{inside:.1}\"/>\
         <rect class=\"escape\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{escapes:.1}\"/></g>",
        base - inside,
        base - inside - escapes
    )
}

fn group(days: &BTreeMap<String, DayActivity>) -> Vec<ChartBar> {
    let days: Vec<(String, DayActivity)> = with_idle_days(days).into_iter().collect();
    let size = days.len().div_ceil(MAX_BARS).max(1);
    let bars = days.chunks(size).filter_map(|chunk| {
        let (from, to) = (chunk.first()?.0.clone(), chunk.last()?.0.clone());
        let sum = |of: fn(&DayActivity) -> u64| chunk.iter().map(|(_, day)| of(day)).sum();
        Some(ChartBar { from, to, day: DayActivity { inside: sum(|day| day.inside), escapes: sum(|day| day.escapes) } })
    });
    bars.collect()
}

/// The same with the days without entries, so that the time axis is even.
fn with_idle_days(days: &BTreeMap<String, DayActivity>) -> BTreeMap<String, DayActivity> {
    let at = |day: Option<&String>| parse_rfc3339(&format!("{}T00:00:00Z", day?));
    let mut all = days.clone();
    if let (Some(first_ms), Some(last_ms)) = (at(days.keys().next()), at(days.keys().next_back()))
        && last_ms - first_ms <= MAX_DAYS * DAY_MS
    {
        for time_ms in (0..).map(|day| first_ms + day * DAY_MS).take_while(|time_ms| *time_ms <= last_ms) {
            all.entry(rfc3339(time_ms).get(..10).unwrap_or_default().to_owned()).or_default();
        }
    }
    all
}

/// Round values up to the highest bar.
fn ticks(highest: u64) -> Vec<u64> {
    let rough = highest.div_ceil(4).max(1);
    let power = 10_u64.pow(rough.ilog10());
    let step = [1, 2, 5, 10].into_iter().map(|times| times * power).find(|step| *step >= rough).unwrap_or(rough);
    (1..).map(|times| times * step).take_while(|value| *value <= highest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_days_are_drawn_and_many_days_share_a_bar() {
        let day = DayActivity { inside: 2, escapes: 1 };
        let days = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), day)).collect::<BTreeMap<_, _>>();
        let bars = group(&days(&["2026-02-27", "2026-03-02"]));
        let names: Vec<&str> = bars.iter().map(|bar| bar.from.as_str()).collect();
        assert_eq!(names, ["2026-02-27", "2026-02-28", "2026-03-01", "2026-03-02"]);
        assert_eq!(group(&days(&["0001-01-01", "9999-01-01"])).len(), 2, "a wrong clock");
        let bars = group(&days(&["2025-01-01", "2026-01-01"]));
        assert!(bars.len() <= MAX_BARS);
        assert_eq!(bars.iter().map(|bar| bar.day.inside).sum::<u64>(), 4);
        assert_eq!(group(&days(&["no date"])).len(), 1);
    }

    #[test]
    fn ticks_are_round() {
        for (highest, expected) in [(1, vec![1]), (7, vec![2, 4, 6]), (20, vec![5, 10, 15, 20]), (901, vec![500])] {
            assert_eq!(ticks(highest), expected, "{highest}");
        }
    }
}
