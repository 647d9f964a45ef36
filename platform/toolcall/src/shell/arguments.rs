//! Splits a program's words into options and operands the way `getopt` does.
//!
//! Pure.

use super::field::ShellField;

/// Which options of a program take a value of their own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OptionSyntax {
    /// Letters of short options with a value.
    pub(super) short: &'static str,
    /// Long options with a value, without `=`.
    pub(super) long: &'static [&'static str],
}

/// One option and its value.
#[derive(Debug, Clone)]
pub(super) struct ParsedOption {
    /// `-x` or `--long`.
    pub(super) name: String,
    pub(super) value: Option<ShellField>,
}

/// The words of a call, sorted.
#[derive(Debug, Clone, Default)]
pub(super) struct Arguments {
    pub(super) options: Vec<ParsedOption>,
    pub(super) operands: Vec<ShellField>,
    /// A computed word may be an option that is not visible.
    pub(super) hides_options: bool,
    /// A pattern may match a file whose name is an option.
    pub(super) pattern_may_be_option: bool,
}

impl Arguments {
    pub(super) fn parse(words: &[ShellField], syntax: OptionSyntax) -> Self {
        let mut parsed = Self::default();
        let mut words = words.iter();
        let mut options_end = false;
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            parsed.hides_options |= !options_end && word.may_hide_option();
            parsed.pattern_may_be_option |= !options_end && word.glob && text.starts_with(['*', '?', '[']);
            if options_end || text == "-" || !text.starts_with('-') || (word.glob && !text.starts_with("--")) {
                parsed.operands.push(word.clone());
            } else if text == "--" {
                options_end = true;
            } else if let Some(long) = text.strip_prefix("--") {
                parsed.long(long, word, &mut words, syntax);
            } else {
                parsed.cluster(text, word, &mut words, syntax);
            }
        }
        parsed
    }

    fn long<'w>(
        &mut self,
        text: &str,
        word: &ShellField,
        words: &mut impl Iterator<Item = &'w ShellField>,
        syntax: OptionSyntax,
    ) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(ShellField { text: value.to_owned(), ..word.clone() })),
            None => (text, None),
        };
        let name = format!("--{name}");
        let wants = syntax.long.iter().any(|long| is_spelling(&name, long));
        let value = if value.is_none() && wants { words.next().cloned() } else { value };
        self.options.push(ParsedOption { name, value });
    }

    fn cluster<'w>(
        &mut self,
        text: &str,
        word: &ShellField,
        words: &mut impl Iterator<Item = &'w ShellField>,
        syntax: OptionSyntax,
    ) {
        for (index, letter) in text.char_indices().skip(1) {
            let name = format!("-{letter}");
            if !syntax.short.contains(letter) {
                self.options.push(ParsedOption { name, value: None });
                continue;
            }
            let rest = text.get(index + letter.len_utf8()..).unwrap_or_default();
            let attached = !rest.is_empty() || !word.exact;
            let value = match attached {
                true => Some(ShellField { text: rest.to_owned(), ..word.clone() }),
                false => words.next().cloned(),
            };
            self.options.push(ParsedOption { name, value });
            return;
        }
    }

    /// Whether one of the options is given; a long option may be shortened.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| names.iter().any(|name| is_spelling(&option.name, name)))
    }

    /// The values of these options.
    pub(super) fn values<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = &'a ShellField> {
        self.options
            .iter()
            .filter(|option| names.iter().any(|name| is_spelling(&option.name, name)))
            .filter_map(|option| option.value.as_ref())
    }
}

/// Whether `given` is `name` or a shortened form of it.
pub(super) fn is_spelling(given: &str, name: &str) -> bool {
    given == name || (given.len() > 2 && given.starts_with("--") && name.starts_with(given))
}
