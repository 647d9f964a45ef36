//! How many tokens a request has: an estimate, corrected by what a server says when it refuses one.
//!
//! Pure.

use dispatch_contracts::conversation::{Chunk, Message};
use dispatch_contracts::provider::ModelRequest;
use serde_json::Value;
use std::io;

/// Bytes of text per token; English has about four, code and other scripts fewer.
const BYTES_PER_TOKEN: u64 = 3;
/// What surrounds a message, a call or a result on the wire.
const FRAME_BYTES: u64 = 24;
/// What a picture counts for, in bytes of text.
const IMAGE_BYTES: u64 = 1_500 * BYTES_PER_TOKEN;
/// No model has a smaller window, so no smaller number in a refusal is one.
const SMALLEST_WINDOW: u64 = 512;
/// The corrections that are believed.
const LEAST_FACTOR: f64 = 0.25;
const GREATEST_FACTOR: f64 = 4.0;

/// The tokens of a whole request.
pub(crate) fn of_request(request: &ModelRequest) -> u64 {
    let system: u64 = request.system.iter().map(|section| bytes(section)).sum();
    let tools = request
        .tools
        .iter()
        .map(|tool| bytes(&tool.name) + bytes(&tool.description) + json_bytes(&tool.parameters) + FRAME_BYTES);
    tokens(system + tools.sum::<u64>()) + of_messages(&request.messages)
}

/// The tokens of messages.
pub(crate) fn of_messages(messages: &[Message]) -> u64 {
    tokens(messages.iter().map(of_message).sum())
}

fn of_message(message: &Message) -> u64 {
    FRAME_BYTES + message.chunks.iter().map(of_chunk).sum::<u64>()
}

fn of_chunk(chunk: &Chunk) -> u64 {
    match chunk {
        Chunk::Text { text } => bytes(text),
        Chunk::Reasoning { text, signature } => bytes(text) + signature.as_ref().map_or(0, |seal| bytes(seal)),
        Chunk::ToolCall(call) => {
            let arguments: u64 = call.arguments.iter().map(|(name, value)| bytes(name) + json_bytes(value)).sum();
            FRAME_BYTES + bytes(&call.name) + arguments
        }
        Chunk::ToolResult(result) => FRAME_BYTES + bytes(&result.text) + result.images.len() as u64 * IMAGE_BYTES,
        Chunk::Image(_) => IMAGE_BYTES,
    }
}

/// The length of a value as JSON, which is written nowhere.
fn json_bytes(value: &Value) -> u64 {
    let mut counted = ByteCounter(0);
    // Counting does not fail.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn bytes(text: &str) -> u64 {
    text.len() as u64
}

fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// How many bytes of text so many tokens are.
pub(crate) fn bytes_of(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// What is known about a model's window and about how far the estimate is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WindowKnowledge {
    pub(crate) window: Option<u64>,
    /// What to multiply an estimate with.
    pub(crate) factor: f64,
}

impl WindowKnowledge {
    pub(crate) fn new(window: Option<u64>) -> Self {
        Self { window, factor: 1.0 }
    }

    /// The tokens that an estimate stands for.
    pub(crate) fn corrected(&self, estimate: u64) -> u64 {
        (estimate as f64 * self.factor) as u64
    }

    /// The estimate that a request may have so that it fits this part of the window; `None` without a window.
    pub(crate) fn budget(&self, part: f64) -> Option<u64> {
        self.window.map(|window| (window as f64 * part / self.factor) as u64)
    }

    /// Learns from the words of a refusal of a request with this estimate: most name the window, many also how many
    /// tokens the request had.
    pub(crate) fn learn(self, refusal: &str, estimate: u64) -> Self {
        let mut numbers: Vec<u64> = numbers(refusal).filter(|number| *number >= SMALLEST_WINDOW).collect();
        numbers.sort_unstable();
        let window = numbers.first().copied().or(self.window);
        let asked = numbers.last().copied().filter(|asked| Some(*asked) > window);
        let factor = match (asked, window) {
            (Some(asked), _) => asked as f64 / estimate.max(1) as f64,
            // It was refused, so it has more tokens than fit.
            (None, Some(window)) if self.corrected(estimate) <= window => window as f64 * 1.1 / estimate.max(1) as f64,
            _ => self.factor,
        };
        Self { window, factor: factor.clamp(LEAST_FACTOR, GREATEST_FACTOR) }
    }
}

/// The whole numbers in a text, with or without separators of thousands.
fn numbers(text: &str) -> impl Iterator<Item = u64> + '_ {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == ',' || letter == '_';
    text.split(move |letter| !is_part(letter)).filter_map(|word| {
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_many_servers_tell_the_window() {
        for (words, window, factor) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.",
                8192,
                2.0,
            ),
            ("prompt is too long: 210,000 tokens > 200,000 maximum", 200_000, 4.0),
            ("the request exceeds the available context size (4096 tokens), try increasing it", 4096, 1.0),
            ("input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000", 8192, 4.0),
        ] {
            let learned = WindowKnowledge::new(None).learn(words, 5_000);
            assert_eq!(learned.window, Some(window), "{words}");
            assert!((learned.factor - factor).abs() < 0.2, "{words}: {learned:?}");
        }
        let silent = WindowKnowledge::new(Some(1_000)).learn("too long", 500);
        assert_eq!(silent.window, Some(1_000));
        assert!(silent.corrected(500) > 1_000, "what was refused is larger than the window");
    }

    #[test]
    fn a_budget_shrinks_with_the_window_and_with_what_was_learned() {
        let plain = WindowKnowledge::new(Some(1_000));
        assert_eq!(plain.budget(0.8), Some(800));
        assert_eq!(WindowKnowledge { factor: 2.0, ..plain }.budget(0.8), Some(400));
        assert_eq!(WindowKnowledge::new(None).budget(0.8), None);
    }
}
