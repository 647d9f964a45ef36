//! Finds the place of each hunk in a text and changes it there, or says why there is no certain place.
//!
//! Pure.

use super::change::{Hunk, HunkLine};
use crate::document::TextDocument;
use crate::nearest;

/// The changed text; the error is for the model.
pub(super) fn apply(document: &TextDocument, hunks: &[Hunk]) -> Result<String, String> {
    let lines: Vec<&str> = document.text.split_inclusive('\n').collect();
    let contents: Vec<&str> = lines.iter().map(|line| content(line)).collect();
    let mut result = String::with_capacity(document.text.len());
    let mut done = 0;
    let mut shift = 0;
    for hunk in hunks {
        let place = find(&contents, hunk, done, shift)?;
        if let Some(expected) = hunk.old_start.filter(|_| !hunk.old_lines().is_empty()) {
            shift = place.cast_signed() - expected.saturating_sub(1).cast_signed();
        }
        lines.get(done..place).unwrap_or_default().iter().for_each(|line| result.push_str(line));
        done = write_hunk(document, &lines, hunk, place, &mut result);
    }
    lines.get(done..).unwrap_or_default().iter().for_each(|line| result.push_str(line));
    Ok(result)
}

fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Writes the hunk's new lines; gives the number of the first old line behind it.
fn write_hunk(document: &TextDocument, lines: &[&str], hunk: &Hunk, place: usize, result: &mut String) -> usize {
    let end = document.line_end.text();
    let was_bare = lines.last().is_some_and(|line| !line.ends_with('\n'));
    let mut at = place;
    for line in &hunk.lines {
        match line {
            HunkLine::Keep(_) => {
                end_line(result, end);
                result.push_str(lines.get(at).copied().unwrap_or_default());
                at += 1;
            }
            HunkLine::Remove(_) => at += 1,
            HunkLine::Add(text) => {
                end_line(result, end);
                result.push_str(text);
                result.push_str(end);
            }
        }
    }
    if at == lines.len() {
        let is_bare = hunk.new_is_bare || (was_bare && !hunk.old_is_bare);
        match is_bare {
            true => result.truncate(content(result).len()),
            false => end_line(result, end),
        }
    }
    at
}

fn end_line(result: &mut String, end: &str) {
    if !result.is_empty() && !result.ends_with('\n') {
        result.push_str(end);
    }
}

/// How much white space may differ, strictest first.
const TOLERANCES: [fn(&str) -> &str; 3] = [|line| line, str::trim_end, str::trim];

fn find(lines: &[&str], hunk: &Hunk, from: usize, shift: isize) -> Result<usize, String> {
    let old = hunk.old_lines();
    let (base, behind_anchor) = anchored(lines, hunk, from)?;
    if old.is_empty() {
        return insertion(lines, hunk, from, behind_anchor);
    }
    for tolerance in TOLERANCES {
        let wanted: Vec<&str> = old.iter().map(|line| tolerance(line)).collect();
        let matches = |place: &usize| {
            let there = lines.get(*place..*place + wanted.len()).unwrap_or_default();
            there.len() == wanted.len()
                && there.iter().zip(&wanted).all(|(line, wanted)| tolerance(line) == *wanted)
                && (!hunk.is_at_end || place + wanted.len() == lines.len())
        };
        let places: Vec<usize> = (base..lines.len()).filter(matches).collect();
        if !places.is_empty() {
            return choose(&places, hunk, shift);
        }
    }
    let (text, file) = (old.join("\n"), lines.join("\n"));
    Err(format!("the lines at line {} of the patch are not in the file. {}", hunk.at, nearest::hint(&file, &text)))
}

fn choose(places: &[usize], hunk: &Hunk, shift: isize) -> Result<usize, String> {
    if let [place] = places {
        return Ok(*place);
    }
    if let Some(start) = hunk.old_start {
        let expected = start.saturating_sub(1);
        let shifted = expected.checked_add_signed(shift).unwrap_or(expected);
        if let Some(place) = [expected, shifted].iter().find(|place| places.contains(place)) {
            return Ok(*place);
        }
    }
    match places.first() {
        // An anchor says "the first one behind this line".
        Some(first) if !hunk.anchors.is_empty() => Ok(*first),
        _ => {
            let lines: Vec<String> = places.iter().take(10).map(|place| (place + 1).to_string()).collect();
            Err(format!(
                "the lines at line {} of the patch are in the file more than once (at lines {}). Add more context lines, or an `@@` line with a line that stands before the place",
                hunk.at,
                lines.join(", ")
            ))
        }
    }
}

/// Where to look, and the line behind the last anchor.
fn anchored(lines: &[&str], hunk: &Hunk, from: usize) -> Result<(usize, Option<usize>), String> {
    let (mut base, mut behind) = (from, None);
    for anchor in &hunk.anchors {
        let wanted = anchor.trim();
        let rest = || lines.iter().enumerate().skip(behind.unwrap_or(base));
        let found = rest().find(|(_, line)| line.trim() == wanted);
        let found = found.or_else(|| rest().find(|(_, line)| line.trim().starts_with(wanted)));
        let (at, _) = found.ok_or_else(|| {
            format!(
                "the line `{wanted}` that line {} of the patch names is not in the file behind line {base}",
                hunk.at
            )
        })?;
        // The anchor line itself may be repeated as the first line of the hunk.
        (base, behind) = (at, Some(at + 1));
    }
    Ok((base, behind))
}

fn insertion(lines: &[&str], hunk: &Hunk, from: usize, behind_anchor: Option<usize>) -> Result<usize, String> {
    match (behind_anchor, hunk.old_start) {
        (Some(place), _) => Ok(place),
        (None, Some(place)) if (from..=lines.len()).contains(&place) => Ok(place),
        (None, Some(place)) => Err(format!(
            "line {} of the patch adds lines behind line {place}, but the file has {} lines",
            hunk.at,
            lines.len()
        )),
        (None, None) => Ok(lines.len()),
    }
}
