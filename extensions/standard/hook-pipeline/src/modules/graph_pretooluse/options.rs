//! Takes the words of a program call apart into options and operands.
//!
//! Pure.

/// The options and operands of one call.
pub(super) struct ProgramOptions<'a> {
    /// `-x` as `x`, `--name` as `--name`, with a value where one belongs to it.
    named: Vec<(&'a str, Option<&'a str>)>,
    pub(super) operands: Vec<&'a str>,
    /// How many operands stand before `--`, if it is there.
    pub(super) before_dashes: Option<usize>,
}

impl<'a> ProgramOptions<'a> {
    /// Reads the words behind the program. `short` are letters and `long` names of options that
    /// take the next word as their value.
    pub(super) fn parse(words: &'a [String], short: &str, long: &[&str]) -> Self {
        let mut options = Self { named: Vec::new(), operands: Vec::new(), before_dashes: None };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "--" {
                options.before_dashes = Some(options.operands.len());
                options.operands.extend(words.by_ref());
            } else if word.starts_with("--") {
                match word.split_once('=') {
                    Some((name, value)) => options.named.push((name, Some(value))),
                    None if long.contains(&word) => options.named.push((word, words.next())),
                    None => options.named.push((word, None)),
                }
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                options.cluster(letters, short, &mut words);
            } else {
                options.operands.push(word);
            }
        }
        options
    }

    fn cluster(&mut self, letters: &'a str, short: &str, words: &mut impl Iterator<Item = &'a str>) {
        for (at, letter) in letters.char_indices() {
            let end = at + letter.len_utf8();
            let name = letters.get(at..end).unwrap_or_default();
            if short.contains(letter) {
                let rest = letters.get(end..).filter(|rest| !rest.is_empty());
                self.named.push((name, rest.or_else(|| words.next())));
                return;
            }
            self.named.push((name, None));
        }
    }

    /// Whether one of these is given; a long name also counts when it is cut short.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.named.iter().any(|(given, _)| names.iter().any(|name| is_name(given, name)))
    }

    /// The values of these options.
    pub(super) fn values(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let found = self.named.iter().filter(move |(given, _)| names.iter().any(|name| is_name(given, name)));
        found.filter_map(|(_, value)| *value)
    }
}

/// Programs accept the beginning of a long name where it is unique: three letters are taken as enough.
fn is_name(given: &str, name: &str) -> bool {
    given == name || (given.len() > 4 && name.starts_with("--") && name.starts_with(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn clusters_values_and_dashes() {
        let line = words("-fd -ooutput -e x --name=v --long value a -- -b");
        let options = ProgramOptions::parse(&line, "oe", &["--long"]);
        assert!(options.has(&["f"]) && options.has(&["d"]) && !options.has(&["u"]));
        assert_eq!(options.values(&["o"]).collect::<Vec<_>>(), ["output"]);
        assert_eq!(options.values(&["e", "--name", "--long"]).collect::<Vec<_>>(), ["x", "v", "value"]);
        assert_eq!(options.operands, ["a", "-b"]);
        assert_eq!(options.before_dashes, Some(1));
    }

    #[test]
    fn a_long_name_may_be_cut_short_but_not_longer() {
        let line = words("--har");
        assert!(ProgramOptions::parse(&line, "", &[]).has(&["--hard"]));
        let line = words("--force-with-lease");
        assert!(!ProgramOptions::parse(&line, "", &[]).has(&["--force"]));
        let line = words("--h");
        assert!(!ProgramOptions::parse(&line, "", &[]).has(&["--hard"]));
    }
}
