//! The words of a plain command with their places, so that one can be added and nothing else moves.
//!
//! Pure.

use std::ops::Range;

use dispatch_toolcall::{ShellContext, ShellEffects, analyze};

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandWord {
    /// The word without its quotes.
    pub(super) text: String,
    /// Where it stands.
    pub(super) range: Range<usize>,
}

/// One change of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WordEdit {
    /// Words that follow the word of this number.
    After(usize, Vec<String>),
    /// A word in place of the one of this number.
    Replace(usize, String),
}

/// The words of a command that is nothing but one program with plain or quoted words. Anything that
/// a shell would expand, join or redirect makes it nothing.
pub(super) fn split(command: &str) -> Option<Vec<CommandWord>> {
    let mut words = Vec::new();
    let mut open: Option<CommandWord> = None;
    let mut quote = None;
    for (at, character) in command.char_indices() {
        let end = at + character.len_utf8();
        match (quote, character) {
            (Some(mark), _) if character == mark => quote = None,
            (Some('"'), '$' | '`' | '\\' | '!') => return None,
            (_, _) if character.is_control() && character != '\t' => return None,
            (None, ' ' | '\t') => {
                words.extend(open.take());
                continue;
            }
            (None, '\'' | '"') => quote = Some(character),
            (None, _) if !is_plain(character) => return None,
            _ => {}
        }
        let word = open.get_or_insert_with(|| CommandWord { text: String::new(), range: at..at });
        word.range.end = end;
        let is_mark = matches!(character, '\'' | '"') && quote.is_none_or(|mark| mark == character);
        if !is_mark {
            word.text.push(character);
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(open);
    Some(words)
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./=:,+@%^*?".contains(character)
}

/// The command with the edits, if a second look at it proves that only they happened.
pub(super) fn apply(
    command: &str,
    words: &[CommandWord],
    edits: &[WordEdit],
    before: &ShellEffects,
    home: Option<&str>,
) -> Option<String> {
    let mut text = command.to_owned();
    let mut expected: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    // From the last to the first, so that places before an edit stay where they are.
    let mut edits: Vec<&WordEdit> = edits.iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.place()));
    for edit in edits {
        let range = words.get(edit.place())?.range.clone();
        match edit {
            WordEdit::After(place, added) => {
                text.insert_str(range.end, &format!(" {}", added.join(" ")));
                expected.splice(place + 1..place + 1, added.iter().cloned());
            }
            WordEdit::Replace(place, word) => {
                text.replace_range(range, word);
                *expected.get_mut(*place)? = word.clone();
            }
        }
    }
    is_proven(words, &text, &expected, before, home).then_some(text)
}

fn is_proven(
    words: &[CommandWord],
    text: &str,
    expected: &[String],
    before: &ShellEffects,
    home: Option<&str>,
) -> bool {
    let [old] = before.commands.as_slice() else {
        return false;
    };
    let Some(cwd) = old.cwd.as_deref() else {
        return false;
    };
    let after = analyze(text, &ShellContext { cwd, home });
    let [new] = after.commands.as_slice() else {
        return false;
    };
    let unchanged = old.argv.iter().eq(words.iter().map(|word| &word.text));
    let plain = old.exact && new.exact && old.wrapped_by.is_empty() && new.wrapped_by.is_empty();
    unchanged
        && plain
        && new.argv == expected
        && new.program == old.program
        && new.cwd == old.cwd
        && before.is_read_only()
        && after.is_read_only()
}

impl WordEdit {
    fn place(&self) -> usize {
        match self {
            Self::After(place, _) | Self::Replace(place, _) => *place,
        }
    }
}
