//! Redaction of output that arrives in pieces, so that a secret cut in two does not slip through.
//!
//! Pure.

use std::fmt;
use std::ops::Deref;

use crate::limits::{LONGEST_PLAIN_WORD, STREAM_HOLD_BYTES, STREAM_TAIL_BYTES};
use crate::pem;
use crate::prefilter;
use crate::redactor::Redactor;
use crate::span::{Span, SpanEnd};

/// When text is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamRelease {
    /// When its line is complete.
    Lines,
    /// When its word is complete and nothing before it can be the beginning of a secret.
    Words,
}

/// Redacts a stream of bytes.
///
/// Lines are given out when they are complete, or, with [`StreamRedactor::by_words`], words. A longer line than [`STREAM_HOLD_BYTES`] is cut
/// where no secret stands; a private key block is swallowed from its first line to its last.
/// A user pattern sees whole lines, but not the line that follows in another piece.
pub struct StreamRedactor<R> {
    redactor: R,
    held: Vec<u8>,
    state: StreamState,
    release: StreamRelease,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// Text is held until it can be judged.
    Reading,
    /// The rest of a secret that is longer than the hold is dropped.
    InSecret,
    /// A private key block is dropped up to its last line.
    InBlock,
}

impl<R: Deref<Target = Redactor>> StreamRedactor<R> {
    /// Starts a stream; the redactor may be borrowed or shared.
    pub fn new(redactor: R) -> Self {
        Self { redactor, held: Vec::new(), state: StreamState::Reading, release: StreamRelease::Lines }
    }

    /// The same for text that somebody reads while it is written: words come out one by one, unless what stands
    /// before them may be the beginning of a secret. With user patterns, which may cross words, whole lines do.
    pub fn by_words(redactor: R) -> Self {
        let release = if redactor.has_user_patterns() { StreamRelease::Lines } else { StreamRelease::Words };
        Self { release, ..Self::new(redactor) }
    }

    /// Takes the next piece and gives out what is safe to show.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        // A huge piece is taken in steps, so that no more than the hold is ever copied twice.
        for step in piece.chunks(STREAM_HOLD_BYTES) {
            let known = self.held.len();
            self.held.extend_from_slice(step);
            let ends = |byte: &u8| match self.release {
                StreamRelease::Lines => ends_line(*byte),
                StreamRelease::Words => byte.is_ascii_whitespace() || !byte.is_ascii(),
            };
            let news = self.state != StreamState::Reading || step.iter().any(ends);
            if news || known + step.len() > STREAM_HOLD_BYTES {
                while self.advance(&mut output) {}
            }
        }
        output
    }

    /// Nothing has come for a while: gives out the word that is held back if it looks like no part of a secret.
    pub fn pause(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        let word = self.held.get(word_end(&self.held, self.held.len())..).unwrap_or_default();
        let is_plain = word.len() <= LONGEST_PLAIN_WORD && !word.iter().any(u8::is_ascii_digit);
        let is_open = prefilter::undecided(&self.held).is_some() || pem::undecided(&self.held).is_some();
        let may_go = self.release == StreamRelease::Words && self.state == StreamState::Reading;
        if may_go && is_plain && !is_open && !prefilter::begins_literal(word) {
            self.give_lines(self.held.len(), &mut output);
        }
        output
    }

    /// Ends the stream and gives out the rest.
    pub fn finish(mut self) -> Vec<u8> {
        let mut output = Vec::new();
        while self.advance(&mut output) {}
        if self.state == StreamState::Reading {
            output.extend_from_slice(&self.redactor.redact_bytes(&self.held));
        }
        output
    }

    /// Does one step; `false` if more bytes are needed.
    fn advance(&mut self, output: &mut Vec<u8>) -> bool {
        match self.state {
            StreamState::Reading => self.read(output),
            StreamState::InSecret => self.skip_secret(),
            StreamState::InBlock => self.skip_block(),
        }
    }

    fn read(&mut self, output: &mut Vec<u8>) -> bool {
        let lines = self.held.iter().rposition(|&byte| ends_line(byte)).map_or(0, |at| at + 1);
        let safe = pem::undecided(self.held.get(..lines).unwrap_or_default()).map_or(lines, |block| block.min(lines));
        if safe > 0 {
            return self.give_lines(safe, output);
        }
        let words = self.finished_words();
        if words > 0 {
            return self.give_lines(words, output);
        }
        if self.held.len() <= STREAM_HOLD_BYTES {
            return false;
        }
        self.give_part(output)
    }

    /// How many bytes of the open line are whole words with no beginning of a secret among them.
    fn finished_words(&self) -> usize {
        if self.release == StreamRelease::Lines {
            return 0;
        }
        let words = word_end(&self.held, self.held.len());
        let block = pem::undecided(self.held.get(..words).unwrap_or_default());
        match [prefilter::undecided(&self.held), block].into_iter().flatten().min() {
            Some(at) => word_end(&self.held, at.min(words)),
            None => words,
        }
    }

    /// Gives out the first `length` bytes, which end where no pattern continues but a block may.
    fn give_lines(&mut self, length: usize, output: &mut Vec<u8>) -> bool {
        let rest = self.held.split_off(length);
        let open = self.redactor.spans(&self.held).iter().any(|span| span.ends == SpanEnd::OpenBlock);
        output.extend_from_slice(&self.redactor.redact_bytes(&self.held));
        self.held = rest;
        if open {
            self.state = StreamState::InBlock;
        }
        true
    }

    /// Cuts a line that is too long to hold.
    fn give_part(&mut self, output: &mut Vec<u8>) -> bool {
        let spans = self.redactor.spans(&self.held);
        let wanted = self.held.len() - STREAM_TAIL_BYTES;
        let crossing = spans.iter().find(|span| span.context < wanted && wanted < span.end);
        match crossing {
            Some(span) if span.end == self.held.len() && span.context == 0 => {
                self.give_endless(*span, output);
                true
            }
            Some(span) if span.end == self.held.len() => self.give_lines(span.context, output),
            Some(span) => self.give_lines(span.end, output),
            None => self.give_lines(word_start(&self.held, wanted), output),
        }
    }

    /// The held bytes are one secret that is still growing.
    fn give_endless(&mut self, span: Span, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.redactor.redact_bytes(&self.held));
        match span.ends {
            // The last line of the block may have begun.
            SpanEnd::OpenBlock => {
                self.keep_last(pem::CLOSING_BYTES);
                self.state = StreamState::InBlock;
            }
            SpanEnd::Closed => {
                self.held.clear();
                self.state = StreamState::InSecret;
            }
        }
    }

    fn skip_secret(&mut self) -> bool {
        match self.held.iter().position(|&byte| ends_secret(byte)) {
            Some(end) => {
                self.held.drain(..end);
                self.state = StreamState::Reading;
                true
            }
            None => {
                self.held.clear();
                false
            }
        }
    }

    fn skip_block(&mut self) -> bool {
        match pem::closing(&self.held, 0) {
            Some(close) if close.end < self.held.len() || close.len() >= pem::CLOSING_BYTES => {
                self.held.drain(..close.end);
                self.state = StreamState::Reading;
                true
            }
            _ => {
                self.keep_last(2 * pem::CLOSING_BYTES);
                false
            }
        }
    }

    fn keep_last(&mut self, bytes: usize) {
        let dropped = self.held.len().saturating_sub(bytes);
        self.held.drain(..dropped);
    }
}

impl<R> fmt::Debug for StreamRedactor<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRedactor").field("held_bytes", &self.held.len()).field("state", &self.state).finish()
    }
}

/// The last place up to `at` behind which a word begins: after a blank, or after a character that is in no secret, as
/// scripts without blanks have them.
fn word_end(held: &[u8], at: usize) -> usize {
    let continues = |next: usize| held.get(next).is_some_and(|byte| byte & 0xc0 == 0x80);
    let ends = |place: &usize| {
        let last = held.get(place - 1).copied().unwrap_or_default();
        last.is_ascii_whitespace() || (!last.is_ascii() && !continues(*place))
    };
    (1..=at).rev().find(ends).unwrap_or(0)
}

fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn ends_secret(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>')
}

/// The last place up to `at` where a word may start, so that a cut makes no new word.
fn word_start(held: &[u8], at: usize) -> usize {
    let head = held.get(..at).unwrap_or_default();
    let far = head.len().saturating_sub(STREAM_TAIL_BYTES);
    let blank = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b'{' | b'}');
    let found = head.get(far..).unwrap_or_default().iter().rposition(blank);
    found.map_or(at, |place| far + place + 1)
}
