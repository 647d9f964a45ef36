//! Keeps the beginning and the end of what an attempt prints, without secrets and within a limit.

use super::live_output::LiveOutput;
use dispatch_os::OutputStream;
use dispatch_redact::{Redactor, StreamRedactor};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most that is kept of what one attempt prints.
pub(super) const OUTPUT_LIMIT_BYTES: usize = 256 * 1024;
/// Of that, the part that is kept of the beginning; the end is where errors are told.
const HEAD_BYTES: usize = 64 * 1024;
/// Room for the words between the two.
const GAP_BYTES: usize = 64;
const TAIL_BYTES: usize = OUTPUT_LIMIT_BYTES - HEAD_BYTES - GAP_BYTES;

/// What a child prints on both streams, in the order in which lines are complete.
///
/// Each stream is redacted on its own and before anything is dropped, so that neither the other stream, nor
/// the size of a read, nor the gap in the middle can split a secret.
pub(super) struct Transcript {
    stdout: StreamRedactor<Arc<Redactor>>,
    stderr: StreamRedactor<Arc<Redactor>>,
    kept: KeptOutput,
    last_error: String,
    live: Option<LiveOutput>,
}

impl Transcript {
    pub(super) fn new(redactor: &Arc<Redactor>) -> Self {
        let stream = || StreamRedactor::new(Arc::clone(redactor));
        Self { stdout: stream(), stderr: stream(), kept: KeptOutput::default(), last_error: String::new(), live: None }
    }

    /// The same, shown while it is printed.
    pub(super) fn shown_in(redactor: &Arc<Redactor>, live: LiveOutput) -> Self {
        Self { live: Some(live), ..Self::new(redactor) }
    }

    fn keep(&mut self, clean: &[u8]) {
        self.kept.push(clean);
        if let Some(live) = &mut self.live {
            live.push(clean);
        }
    }

    /// Takes the next piece.
    pub(super) fn push(&mut self, stream: OutputStream, piece: &[u8]) {
        match stream {
            OutputStream::Stdout => {
                let clean = self.stdout.push(piece);
                self.keep(&clean);
            }
            OutputStream::Stderr => {
                let clean = self.stderr.push(piece);
                self.take_error(&clean);
            }
        }
    }

    /// The whole text, and the last line of standard error.
    pub(super) fn finish(mut self) -> (String, String) {
        let stderr = std::mem::replace(&mut self.stderr, StreamRedactor::new(Arc::new(Redactor::builtin())));
        self.take_error(&stderr.finish());
        let rest = self.stdout.finish();
        self.kept.push(&rest);
        (self.kept.text(), self.last_error)
    }

    fn take_error(&mut self, clean: &[u8]) {
        self.keep(clean);
        let text = String::from_utf8_lossy(clean);
        if let Some(line) = text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            self.last_error = line.to_owned();
        }
    }
}

/// The two ends of a text.
#[derive(Default)]
struct KeptOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted_bytes: usize,
}

impl KeptOutput {
    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        // Only the end of a huge piece can stay, so only that is copied.
        let skipped = rest.len().saturating_sub(TAIL_BYTES);
        self.tail.extend(rest.get(skipped..).unwrap_or_default());
        let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..surplus);
        self.omitted_bytes += skipped + surplus;
    }

    fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.omitted_bytes > 0 {
            bytes.extend_from_slice(gap(self.omitted_bytes).as_bytes());
        }
        bytes.extend(&self.tail);
        // An invalid byte grows to three, so the limit is checked again.
        cut(&String::from_utf8_lossy(&bytes))
    }
}

/// A text cut to the size that is kept.
pub(super) fn cut(text: &str) -> String {
    if text.len() <= OUTPUT_LIMIT_BYTES {
        return text.to_owned();
    }
    let head_end = text.floor_char_boundary(HEAD_BYTES);
    let tail_start = text.ceil_char_boundary(text.len() - TAIL_BYTES);
    let (head, tail) = (text.get(..head_end).unwrap_or_default(), text.get(tail_start..).unwrap_or_default());
    format!("{head}{}{tail}", gap(tail_start - head_end))
}

fn gap(omitted_bytes: usize) -> String {
    format!("\n[... {omitted_bytes} bytes left out ...]\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CANARY: &str = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4";

    fn transcript(pieces: &[(OutputStream, Vec<u8>)]) -> (String, String) {
        let mut transcript = Transcript::new(&Arc::new(Redactor::builtin()));
        for (stream, piece) in pieces {
            transcript.push(*stream, piece);
        }
        transcript.finish()
    }

    #[test]
    fn short_output_is_kept_whole_and_long_output_at_both_ends() {
        let out = |text: &str| (OutputStream::Stdout, text.as_bytes().to_vec());
        let (text, error) = transcript(&[out("one\n"), (OutputStream::Stderr, b"bad\n\n".to_vec()), out("two")]);
        assert_eq!((text.as_str(), error.as_str()), ("one\nbad\n\ntwo", "bad"));
        let lines: String = (0..200_000).map(|number| format!("line {number}\n")).collect();
        let (text, _) = transcript(&[out(&lines)]);
        assert!(text.len() <= OUTPUT_LIMIT_BYTES && text.len() > OUTPUT_LIMIT_BYTES - 2 * GAP_BYTES);
        assert!(text.starts_with("line 0\n") && text.ends_with("line 199999\n") && text.contains("bytes left out"));
    }

    #[test]
    fn bytes_that_are_no_text_do_not_break_the_limit() {
        let (text, _) = transcript(&[(OutputStream::Stdout, vec![0xff; 3 * OUTPUT_LIMIT_BYTES])]);
        assert!(text.len() <= OUTPUT_LIMIT_BYTES);
    }

    #[test]
    fn a_secret_at_any_cut_and_across_reads_and_streams_is_taken_out() {
        for at in [HEAD_BYTES - 40, HEAD_BYTES - 20, HEAD_BYTES - 1, OUTPUT_LIMIT_BYTES - 30] {
            let mut text = "x ".repeat(at / 2);
            text.push_str(CANARY);
            text.push('\n');
            text.push_str(&"y ".repeat(OUTPUT_LIMIT_BYTES));
            let mut pieces: Vec<(OutputStream, Vec<u8>)> = Vec::new();
            for piece in text.as_bytes().chunks(7) {
                pieces.push((OutputStream::Stdout, piece.to_vec()));
                if pieces.len().is_multiple_of(1_000) {
                    pieces.push((OutputStream::Stderr, b"noise\n".to_vec()));
                }
            }
            let (kept, _) = transcript(&pieces);
            for length in [8, 16, CANARY.len()] {
                assert!(!kept.contains(&CANARY[CANARY.len() - length..]), "the last {length} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn however_it_is_read_no_secret_and_no_surplus_stays(
            before in 0_usize..200, sizes in proptest::collection::vec(1_usize..50, 1..20),
        ) {
            let text = format!("{}token {CANARY} end\n", "word ".repeat(before));
            let mut pieces = Vec::new();
            let mut rest = text.as_bytes();
            for size in sizes.iter().cycle() {
                let (piece, more) = rest.split_at((*size).min(rest.len()));
                pieces.push((OutputStream::Stderr, piece.to_vec()));
                rest = more;
                if rest.is_empty() {
                    break;
                }
            }
            let (kept, last) = transcript(&pieces);
            prop_assert!(!kept.contains(&CANARY[8..]) && !last.contains(&CANARY[8..]));
            prop_assert!(kept.len() <= OUTPUT_LIMIT_BYTES);
        }
    }
}
