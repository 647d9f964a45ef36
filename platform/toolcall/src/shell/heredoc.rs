//! Here-documents: where they really end, and the code that runs inside them.
//!
//! Pure.

use tree_sitter::Node;

use super::effects::UnknownReason;
use super::interpreter::{CommandContext, Interpreter};
use super::lexer::{backtick_body, unescape_backticks};
use super::source::ShellSource;
use super::state::ShellState;
use super::tree;

/// The text of a here-document.
pub(super) struct HereDocument {
    text: String,
    /// A quoted delimiter: nothing inside is expanded.
    literal: bool,
}

/// Reads a here-document; `None` if the grammar's idea of its end is not bash's.
pub(super) fn read(source: &ShellSource<'_>, node: Node<'_>) -> Option<HereDocument> {
    let children = tree::children(node);
    let find = |kind: &str| children.iter().find(|child| child.kind() == kind).copied();
    let start = source.slice(find("heredoc_start")?);
    let end = find("heredoc_end")?;
    let strips_tabs = find("<<-").is_some();
    let literal = start.contains(['\'', '"', '\\']);
    let delimiter: String = start.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let body_start = match find("heredoc_body") {
        Some(body) => body.start_byte(),
        None => end.start_byte(),
    };
    // The grammar drops tabs at the start of the body; the line begins before them.
    let line_start = source.range(0, body_start).rfind('\n')? + 1;
    let end_line = source.range(0, end.start_byte()).rfind('\n').map_or(0, |at| at + 1);
    let body = source.range(line_start, end_line);
    let trimmed =
        |line: &str| -> String { if strips_tabs { line.trim_start_matches('\t').to_owned() } else { line.to_owned() } };
    let closes_early = body.lines().any(|line| trimmed(line) == delimiter);
    let last = source.range(end_line, source.text.len());
    let closing = trimmed(last.split('\n').next().unwrap_or_default());
    if closes_early || closing != delimiter {
        return None;
    }
    let text = body.split_inclusive('\n').map(trimmed).collect();
    Some(HereDocument { text, literal })
}

impl Interpreter {
    /// Runs what a here-document substitutes; gives its text where nothing is expanded.
    pub(super) fn expand_document(
        &mut self,
        document: &HereDocument,
        state: &ShellState,
        context: &CommandContext,
    ) -> Option<String> {
        if document.literal || !document.text.contains(['$', '`', '\\']) {
            return Some(document.text.clone());
        }
        let mut rest = document.text.as_str();
        while let Some(at) = rest.find(['\\', '`', '$']) {
            rest = &rest[at..];
            let used = match rest.as_bytes().first() {
                Some(b'\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
                Some(b'`') => self.document_backticks(rest, state, context),
                _ => self.document_dollar(rest, state, context),
            };
            rest = rest.get(used..).unwrap_or_default();
        }
        None
    }

    fn document_backticks(&mut self, rest: &str, state: &ShellState, context: &CommandContext) -> usize {
        match backtick_body(&rest[1..]) {
            Some(body) => {
                self.substitute(&unescape_backticks(body), state, context);
                body.len() + 2
            }
            None => {
                self.recorder.unknown(UnknownReason::Syntax, "`");
                rest.len()
            }
        }
    }

    fn document_dollar(&mut self, rest: &str, state: &ShellState, context: &CommandContext) -> usize {
        let opens = rest[1..].chars().next();
        let Some(open @ ('(' | '{')) = opens else {
            return 1;
        };
        let Some(length) = balanced(&rest[1..], open) else {
            self.recorder.unknown(UnknownReason::Syntax, "$(");
            return rest.len();
        };
        let inner = &rest[2..length];
        let arithmetic = open == '(' && inner.starts_with('(');
        let hides_code = inner.contains("$(") || inner.contains('`');
        if open == '(' && !arithmetic {
            self.substitute(inner, state, context);
        } else if hides_code || inner.contains('@') {
            self.recorder.code(UnknownReason::UnresolvedCode, "<<");
        }
        1 + length
    }
}

/// The length of a bracketed text with its brackets; quotes protect brackets inside.
fn balanced(text: &str, open: char) -> Option<usize> {
    let close = if open == '(' { ')' } else { '}' };
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => escaped = true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c == open => depth += 1,
            (None, c) if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(index + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}
