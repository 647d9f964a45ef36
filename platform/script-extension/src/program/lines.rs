//! Cuts the output of a program into lines, of which none may be longer than a limit.
//!
//! Pure.

/// The start of a line whose end has not arrived.
pub(crate) struct LineBuffer {
    partial: Vec<u8>,
    max_bytes: usize,
}

/// A line is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineTooLong;

impl LineBuffer {
    pub(crate) const fn new(max_bytes: usize) -> Self {
        Self { partial: Vec::new(), max_bytes }
    }

    /// Adds output; the lines that are complete now go to `take`, without those that are empty.
    pub(crate) fn push(&mut self, output: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), LineTooLong> {
        let mut pieces = output.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if self.partial.len() + piece.len() > self.max_bytes {
                self.partial = Vec::new();
                return Err(LineTooLong);
            }
            self.partial.extend_from_slice(piece);
            if pieces.peek().is_some() {
                let line = std::mem::take(&mut self.partial);
                let line = line.strip_suffix(b"\r").unwrap_or(&line);
                if !line.is_empty() {
                    take(line);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_the_output_arrives() {
        let text = b"one\ntwo\r\n\nthree is longer\nrest";
        for size in 1..text.len() {
            let (mut buffer, mut lines) = (LineBuffer::new(20), Vec::new());
            for chunk in text.chunks(size) {
                buffer.push(chunk, |line| lines.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
            }
            assert_eq!(lines, ["one", "two", "three is longer"], "{size}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_limit() {
        let mut buffer = LineBuffer::new(8);
        assert_eq!(buffer.push(b"12345678", |_| ()), Ok(()));
        assert_eq!(buffer.push(b"9", |_| ()), Err(LineTooLong));
    }
}
