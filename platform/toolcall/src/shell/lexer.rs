//! Reads one word of the source character by character: quotes, escapes, expansions.
//!
//! Pure.

use tree_sitter::Node;

use super::ansi;
use super::effects::UnknownReason;
use super::field::VariableValue;
use super::interpreter::{CommandContext, Interpreter};
use super::source::ShellSource;
use super::state::ShellState;
use super::tree;

/// A piece of a word before brace expansion and splitting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A character, and whether quotes or a backslash protect it.
    Char { c: char, quoted: bool },
    /// An expansion, and whether it stands in double quotes.
    Expansion { value: VariableValue, quoted: bool },
    /// An empty pair of quotes: the word exists even if it is empty.
    EmptyQuotes,
}

impl Token {
    pub(super) fn is_bare(&self, wanted: char) -> bool {
        self.bare_char() == Some(wanted)
    }

    pub(super) fn bare_char(&self) -> Option<char> {
        match self {
            Self::Char { c, quoted: false } => Some(*c),
            _ => None,
        }
    }
}

/// Whether an expansion stands in double quotes, where it is not split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Bare,
    Quoted,
}

/// What a word needs to be read: its text in the source, the node it lies in, the state.
pub(super) struct Lexer<'a, 't> {
    pub(super) source: &'a ShellSource<'t>,
    pub(super) node: Node<'t>,
    pub(super) end: usize,
    pub(super) state: &'a ShellState,
    pub(super) context: &'a CommandContext,
}

/// Where the lexer stands.
struct Cursor {
    at: usize,
    tokens: Vec<Token>,
}

impl<'t> Lexer<'_, 't> {
    /// The tokens from `start` to the end of the word; `None` if quotes do not close.
    pub(super) fn tokens(&self, interpreter: &mut Interpreter, start: usize) -> Option<Vec<Token>> {
        let mut cursor = Cursor { at: start, tokens: Vec::new() };
        while cursor.at < self.end {
            self.bare(interpreter, &mut cursor)?;
        }
        (cursor.at == self.end).then_some(cursor.tokens)
    }

    fn rest(&self, at: usize) -> &'t str {
        self.source.range(at, self.end)
    }

    fn bare(&self, interpreter: &mut Interpreter, cursor: &mut Cursor) -> Option<()> {
        let rest = self.rest(cursor.at);
        let c = rest.chars().next()?;
        match c {
            '\\' => self.escape(cursor),
            '\'' => {
                let body = rest[1..].split('\'').next().filter(|body| body.len() + 1 < rest.len())?;
                push_quoted(cursor, body, body.len() + 2);
                Some(())
            }
            '"' => self.double_quotes(interpreter, cursor),
            '$' => self.dollar(interpreter, cursor, Quoting::Bare),
            '`' => self.backticks(interpreter, cursor, Quoting::Bare),
            '<' | '>' if rest[1..].starts_with('(') => self.process_substitution(interpreter, cursor),
            _ => {
                cursor.tokens.push(Token::Char { c, quoted: false });
                cursor.at += c.len_utf8();
                Some(())
            }
        }
    }

    fn escape(&self, cursor: &mut Cursor) -> Option<()> {
        let c = self.rest(cursor.at).chars().nth(1)?;
        if c != '\n' {
            cursor.tokens.push(Token::Char { c, quoted: true });
        }
        cursor.at += 1 + c.len_utf8();
        Some(())
    }

    fn double_quotes(&self, interpreter: &mut Interpreter, cursor: &mut Cursor) -> Option<()> {
        cursor.at += 1;
        cursor.tokens.push(Token::EmptyQuotes);
        loop {
            let c = self.rest(cursor.at).chars().next()?;
            match c {
                '"' => {
                    cursor.at += 1;
                    return Some(());
                }
                '\\' => self.escape_in_quotes(cursor)?,
                '$' => self.dollar(interpreter, cursor, Quoting::Quoted)?,
                '`' => self.backticks(interpreter, cursor, Quoting::Quoted)?,
                _ => {
                    cursor.tokens.push(Token::Char { c, quoted: true });
                    cursor.at += c.len_utf8();
                }
            }
        }
    }

    fn escape_in_quotes(&self, cursor: &mut Cursor) -> Option<()> {
        let c = self.rest(cursor.at).chars().nth(1)?;
        match c {
            '\n' => {}
            '$' | '`' | '"' | '\\' => cursor.tokens.push(Token::Char { c, quoted: true }),
            _ => {
                cursor.tokens.push(Token::Char { c: '\\', quoted: true });
                cursor.tokens.push(Token::Char { c, quoted: true });
            }
        }
        cursor.at += 1 + c.len_utf8();
        Some(())
    }

    fn dollar(&self, interpreter: &mut Interpreter, cursor: &mut Cursor, quoting: Quoting) -> Option<()> {
        let rest = self.rest(cursor.at);
        let after = &rest[1..];
        let value = match after.chars().next() {
            Some('\'') if quoting == Quoting::Bare => return self.ansi_quotes(cursor),
            Some('"') if quoting == Quoting::Bare => {
                cursor.at += 1;
                return self.double_quotes(interpreter, cursor);
            }
            Some('(' | '{') => return self.dollar_node(interpreter, cursor, quoting),
            Some('[') => {
                interpreter.recorder.unknown(UnknownReason::Syntax, "$[");
                VariableValue::Unknown
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
                let length = after.find(|c| !is_name(c)).unwrap_or(after.len());
                cursor.at += 1 + length;
                let value = self.state.scalar(&after[..length]);
                cursor.tokens.push(Token::Expansion { value, quoted: quoting == Quoting::Quoted });
                return Some(());
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => self.state.special(c, quoting),
            _ => {
                cursor.tokens.push(Token::Char { c: '$', quoted: true });
                cursor.at += 1;
                return Some(());
            }
        };
        cursor.tokens.push(Token::Expansion { value, quoted: quoting == Quoting::Quoted });
        cursor.at += 2;
        Some(())
    }

    fn ansi_quotes(&self, cursor: &mut Cursor) -> Option<()> {
        let rest = &self.rest(cursor.at)[2..];
        let mut escaped = false;
        let length = rest.char_indices().find_map(|(index, c)| {
            let closes = c == '\'' && !escaped;
            escaped = c == '\\' && !escaped;
            closes.then_some(index)
        })?;
        match ansi::decode(&rest[..length]) {
            Some(text) => push_quoted(cursor, &text, length + 3),
            None => {
                cursor.tokens.push(Token::Expansion { value: VariableValue::Unknown, quoted: true });
                cursor.at += length + 3;
            }
        }
        Some(())
    }

    /// `$(...)`, `$((...))` and `${...}`: the tree says where they end.
    fn dollar_node(&self, interpreter: &mut Interpreter, cursor: &mut Cursor, quoting: Quoting) -> Option<()> {
        let kinds = ["command_substitution", "arithmetic_expansion", "expansion"];
        let node = tree::node_at(self.node, self.source, cursor.at, &kinds)?;
        let end = node.end_byte();
        if end > self.end {
            return None;
        }
        let value = match node.kind() {
            "command_substitution" => {
                interpreter.substitute_node(self.source, node, cursor.at, self.state, self.context)?
            }
            "arithmetic_expansion" => {
                interpreter.arithmetic(self.source, node, self.state, self.context);
                VariableValue::Unknown
            }
            _ => interpreter.parameter(self.source, node, cursor.at, self.state, self.context),
        };
        cursor.tokens.push(Token::Expansion { value, quoted: quoting == Quoting::Quoted });
        cursor.at = end;
        Some(())
    }

    fn backticks(&self, interpreter: &mut Interpreter, cursor: &mut Cursor, quoting: Quoting) -> Option<()> {
        let body = backtick_body(&self.rest(cursor.at)[1..])?;
        let value = interpreter.substitute(&unescape_backticks(body), self.state, self.context);
        cursor.tokens.push(Token::Expansion { value, quoted: quoting == Quoting::Quoted });
        cursor.at += body.len() + 2;
        Some(())
    }

    fn process_substitution(&self, interpreter: &mut Interpreter, cursor: &mut Cursor) -> Option<()> {
        let node = tree::node_at(self.node, self.source, cursor.at, &["process_substitution"])?;
        let end = node.end_byte();
        let inner = self.source.range(cursor.at + 2, end.checked_sub(1)?);
        let printed = interpreter.substitute(inner, self.state, self.context);
        let text = if let VariableValue::Known(text) = printed { Some(text + "\n") } else { None };
        if let Some(text) = &text {
            interpreter.keep_possible_code(text);
        }
        interpreter.written.set("/dev/fd/63", text);
        // The shell puts a pipe there: something to read or to write that is not a file of the user.
        push_quoted(cursor, "/dev/fd/63", 0);
        cursor.at = end;
        (end <= self.end).then_some(())
    }
}

fn push_quoted(cursor: &mut Cursor, text: &str, advance: usize) {
    cursor.tokens.push(Token::EmptyQuotes);
    cursor.tokens.extend(text.chars().map(|c| Token::Char { c, quoted: true }));
    cursor.at += advance;
}

/// The text up to the next backtick that no backslash protects.
pub(super) fn backtick_body(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.char_indices().find_map(|(index, c)| {
        let closes = c == '`' && !escaped;
        escaped = c == '\\' && !escaped;
        closes.then_some(index)
    })?;
    text.get(..end)
}

/// Inside backticks a backslash protects only itself, a backtick and a dollar.
pub(super) fn unescape_backticks(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(next @ ('\\' | '`' | '$'))) => {
                out.push(*next);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}
