//! Lines of bounded length from a stream, and lines into one.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

/// One line of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine {
    /// What it says, without its end.
    Text(String),
    /// It was longer than the limit and was skipped.
    TooLong,
    /// It was not valid UTF-8.
    NotText,
}

/// Reads lines. Dropping a pending read loses nothing.
pub(crate) struct LineReader<R> {
    input: BufReader<R>,
    limit: usize,
    held: Vec<u8>,
    overflown: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self { input: BufReader::new(input), limit, held: Vec::new(), overflown: false }
    }

    /// The next line that is not empty; `None` when the input ended. A last line without an end
    /// was cut off by a crash of its sender, so it is not taken.
    pub(crate) async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            let chunk = self.input.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            let piece = chunk.get(..taken).unwrap_or_default();
            if self.overflown || self.held.len() + piece.len() > self.limit {
                self.overflown = true;
                self.held = Vec::new();
            } else {
                self.held.extend_from_slice(piece);
            }
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_some()
                && let Some(line) = self.finish()
            {
                return Ok(Some(line));
            }
        }
    }

    fn finish(&mut self) -> Option<InputLine> {
        let bytes = std::mem::take(&mut self.held);
        if std::mem::take(&mut self.overflown) {
            return Some(InputLine::TooLong);
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.trim().is_empty() => None,
            Ok(text) => Some(InputLine::Text(text)),
            Err(_) => Some(InputLine::NotText),
        }
    }
}

/// Writes one line at once.
pub(crate) async fn write_line(output: &mut (impl AsyncWrite + Unpin), text: &str) -> io::Result<()> {
    let mut line = Vec::with_capacity(text.len() + 1);
    line.extend_from_slice(text.as_bytes());
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], limit: usize) -> Vec<InputLine> {
        let mut reader = LineReader::new(bytes, limit);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_are_bounded_and_damage_stays_in_its_line() {
        let text = |text: &str| InputLine::Text(text.to_owned());
        for (bytes, expected) in [
            (&b""[..], vec![]),
            (b"one\ntwo\n", vec![text("one"), text("two")]),
            (b"\n \r\none\r\n", vec![text("one\r")]),
            (b"one\ntorn", vec![text("one")]),
            (b"123456789\nok\n", vec![InputLine::TooLong, text("ok")]),
            (b"12345678\n", vec![text("12345678")]),
            (b"\xff\xfe\nok\n", vec![InputLine::NotText, text("ok")]),
        ] {
            assert_eq!(read(bytes, 8).await, expected, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn a_line_that_never_ends_takes_no_memory() {
        let bytes = vec![b'x'; 1 << 20];
        let mut reader = LineReader::new(&bytes[..], 64);
        assert_eq!(reader.next().await.unwrap(), None);
        assert!(reader.held.capacity() <= 8 * 1024);
    }
}
