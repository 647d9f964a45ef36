//! Finds the common lines of two texts, in order, within a limit of work.
//!
//! Pure.
//!
//! Lines are compared without their line endings. Parts that differ too much for the limit count as replaced.

use std::collections::HashMap;

/// The most insertions and deletions between two lines that correspond.
const MAX_DISTANCE: usize = 400;

/// From this many lines on, a search for a few changes comes before any index.
const LONG_LINES: usize = 200;
/// The most changes of that search.
const FEW_CHANGES: usize = 48;
/// The bytes that are compared at once.
const BLOCK_BYTES: usize = 4096;

/// Consecutive lines that both texts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommonRun {
    /// The first of them in the old text, from 0.
    pub old: usize,
    /// The first of them in the new text, from 0.
    pub new: usize,
    /// How many.
    pub count: usize,
}

/// The lines of a text without their endings.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let mut rest = (!text.is_empty()).then_some(body);
    std::iter::from_fn(move || {
        let current = rest?;
        let (line, after) = match memchr::memchr(b'\n', current) {
            Some(at) => (current.get(..at).unwrap_or_default(), current.get(at + 1..)),
            None => (current, None),
        };
        rest = after;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    })
}

/// How many lines a text has.
#[must_use]
pub(crate) fn count_lines(text: &[u8]) -> usize {
    let open = usize::from(text.last().is_some_and(|last| *last != b'\n'));
    memchr::memchr_iter(b'\n', text).count() + open
}

/// The lines of `old` that are still in `new`, in the order of both.
#[must_use]
pub(crate) fn common_runs(old: &[u8], new: &[u8]) -> Vec<CommonRun> {
    let head = common_head(old, new);
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = common_tail(old_rest, new_rest);
    let old_middle = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let head_lines = count_lines(old.get(..head).unwrap_or_default());
    let tail_lines = count_lines(old.get(old.len() - tail..).unwrap_or_default());

    let old_lines: Vec<&[u8]> = lines(old_middle).collect();
    let new_lines: Vec<&[u8]> = lines(new_middle).collect();
    let mut found = CommonRuns::default();
    found.push(0, 0, head_lines);
    match few_changes(&old_lines, &new_lines) {
        Some(pairs) => pairs.into_iter().for_each(|(old, new)| found.push(head_lines + old, head_lines + new, 1)),
        None => {
            let mut numbers = HashMap::new();
            let old_ids = identify(&old_lines, &mut numbers);
            let new_ids = identify(&new_lines, &mut numbers);
            compare(&old_ids, &new_ids, head_lines, &mut found);
        }
    }
    found.push(head_lines + old_lines.len(), head_lines + new_lines.len(), tail_lines);
    found.runs
}

/// The lines of a text without their spaces.
#[must_use]
pub(crate) fn bare_lines(text: &[u8]) -> Vec<Vec<u8>> {
    lines(text).map(|line| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()).collect()
}

/// The same for lines without their spaces, as `git blame -w` compares them.
#[must_use]
pub(crate) fn common_runs_ignoring_spaces(old: &[u8], new: &[u8]) -> Vec<CommonRun> {
    let (old, new) = (bare_lines(old), bare_lines(new));
    let old: Vec<&[u8]> = old.iter().map(Vec::as_slice).collect();
    let new: Vec<&[u8]> = new.iter().map(Vec::as_slice).collect();
    let mut numbers = HashMap::new();
    let old_ids = identify(&old, &mut numbers);
    let new_ids = identify(&new, &mut numbers);
    let mut found = CommonRuns::default();
    compare(&old_ids, &new_ids, 0, &mut found);
    found.runs
}

/// The equal lines of long texts with few differences, as after an edit.
fn few_changes(old: &[&[u8]], new: &[&[u8]]) -> Option<Vec<(usize, usize)>> {
    if old.len().min(new.len()) < LONG_LINES {
        return None;
    }
    shortest_edit(old, new, FEW_CHANGES)
}

/// The length of the common start that ends with a line.
fn common_head(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.chunks_exact(BLOCK_BYTES).zip(new.chunks_exact(BLOCK_BYTES));
    let whole = blocks.take_while(|(one, other)| one == other).count() * BLOCK_BYTES;
    let rest = old.iter().skip(whole).zip(new.iter().skip(whole));
    let same = whole + rest.take_while(|(one, other)| one == other).count();
    if same == old.len() && same == new.len() {
        return same;
    }
    memchr::memrchr(b'\n', old.get(..same).unwrap_or_default()).map_or(0, |at| at + 1)
}

/// The length of the common end that starts with a line.
fn common_tail(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.rchunks_exact(BLOCK_BYTES).zip(new.rchunks_exact(BLOCK_BYTES));
    let whole = blocks.take_while(|(one, other)| one == other).count() * BLOCK_BYTES;
    let rest = old.iter().rev().skip(whole).zip(new.iter().rev().skip(whole));
    let same = whole + rest.take_while(|(one, other)| one == other).count();
    let tail = old.get(old.len() - same..).unwrap_or_default();
    memchr::memchr(b'\n', tail).map_or(0, |at| tail.len() - at - 1)
}

fn identify<'t>(lines: &[&'t [u8]], numbers: &mut HashMap<&'t [u8], u32>) -> Vec<u32> {
    let mut ids = Vec::with_capacity(lines.len());
    for line in lines {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        ids.push(*numbers.entry(line).or_insert(next));
    }
    ids
}

#[derive(Default)]
struct CommonRuns {
    runs: Vec<CommonRun>,
}

impl CommonRuns {
    fn push(&mut self, old: usize, new: usize, count: usize) {
        if count == 0 {
            return;
        }
        if let Some(last) = self.runs.last_mut()
            && last.old + last.count == old
            && last.new + last.count == new
        {
            last.count += count;
            return;
        }
        self.runs.push(CommonRun { old, new, count });
    }
}

/// Splits at the lines that occur once in both texts, and compares the parts between them.
fn compare(old: &[u32], new: &[u32], offset: usize, found: &mut CommonRuns) {
    let (mut old_done, mut new_done) = (0, 0);
    for (old_at, new_at) in anchors(old, new).into_iter().chain([(old.len(), new.len())]) {
        let old_gap = old.get(old_done..old_at).unwrap_or_default();
        let new_gap = new.get(new_done..new_at).unwrap_or_default();
        compare_gap(old_gap, new_gap, offset + old_done, offset + new_done, found);
        if old_at < old.len() {
            found.push(offset + old_at, offset + new_at, 1);
        }
        (old_done, new_done) = (old_at + 1, new_at + 1);
    }
}

fn compare_gap(old: &[u32], new: &[u32], old_offset: usize, new_offset: usize, found: &mut CommonRuns) {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let old_middle = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    found.push(old_offset, new_offset, head);
    for (old_at, new_at) in shortest_edit(old_middle, new_middle, MAX_DISTANCE).unwrap_or_default() {
        found.push(old_offset + head + old_at, new_offset + head + new_at, 1);
    }
    found.push(old_offset + old.len() - tail, new_offset + new.len() - tail, tail);
}

/// Lines that occur exactly once in each text, as many as keep the same order in both.
fn anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    #[derive(Default)]
    struct LineOccurrences {
        old: Option<usize>,
        new: Option<usize>,
        repeated: bool,
    }
    let mut places: HashMap<u32, LineOccurrences> = HashMap::new();
    for (at, id) in old.iter().enumerate() {
        let place = places.entry(*id).or_default();
        place.repeated |= place.old.replace(at).is_some();
    }
    for (at, id) in new.iter().enumerate() {
        let place = places.entry(*id).or_default();
        place.repeated |= place.new.replace(at).is_some();
    }
    let unique = |id: &u32| places.get(id).filter(|place| !place.repeated).and_then(|place| place.old.zip(place.new));
    longest_rising(&old.iter().filter_map(unique).collect::<Vec<_>>())
}

/// The longest part of the pairs, which rise in their first number, that rises in the second too.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut piles: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, pair) in pairs.iter().enumerate() {
        let pile = piles.partition_point(|top| pairs[*top].1 < pair.1);
        before.push(pile.checked_sub(1).and_then(|left| piles.get(left).copied()));
        match piles.get_mut(pile) {
            Some(top) => *top = index,
            None => piles.push(index),
        }
    }
    let mut rising = Vec::with_capacity(piles.len());
    let mut next = piles.last().copied();
    while let Some(index) = next {
        rising.push(pairs[index]);
        next = before[index];
    }
    rising.reverse();
    rising
}

/// The pairs of equal lines on a shortest way from `old` to `new` (Myers' greedy algorithm); none if
/// that way is too long.
fn shortest_edit<T: PartialEq>(old: &[T], new: &[T], max_distance: usize) -> Option<Vec<(usize, usize)>> {
    if old.is_empty() || new.is_empty() {
        return Some(Vec::new());
    }
    let limit = (old.len() + new.len()).min(max_distance);
    let middle = limit + 1;
    // furthest[middle + diagonal]: how far in `old` that diagonal has been followed.
    let mut furthest = vec![0_usize; 2 * middle + 1];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for distance in 0..=limit {
        trace.push(furthest[middle - distance..=middle + distance].to_vec());
        for slot in (middle - distance..=middle + distance).step_by(2) {
            let down =
                slot == middle - distance || (slot != middle + distance && furthest[slot - 1] < furthest[slot + 1]);
            let mut x = if down { furthest[slot + 1] } else { furthest[slot - 1] + 1 };
            let mut y = x + middle - slot;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                x += 1;
                y += 1;
            }
            furthest[slot] = x;
            if x >= old.len() && y >= new.len() {
                return Some(walk_back(old.len(), new.len(), &trace));
            }
        }
    }
    None
}

fn walk_back(mut x: usize, mut y: usize, trace: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (distance, furthest) in trace.iter().enumerate().rev() {
        // `furthest` holds the diagonals -distance..=distance as they were before this step.
        let slot = x + distance - y;
        let at = |slot: usize| furthest.get(slot).copied().unwrap_or_default();
        let down = slot == 0 || (slot != 2 * distance && at(slot - 1) < at(slot + 1));
        let (previous_x, previous_y) = match (distance, down) {
            (0, _) => (0, 0),
            (_, true) => (at(slot + 1), at(slot + 1) + distance - (slot + 1)),
            (_, false) => (at(slot - 1), at(slot - 1) + distance - (slot - 1)),
        };
        let start = match (distance, down) {
            (0, _) => (0, 0),
            (_, true) => (previous_x, previous_y + 1),
            (_, false) => (previous_x + 1, previous_y),
        };
        while x > start.0 && y > start.1 {
            x -= 1;
            y -= 1;
            pairs.push((x, y));
        }
        (x, y) = (previous_x, previous_y);
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(old: &str, new: &str, expected: &[(usize, usize, usize)]) {
        let found: Vec<_> =
            common_runs(old.as_bytes(), new.as_bytes()).iter().map(|run| (run.old, run.new, run.count)).collect();
        assert_eq!(found, expected, "{old:?} -> {new:?}");
    }

    #[test]
    fn common_lines_are_found_in_order() {
        check("", "", &[]);
        check("a\n", "", &[]);
        check("", "a\n", &[]);
        check("a\nb\n", "a\nb\n", &[(0, 0, 2)]);
        check("a\nc\n", "a\nb\nc\n", &[(0, 0, 1), (1, 2, 1)]);
        check("a\nb\nc\n", "a\nc\n", &[(0, 0, 1), (2, 1, 1)]);
        check("a\nb", "a\nb\nc", &[(0, 0, 2)]);
        check("a\r\nb\r\n", "a\nb\n", &[(0, 0, 2)]);
        check("x\ny\nz\n", "z\nx\ny\n", &[(0, 1, 2)]);
        check("{\n}\n{\n}\n", "{\n}\n", &[(0, 0, 2)]);
        check("\n\n\na\n", "a\n\n\n", &[(3, 0, 1)]);
    }

    #[test]
    fn very_different_texts_are_compared_in_bounded_time() {
        let text = |seed: usize| (0..20_000).map(|line| format!("{}\n", (line * seed) % 7)).collect::<String>();
        let runs = common_runs(text(3).as_bytes(), text(5).as_bytes());
        assert!(runs.iter().map(|run| run.count).sum::<usize>() <= 20_000);
    }

    /// The length of the longest common subsequence, by the textbook algorithm.
    fn longest_common(old: &[&[u8]], new: &[&[u8]]) -> usize {
        let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (i, one) in old.iter().enumerate() {
            for (j, other) in new.iter().enumerate() {
                table[i + 1][j + 1] = if one == other { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
            }
        }
        table[old.len()][new.len()]
    }

    proptest! {
        #[test]
        fn a_few_changes_in_a_long_text_are_found_exactly(places in prop::collection::btree_set(0_usize..3_000, 0..20)) {
            let old: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
            let changed = |line: usize| if places.contains(&line) { "changed".to_owned() } else { format!("line {line}") };
            let new: String = (0..3_000).map(|line| format!("{}\n", changed(line))).collect();
            let runs = common_runs(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(runs.iter().map(|run| run.count).sum::<usize>(), 3_000 - places.len());
            prop_assert!(runs.iter().all(|run| run.old == run.new));
        }

        #[test]
        fn common_lines_are_equal_and_in_order(old in "[a-d\n]{0,60}", new in "[a-d\n]{0,60}") {
            let old_lines: Vec<_> = lines(old.as_bytes()).collect();
            let new_lines: Vec<_> = lines(new.as_bytes()).collect();
            prop_assert_eq!(old_lines.len(), count_lines(old.as_bytes()));
            let (mut old_done, mut new_done) = (0, 0);
            for run in common_runs(old.as_bytes(), new.as_bytes()) {
                prop_assert!(run.old >= old_done && run.new >= new_done && run.count > 0);
                for at in 0..run.count {
                    prop_assert_eq!(old_lines[run.old + at], new_lines[run.new + at]);
                }
                (old_done, new_done) = (run.old + run.count, run.new + run.count);
            }
        }

        #[test]
        fn the_shortest_edit_keeps_as_many_lines_as_possible(old in "[a-d\n]{0,60}", new in "[a-d\n]{0,60}") {
            let old_lines: Vec<_> = lines(old.as_bytes()).collect();
            let new_lines: Vec<_> = lines(new.as_bytes()).collect();
            let mut numbers = HashMap::new();
            let old_ids = identify(&old_lines, &mut numbers);
            let new_ids = identify(&new_lines, &mut numbers);
            let pairs = shortest_edit(&old_ids, &new_ids, MAX_DISTANCE).unwrap();
            prop_assert_eq!(pairs.len(), longest_common(&old_lines, &new_lines));
        }
    }
}
