//! One text with its syntax tree, and the checks that make the tree trustworthy.
//!
//! Pure.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree, TreeCursor};

use super::limits::{
    MAX_ERROR_STEPS, MAX_HEREDOC_WORK, MAX_OPEN_BRACKETS, MAX_PARSE_STEPS, MAX_PIPE_SIGNS, MAX_STRUCTURE_BYTES,
    MAX_TREE_NODES,
};

/// Why a text has no tree to rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParseFailure {
    /// The parser gave up or would.
    TooMuchWork,
    /// The text holds a NUL, which no shell can have been given.
    Nul,
    /// The grammar could not be loaded.
    NoGrammar,
}

/// A parsed text.
pub(super) struct ShellSource<'t> {
    pub(super) text: &'t str,
}

impl<'t> ShellSource<'t> {
    pub(super) fn slice(&self, node: Node<'_>) -> &'t str {
        self.range(node.start_byte(), node.end_byte())
    }

    pub(super) fn range(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// Parses a text within the limits, and says what is wrong with the tree, if anything.
pub(super) fn parse(text: &str) -> Result<(Tree, Option<TreeDefect>), ParseFailure> {
    let bodies = document_bodies(text);
    let tree = parse_disguised(text, &bodies)?;
    match defect(tree.root_node(), text, 0..text.len(), bodies) {
        // What looked like here-documents was something else: it has to be seen.
        Some(TreeDefect::WrongDocuments) => {
            let tree = parse_disguised(text, &[])?;
            let defect = defect(tree.root_node(), text, 0..text.len(), Vec::new());
            Ok((tree, defect))
        }
        other => Ok((tree, other)),
    }
}

fn parse_disguised(text: &str, bodies: &[Range<usize>]) -> Result<Tree, ParseFailure> {
    let disguised = disguise(text, bodies);
    check_shape(&disguised, bodies)?;
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| ParseFailure::NoGrammar)?;
    let mut steps = 0_u32;
    let mut steps_in_error = 0_u32;
    let mut count = |state: &tree_sitter::ParseState| {
        steps += 1;
        steps_in_error += u32::from(state.has_error());
        let stop = steps > MAX_PARSE_STEPS || steps_in_error > MAX_ERROR_STEPS;
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut read = |offset: usize, _| disguised.get(offset..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut count);
    parser.parse_with_options(&mut read, None, Some(options)).ok_or(ParseFailure::TooMuchWork)
}

/// What the parser is given: the same length, with plain letters where it cannot cope.
///
/// The grammar's scanner asks the C library about characters in a way that is
/// defined for ASCII only, and crashes on others; to bash they are all plain
/// letters of a word. What here-documents hold is read elsewhere, so the parser
/// need not see it; `defect` checks that it really stood in one.
fn disguise(text: &str, bodies: &[Range<usize>]) -> Vec<u8> {
    let letter = |byte: u8| if byte.is_ascii() { byte } else { b',' };
    let mut bytes: Vec<u8> = text.bytes().map(letter).collect();
    for body in bodies {
        for byte in bytes.get_mut(body.clone()).into_iter().flatten().filter(|byte| **byte != b'\n') {
            *byte = b'%';
        }
    }
    for dash in lone_dashes(&bytes) {
        if let Some(byte) = bytes.get_mut(dash) {
            *byte = b',';
        }
    }
    for list in leading_lists(&bytes) {
        for byte in bytes.get_mut(list).into_iter().flatten().filter(|byte| matches!(**byte, b'{' | b'}')) {
            *byte = b',';
        }
    }
    bytes
}

/// Words that are a single `-` right before a here-document: the grammar loses them and what follows.
fn lone_dashes(text: &[u8]) -> Vec<usize> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let stands_alone = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let after = text.get(at + 1..).unwrap_or_default();
        let blanks = after.iter().take_while(|byte| is_blank(byte)).count();
        before.is_some_and(is_blank) && after.get(blanks..).unwrap_or_default().starts_with(b"<<")
    };
    positions(text, b'-').filter(stands_alone).collect()
}

/// Brace lists where a command begins, such as `{rm,-r,x}`: to bash they are words, to the grammar a group.
fn leading_lists(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for open in positions(text, b'{') {
        let before = text.get(..open).unwrap_or_default();
        let inside = found.last().is_some_and(|last| open < last.end);
        if !inside
            && begins_command(before)
            && let Some(length) = list_length(text.get(open..).unwrap_or_default())
        {
            found.push(open..open + length);
        }
    }
    found
}

fn positions(text: &[u8], wanted: u8) -> impl Iterator<Item = usize> + '_ {
    text.iter().enumerate().filter(move |(_, byte)| **byte == wanted).map(|(at, _)| at)
}

/// Whether the next word is the name of a command, by what stands right before it.
fn begins_command(before: &[u8]) -> bool {
    const LEADING: [&[u8]; 9] = [b"then", b"do", b"else", b"elif", b"if", b"while", b"until", b"time", b"{"];
    let blanks = before.iter().rev().take_while(|byte| matches!(**byte, b' ' | b'\t')).count();
    let before = before.get(..before.len() - blanks).unwrap_or_default();
    let Some(last) = before.last() else {
        return true;
    };
    let word = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'{').count();
    let word = before.get(before.len() - word..).unwrap_or_default();
    matches!(last, b';' | b'&' | b'|' | b'(' | b'\n' | b'`' | b'!') || (blanks > 0 && LEADING.contains(&word))
}

/// The length of a list of plain letters at the start of a text: `{`, parts with `,` between them, `}`.
fn list_length(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut parts = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' => parts += 1,
            _ if byte.is_ascii_alphanumeric() || b"-_./+:=@%^*?[]~".contains(byte) => {}
            _ => return None,
        }
        if depth == 0 {
            return (parts > 0).then_some(at + 1);
        }
    }
    None
}

/// What look like the bodies of here-documents.
fn document_bodies(text: &str) -> Vec<Range<usize>> {
    let mut bodies = Vec::new();
    let mut closing: Option<(String, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        match &closing {
            Some((delimiter, from)) if line.trim() == delimiter.as_str() => {
                if *from < start {
                    bodies.push(*from..start);
                }
                closing = None;
            }
            Some(_) => {}
            None => closing = delimiter_of(line).map(|delimiter| (delimiter, end)),
        }
        start = end;
    }
    bodies
}

fn delimiter_of(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    let word = after
        .trim_start_matches('-')
        .trim_start()
        .split(|c: char| c.is_whitespace() || "|&;<>()".contains(c))
        .next()?;
    let bare: String = word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    (!bare.is_empty()).then_some(bare)
}

/// Turns away texts that would make the parser slow, in one pass.
fn check_shape(text: &[u8], bodies: &[Range<usize>]) -> Result<(), ParseFailure> {
    let mut open = 0_usize;
    let mut pipes = 0_usize;
    let mut marks = 0_usize;
    let mut previous = 0_u8;
    for byte in text.iter().copied() {
        match byte {
            0 => return Err(ParseFailure::Nul),
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b'|' => pipes += 1,
            b'<' if previous == b'<' => marks += 1,
            _ => {}
        }
        if open > MAX_OPEN_BRACKETS || pipes > MAX_PIPE_SIGNS {
            return Err(ParseFailure::TooMuchWork);
        }
        previous = byte;
    }
    let hidden: usize = bodies.iter().map(Range::len).sum();
    let too_long = text.len().saturating_sub(hidden) > MAX_STRUCTURE_BYTES;
    let too_many_marks = marks.saturating_mul(text.len()) > MAX_HEREDOC_WORK;
    if too_long || too_many_marks { Err(ParseFailure::TooMuchWork) } else { Ok(()) }
}

/// What is wrong with a tree, if anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeDefect {
    /// Parts that the grammar does not know.
    Syntax,
    /// Text that is not a here-document was hidden from the parser.
    WrongDocuments,
    /// More nodes than the limit.
    TooMuchWork,
}

/// What is wrong with the part of a tree that stands for `range`, which the tree around it did not look into.
pub(super) fn defect_within(node: Node<'_>, text: &str, range: Range<usize>) -> Option<TreeDefect> {
    defect(node, text, range, Vec::new())
}

/// Walks a tree once, without recursion.
///
/// Beside the parser's own errors it looks for text that no node covers: the
/// grammar skips some characters that bash does not, and joins or splits words
/// at a line continuation differently.
fn defect(root: Node<'_>, text: &str, range: Range<usize>, mut disguised: Vec<Range<usize>>) -> Option<TreeDefect> {
    let may_be_wrong = root.has_error();
    let mut cursor = root.walk();
    let mut nodes = 0_usize;
    let mut covered = range.start;
    let mut found = None;
    loop {
        let node = cursor.node();
        nodes += 1;
        if nodes > MAX_TREE_NODES {
            return Some(TreeDefect::TooMuchWork);
        }
        if may_be_wrong && (node.is_missing() || (node.is_error() && !is_read_write_redirect(&cursor, text))) {
            found = Some(TreeDefect::Syntax);
        }
        if !disguised.is_empty() {
            disguised.retain(|body| !holds_document(node, body, text));
        }
        let leaf = node.child_count() == 0;
        let opaque = !leaf && is_opaque(node);
        if leaf || opaque {
            if !is_blank_gap(text, covered, node.start_byte()) {
                found = Some(TreeDefect::Syntax);
            }
            covered = node.end_byte().max(covered);
        }
        let nothing_below = leaf || (opaque && !may_be_wrong && disguised.is_empty());
        if nothing_below {
            nodes = nodes.saturating_add(node.descendant_count() - 1);
        }
        if (!nothing_below && cursor.goto_first_child()) || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                if !disguised.is_empty() {
                    return Some(TreeDefect::WrongDocuments);
                }
                let complete = is_blank_gap(text, covered, range.end);
                return if complete { found } else { Some(TreeDefect::Syntax) };
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

/// Whether what was hidden from the parser is what it holds for the body of a here-document,
/// or lies in single quotes, where it is text for another shell.
fn holds_document(node: Node<'_>, body: &Range<usize>, text: &str) -> bool {
    let inside = body.start.saturating_add(1) >= node.start_byte() && body.end <= node.end_byte();
    match node.kind() {
        "heredoc_body" => inside,
        "raw_string" => inside && !text.get(body.clone()).unwrap_or_default().contains('\''),
        _ => false,
    }
}

/// The grammar has no `<>`; it reads it as one operator with the other as an error inside.
fn is_read_write_redirect(cursor: &TreeCursor<'_>, text: &str) -> bool {
    let sign = text.get(cursor.node().byte_range()).unwrap_or_default();
    if !matches!(sign, "<" | ">") {
        return false;
    }
    let mut above = cursor.clone();
    above.goto_parent()
        && above.node().kind() == "file_redirect"
        && text.get(above.node().byte_range()).is_some_and(|redirect| redirect.contains("<>"))
}

/// Nodes whose own text is read character by character, so gaps inside them mean nothing.
fn is_opaque(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "string" | "raw_string" | "ansi_c_string" | "translated_string" | "heredoc_body" | "expansion"
    )
}

/// Only blanks, line ends and line continuations may stand between two tokens.
fn is_blank_gap(text: &str, start: usize, end: usize) -> bool {
    if start >= end {
        return true;
    }
    let Some(gap) = text.get(start..end) else {
        return false;
    };
    if gap.bytes().all(is_blank) {
        return true;
    }
    let plain = gap.replace("\\\n", "");
    let continuation_only = plain.is_empty();
    !continuation_only && plain.bytes().all(is_blank)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}
