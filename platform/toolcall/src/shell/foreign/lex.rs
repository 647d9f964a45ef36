//! Cuts code of any language into names, texts and signs.
//!
//! Pure.

use super::Language;

/// A piece of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeToken {
    /// A name with its dots: `os.path.join`.
    Name(String),
    /// A text in quotes, decoded.
    Text(String),
    /// A text in backticks where that is a command.
    Command(String),
    Number(String),
    Sign(char),
}

/// The tokens of a code, comments left out.
pub(super) fn tokens(code: &str, language: Language) -> Vec<CodeToken> {
    let mut cutter = CodeCutter { rest: code, language, found: Vec::new() };
    while !cutter.rest.is_empty() {
        cutter.step();
    }
    cutter.found
}

struct CodeCutter<'c> {
    rest: &'c str,
    language: Language,
    found: Vec<CodeToken>,
}

impl CodeCutter<'_> {
    fn step(&mut self) {
        let Some(c) = self.rest.chars().next() else {
            return;
        };
        let after = &self.rest[c.len_utf8()..];
        match c {
            '"' | '\'' | '`' => self.quoted(c),
            '#' if matches!(self.language, Language::Python | Language::Backticks | Language::Awk) => {
                self.line_comment()
            }
            '/' if after.starts_with('/') && self.language == Language::JavaScript => self.line_comment(),
            ';' if self.language == Language::Lisp => self.line_comment(),
            '\\' if after.starts_with(['"', '\'']) => self.rest = after,
            c if c.is_alphabetic() || c == '_' || c == '$' || c == '@' => self.name(),
            c if c.is_ascii_digit() => self.number(),
            c => {
                if !c.is_whitespace() || c == '\n' {
                    self.found.push(CodeToken::Sign(c));
                }
                self.rest = after;
            }
        }
    }

    fn line_comment(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    fn number(&mut self) {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        self.found.push(CodeToken::Number(self.rest[..end].to_owned()));
        self.rest = &self.rest[end..];
    }

    fn name(&mut self) {
        let lisp = self.language == Language::Lisp;
        let part =
            |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | ':') || (lisp && "-!?/*+".contains(c));
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        self.rest = &self.rest[end..];
        // Elixir and Ruby end the name of a call that may fail or change things with `!`.
        if self.rest.starts_with("!(") {
            self.rest = &self.rest[1..];
        }
        // `qx(...)`, `%x(...)`, `q(...)`: a text in brackets of its own.
        if self.language == Language::Backticks
            && matches!(name, "qx" | "x" | "q" | "qq" | "qw" | "w")
            && self.bracketed(name)
        {
            return;
        }
        let prefix = matches!(name, "r" | "f" | "b" | "u" | "rb" | "br" | "fr" | "R" | "B" | "F");
        if prefix && self.language == Language::Python && self.rest.starts_with(['"', '\'']) {
            return;
        }
        self.found.push(CodeToken::Name(name.trim_end_matches(['.', ':']).to_owned()));
    }

    fn bracketed(&mut self, name: &str) -> bool {
        let percent = self.found.last() == Some(&CodeToken::Sign('%'));
        let Some(open) = self.rest.chars().next().filter(|c| "({[|!/<".contains(*c)) else {
            return false;
        };
        if matches!(name, "x" | "w") && !percent {
            return false;
        }
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        let Some(end) = self.rest[1..].find(close) else {
            return false;
        };
        let body = self.rest[1..=end].to_owned();
        self.rest = &self.rest[end + 2..];
        self.found.push(if matches!(name, "qx" | "x") { CodeToken::Command(body) } else { CodeToken::Text(body) });
        true
    }

    fn quoted(&mut self, quote: char) {
        let triple: String = [quote; 3].iter().collect();
        let (open, close) = match self.rest.starts_with(&triple) && self.language == Language::Python {
            true => (3, triple),
            false => (1, quote.to_string()),
        };
        let body = &self.rest[open..];
        let mut escaped = false;
        let end = body.char_indices().find(|(at, c)| {
            let closes = !escaped && body[*at..].starts_with(&close);
            escaped = *c == '\\' && !escaped;
            closes
        });
        let Some((end, _)) = end else {
            self.rest = &self.rest[1..];
            return;
        };
        let text = unescape(&body[..end]);
        self.rest = &body[end + close.len()..];
        let command = quote == '`' && self.language == Language::Backticks;
        self.found.push(if command { CodeToken::Command(text) } else { CodeToken::Text(text) });
    }
}

/// The escapes that all these languages share.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('x') => out.extend(hex(&mut chars, 2)),
            Some('u') => out.extend(hex(&mut chars, 4)),
            Some('\n') => {}
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

fn hex(chars: &mut std::str::Chars<'_>, count: usize) -> Option<char> {
    let digits: String = chars.by_ref().take(count).collect();
    u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)
}
