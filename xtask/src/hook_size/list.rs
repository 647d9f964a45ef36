//! The committed list: `max-bytes = N`, then one crate name per line; `#` starts a comment.

use anyhow::{Context as _, Result, bail};
use std::collections::BTreeSet;

/// What the list says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CrateList {
    /// Size limit of the binary.
    pub(crate) max_bytes: u64,
    /// Allowed crates.
    pub(crate) crates: BTreeSet<String>,
}

impl CrateList {
    /// Reads the text of the file.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut max_bytes = None;
        let mut crates = BTreeSet::new();
        for line in text.lines().map(str::trim).filter(|line| is_entry(line)) {
            match line.split_once('=') {
                Some((key, value)) if key.trim() == "max-bytes" => {
                    let value = value.trim();
                    max_bytes = Some(value.parse().with_context(|| format!("max-bytes is not a number: {value}"))?);
                }
                Some((key, _)) => bail!("unknown setting `{}`", key.trim()),
                None => {
                    crates.insert(line.to_owned());
                }
            }
        }
        Ok(Self { max_bytes: max_bytes.context("max-bytes is missing")?, crates })
    }
}

/// The same file with another crate list; comments and settings stay.
pub(crate) fn render(text: &str, crates: &BTreeSet<String>) -> String {
    let kept = text.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && (!is_entry(line) || line.contains('='))
    });
    let lines = kept.chain(crates.iter().map(String::as_str));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn is_entry(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Why.\nmax-bytes = 900\nserde\nlexopt\n";

    #[test]
    fn reads_the_limit_and_the_names() {
        let list = CrateList::parse(TEXT).unwrap();
        assert_eq!(list.max_bytes, 900);
        assert_eq!(list.crates.iter().collect::<Vec<_>>(), ["lexopt", "serde"]);
    }

    #[test]
    fn a_damaged_list_is_refused() {
        for text in ["", "serde\n", "max-bytes = many\n", "max-bytes = 1\nmin-bytes = 2\n"] {
            assert!(CrateList::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn writing_keeps_comments_and_the_limit() {
        let crates = ["itoa".to_owned()].into_iter().collect();
        assert_eq!(render(TEXT, &crates), "# Why.\nmax-bytes = 900\nitoa\n");
    }
}
