//! Markdown as it streams in, styled for a terminal as early as it is certain.
//!
//! Pure.
//!
//! Text goes out as soon as nothing that follows can change its look: a line waits only while its first
//! letters could still be a marker, and within a line only an open span waits, for its end or the line's.

mod inline;
#[cfg(test)]
mod tests;

use crate::plain::visible_text;
use inline::{InlineStyle, LineEndKnown, spans};

/// The most of a line that waits for its marker or for the end of a span.
const HELD_CHARS: usize = 2_000;
/// The width of a rule.
const RULE: &str = "────────────────────────";

/// How the result looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextLook {
    /// As the model wrote it.
    Source,
    /// As the model wrote it, with nothing that a terminal would obey.
    Plain,
    /// Styled for a terminal.
    Styled,
}

/// A document that is being written.
#[derive(Debug)]
pub(super) struct Markdown {
    look: TextLook,
    /// What waits, from the start of the line or of the undecided span.
    held: String,
    line: MarkdownLine,
    /// The marker that ends the open code block.
    fence: Option<String>,
}

/// Where in a line the writing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkdownLine {
    /// Its kind is not known yet.
    Start,
    /// In the middle, with the style of its kind and the letter before.
    Text { style: InlineStyle, before: char },
}

impl Markdown {
    pub(super) fn new(look: TextLook) -> Self {
        Self { look, held: String::new(), line: MarkdownLine::Start, fence: None }
    }

    /// Takes text in and gives what can be shown.
    pub(super) fn push(&mut self, text: &str) -> String {
        match self.look {
            TextLook::Source => return text.to_owned(),
            TextLook::Plain => return visible_text(&text.replace('\r', "")),
            TextLook::Styled => {}
        }
        let mut out = String::new();
        // A carriage return before a line end says nothing, and the two may come apart.
        let text = text.replace('\r', "");
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(rest) => {
                    self.held.push_str(&visible_text(rest));
                    self.advance(&mut out, LineEndKnown::LineEnd);
                    self.line = MarkdownLine::Start;
                    out.push('\n');
                }
                None => {
                    self.held.push_str(&visible_text(piece));
                    let held_too_long = self.held.chars().nth(HELD_CHARS).is_some();
                    self.advance(&mut out, if held_too_long { LineEndKnown::LineEnd } else { LineEndKnown::SoFar });
                }
            }
        }
        out
    }

    /// The text is over: what waits is shown as it is.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.held.is_empty() {
            self.advance(&mut out, LineEndKnown::LineEnd);
        }
        *self = Self::new(self.look);
        out
    }

    fn advance(&mut self, out: &mut String, certain: LineEndKnown) {
        if let MarkdownLine::Start = self.line {
            let Some(kind) = kind(&self.held, self.fence.as_deref(), certain) else { return };
            self.held.drain(..kind.taken);
            out.push_str(&kind.shown);
            if let Some(fence) = kind.fence {
                self.fence = fence;
            }
            self.line = MarkdownLine::Text { style: kind.style, before: ' ' };
        }
        let MarkdownLine::Text { style, before } = self.line else { return };
        if style.is_code() {
            out.push_str(&style.wrap(&std::mem::take(&mut self.held)));
            return;
        }
        let shown = spans(&self.held, style, before, certain);
        out.push_str(&shown.text);
        self.held.drain(..shown.taken);
        self.line = MarkdownLine::Text { style, before: shown.before };
    }
}

/// What the beginning of a line says about the line.
struct BlockStart {
    /// How many bytes of the line its marker takes.
    taken: usize,
    /// What is shown in the marker's place.
    shown: String,
    style: InlineStyle,
    /// What becomes of the open code block, if anything does.
    fence: Option<Option<String>>,
}

impl BlockStart {
    fn text(taken: usize, shown: impl Into<String>, style: InlineStyle) -> Self {
        Self { taken, shown: shown.into(), style, fence: None }
    }
}

/// The kind of a line; `None` while more of it could change that.
fn kind(line: &str, fence: Option<&str>, certain: LineEndKnown) -> Option<BlockStart> {
    let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
    let (blank, body) = line.split_at(indent);
    let open = certain == LineEndKnown::SoFar;
    if let Some(fence) = fence {
        return in_fence(line, body, fence, open);
    }
    if body.is_empty() {
        return (!open).then(|| BlockStart::text(indent, "", InlineStyle::default()));
    }
    if let Some(mark) = ['`', '~'].into_iter().find(|mark| body.starts_with(*mark)) {
        let count = body.chars().take_while(|character| *character == mark).count();
        if count >= 3 {
            // The language behind the marker is the rest of the line.
            return (!open).then(|| BlockStart {
                fence: Some(Some(mark.to_string().repeat(count))),
                ..BlockStart::text(line.len(), InlineStyle::FAINT.wrap(body), InlineStyle::default())
            });
        }
        if open && count == body.len() {
            return None;
        }
    }
    block(line, blank, body, open)
}

fn in_fence(line: &str, body: &str, fence: &str, open: bool) -> Option<BlockStart> {
    let could_close = fence.starts_with(body) || body.starts_with(fence);
    if open && could_close {
        return None;
    }
    let closes = body.starts_with(fence) && body.trim_end().chars().all(|character| fence.starts_with(character));
    Some(if closes {
        BlockStart {
            fence: Some(None),
            ..BlockStart::text(line.len(), InlineStyle::FAINT.wrap(body.trim_end()), InlineStyle::default())
        }
    } else {
        BlockStart::text(0, if line.is_empty() { "" } else { "  " }, InlineStyle::CODE)
    })
}

/// Headings, lists, quotes, rules and plain lines.
fn block(line: &str, blank: &str, body: &str, open: bool) -> Option<BlockStart> {
    let undecided = |run: usize| open && run == body.len();
    let indent = blank.len();
    let hashes = body.chars().take_while(|character| *character == '#').count();
    if (1..=6).contains(&hashes) {
        if undecided(hashes) {
            return None;
        }
        if body[hashes..].starts_with(' ') {
            return Some(BlockStart::text(indent + hashes + 1, "", InlineStyle::HEADING));
        }
    }
    if let Some(rest) = body.strip_prefix('>') {
        if open && rest.is_empty() {
            return None;
        }
        let taken = line.len() - rest.strip_prefix(' ').unwrap_or(rest).len();
        return Some(BlockStart::text(taken, format!("{blank}{}", InlineStyle::FAINT.wrap("│ ")), InlineStyle::FAINT));
    }
    if is_rule(body) {
        return (!open).then(|| BlockStart::text(line.len(), InlineStyle::FAINT.wrap(RULE), InlineStyle::default()));
    }
    if body.starts_with(['-', '*', '+']) {
        if undecided(1) || (open && body.trim_start_matches(['-', '*', ' ']).is_empty()) {
            return None;
        }
        if body[1..].starts_with(' ') {
            return Some(BlockStart::text(indent + 2, format!("{blank}• "), InlineStyle::default()));
        }
    }
    Some(BlockStart::text(indent, blank, InlineStyle::default()))
}

/// Three marks of one sort and nothing else but blanks.
fn is_rule(body: &str) -> bool {
    ['-', '*', '_'].into_iter().any(|mark| {
        let count = body.chars().filter(|character| *character == mark).count();
        count >= 3 && body.chars().all(|character| character == mark || character == ' ')
    })
}
