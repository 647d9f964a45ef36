//! Every answer that minimatch 11 gives with `{dot: true}` for a table of patterns and paths.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]

use dispatch_glob::Glob;

const TABLE: &str = include_str!("minimatch.txt");
const PATHS: &str = "# paths\n";
const PATTERNS: &str = "# patterns: one bit per path, in the order above\n";

#[test]
fn every_pair_of_the_table_has_the_answer_of_minimatch() {
    let (paths, patterns) = TABLE.strip_prefix(PATHS).and_then(|rest| rest.split_once(PATTERNS)).expect("two parts");
    let paths: Vec<&str> = paths.strip_suffix('\n').expect("a last line").split('\n').collect();
    let mut wrong = Vec::new();
    let mut pairs = 0;
    for line in patterns.lines() {
        let (bits, pattern) = line.split_once(' ').expect("bits and a pattern");
        assert_eq!(bits.len(), paths.len(), "{pattern}");
        let glob = Glob::new(pattern).expect("a pattern");
        for (path, bit) in paths.iter().zip(bits.bytes()) {
            pairs += 1;
            if glob.is_match(path) != (bit == b'1') {
                wrong.push(format!("{pattern:?} on {path:?} should be {}", bit == b'1'));
            }
        }
    }
    assert!(pairs > 30_000, "{pairs}");
    assert!(wrong.is_empty(), "{} of {pairs}:\n{}", wrong.len(), wrong.join("\n"));
}
