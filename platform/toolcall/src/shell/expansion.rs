//! Turns the tokens of a word into the arguments that the shell makes of it.
//!
//! Pure.

use super::brace;
use super::field::{ShellField, VariableValue};
use super::lexer::Token;
use super::limits::MAX_FIELDS;
use super::state::ShellState;

/// The arguments that one word becomes.
pub(super) fn fields(tokens: Vec<Token>, raw: &str, state: &ShellState) -> Vec<ShellField> {
    let Some(words) = brace::expand(tokens) else {
        return vec![ShellField::unknown(raw)];
    };
    let mut all = Vec::new();
    for word in words {
        let mut builder = FieldBuilder::new(raw, state);
        builder.add_word(&word);
        all.extend(builder.finish());
        if all.len() > MAX_FIELDS {
            return vec![ShellField::unknown(raw)];
        }
    }
    all
}

/// The text of an assignment's right side: it is neither split nor matched against files.
pub(super) fn assigned(tokens: &[Token], raw: &str, state: &ShellState) -> VariableValue {
    let as_quoted: Vec<Token> = tokens
        .iter()
        .enumerate()
        .map(|(index, token)| match token {
            Token::Char { c: '~', quoted: false } if index == 0 => token.clone(),
            // The slash that ends a user's name has to stay bare.
            Token::Char { c: '/', .. } => token.clone(),
            Token::Char { c, .. } => Token::Char { c: *c, quoted: true },
            Token::Expansion { value, .. } => Token::Expansion { value: value.clone(), quoted: true },
            Token::EmptyQuotes => Token::EmptyQuotes,
        })
        .collect();
    let mut builder = FieldBuilder::new(raw, state);
    builder.present = true;
    builder.add_word(&as_quoted);
    let fields = builder.finish();
    match fields.as_slice() {
        [field] => VariableValue::of(field),
        _ => VariableValue::Unknown,
    }
}

struct FieldBuilder<'a> {
    raw: &'a str,
    state: &'a ShellState,
    done: Vec<ShellField>,
    plain: String,
    pattern: String,
    exact: bool,
    glob: bool,
    splits: bool,
    /// Quotes make a word of nothing at all.
    present: bool,
}

impl<'a> FieldBuilder<'a> {
    fn new(raw: &'a str, state: &'a ShellState) -> Self {
        Self {
            raw,
            state,
            done: Vec::new(),
            plain: String::new(),
            pattern: String::new(),
            exact: true,
            glob: false,
            splits: false,
            present: false,
        }
    }

    fn add_word(&mut self, tokens: &[Token]) {
        let rest = self.add_tilde(tokens);
        for token in rest {
            match token {
                Token::Char { c, quoted } => self.push(*c, *quoted),
                Token::Expansion { value, quoted } => self.add_value(value, *quoted),
                Token::EmptyQuotes => self.present = true,
            }
        }
    }

    /// Expands a leading `~` and returns what follows it.
    fn add_tilde<'w>(&mut self, tokens: &'w [Token]) -> &'w [Token] {
        let Some((first, rest)) = tokens.split_first() else {
            return tokens;
        };
        if !first.is_bare('~') {
            return tokens;
        }
        let length = rest.iter().position(|token| token.is_bare('/')).unwrap_or(rest.len());
        let (user, rest) = rest.split_at(length);
        let folder = match user {
            [] => self.state.home(),
            [sign] if sign.is_bare('+') => self.state.directories.single().map(str::to_owned),
            _ => None,
        };
        match folder {
            Some(folder) => folder.chars().for_each(|c| self.push(c, true)),
            None => self.exact = false,
        }
        self.present = true;
        rest
    }

    fn push(&mut self, c: char, quoted: bool) {
        if !self.exact {
            return;
        }
        self.plain.push(c);
        let meta = matches!(c, '*' | '?' | '[');
        match (meta, quoted) {
            (true, true) => self.pattern.extend(['[', c, ']']),
            (true, false) => {
                self.glob |= c != '[';
                self.pattern.push(c);
            }
            (false, _) => {
                self.glob |= c == ']' && !quoted && self.pattern.contains('[');
                self.pattern.push(c);
            }
        }
    }

    fn add_value(&mut self, value: &VariableValue, quoted: bool) {
        match value {
            VariableValue::Known(text) if quoted => {
                self.present = true;
                text.chars().for_each(|c| self.push(c, true));
            }
            VariableValue::Known(text) if self.state.splits_as_usual() => self.add_split(text),
            VariableValue::Pattern(pattern) => {
                self.plain.push_str(pattern);
                self.pattern.push_str(pattern);
                self.glob = true;
            }
            VariableValue::List(fields) if quoted || self.state.splits_as_usual() => self.add_list(fields),
            VariableValue::Known(_) | VariableValue::Unknown | VariableValue::List(_) => {
                self.exact = false;
                self.splits |= !quoted;
            }
        }
    }

    fn add_split(&mut self, text: &str) {
        for c in text.chars() {
            if !matches!(c, ' ' | '\t' | '\n') {
                self.push(c, false);
            } else if self.exact {
                self.end_field();
            } else {
                self.splits = true;
            }
        }
    }

    fn add_list(&mut self, fields: &[ShellField]) {
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.end_field();
            }
            self.present = true;
            if self.exact {
                self.plain.push_str(&field.text);
                self.pattern.push_str(&field.text);
                self.glob |= field.glob;
            }
            self.exact &= field.exact;
            self.splits |= field.splits;
        }
    }

    fn end_field(&mut self) {
        if self.present || !self.plain.is_empty() || !self.exact {
            let glob = self.glob && self.exact;
            let text = if glob { &self.pattern } else { &self.plain };
            self.done.push(ShellField {
                text: text.clone(),
                raw: self.raw.to_owned(),
                exact: self.exact,
                glob,
                splits: self.splits,
            });
        }
        self.plain.clear();
        self.pattern.clear();
        (self.exact, self.glob, self.splits, self.present) = (true, false, false, false);
    }

    fn finish(mut self) -> Vec<ShellField> {
        self.end_field();
        self.done
    }
}
