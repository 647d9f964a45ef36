//! Cuts a byte stream into server-sent events, however the network cut it before.
//!
//! Pure.

use std::mem;

/// The longest line, and the longest event, that is held.
pub(crate) const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event:` field; empty if there is none.
    pub(crate) name: String,
    /// The `data:` lines, joined by line feeds.
    pub(crate) data: String,
}

/// A line or an event is longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SseEventTooLong;

/// The state between two pieces of the stream.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_return: bool,
    past_first_line: bool,
}

impl SseDecoder {
    /// Takes the next piece and gives the events that are complete with it.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, SseEventTooLong> {
        let mut complete = Vec::new();
        while !bytes.is_empty() {
            // CR LF is one line end, also when the network cuts between the two.
            if mem::take(&mut self.after_return) && bytes.first() == Some(&b'\n') {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
                self.extend_line(bytes)?;
                break;
            };
            let (start, rest) = bytes.split_at(end);
            self.extend_line(start)?;
            self.after_return = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            complete.extend(self.end_line()?);
        }
        Ok(complete)
    }

    /// The event that the end of the stream left without its empty line, if its data is there.
    pub(crate) fn finish(&mut self) -> Result<Option<SseEvent>, SseEventTooLong> {
        let last = if self.line.is_empty() { None } else { self.end_line()? };
        Ok(last.or_else(|| self.end_event()))
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLong> {
        if self.line.len() + bytes.len() > MAX_EVENT_BYTES {
            return Err(SseEventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseEventTooLong> {
        let bytes = mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if !mem::replace(&mut self.past_first_line, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(value)?,
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            // `id` and `retry` are for reconnecting, which a model call cannot do; a line that
            // begins with the colon is a comment.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), SseEventTooLong> {
        if self.event.data.len() + value.len() > MAX_EVENT_BYTES {
            return Err(SseEventTooLong);
        }
        if mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(&String::from_utf8_lossy(value));
        Ok(())
    }

    fn end_event(&mut self) -> Option<SseEvent> {
        let event = mem::take(&mut self.event);
        mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.push(piece).unwrap());
        }
        events.extend(decoder.finish().unwrap());
        events
    }

    fn data(text: &[u8]) -> Vec<String> {
        decode([text]).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn fields_comments_and_line_ends() {
        let cases: [(&str, &[&str]); 14] = [
            ("data: a\n\n", &["a"]),
            ("data:a\n\ndata:  b\n\n", &["a", " b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]),
            ("data: a\r\rdata: b\r\r", &["a", "b"]),
            ("data: a\ndata: b\n\n", &["a\nb"]),
            (": ping\n\ndata: a\n\n: ping\n\n", &["a"]),
            ("\u{feff}data: a\n\n", &["a"]),
            ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
            ("id: 1\nretry: 5\nevent: x\ndata: a\n\n", &["a"]),
            ("event: x\n\ndata: a\n\n", &["a"]),
            ("data\n\n", &[""]),
            ("data: a", &["a"]),
            ("data: a\n", &["a"]),
            ("\n\n\r\n", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(data(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn the_name_of_an_event_is_kept_and_forgotten() {
        let events = decode([b"event: error\ndata: a\n\ndata: b\n\n".as_slice()]);
        assert_eq!(events[0], SseEvent { name: "error".into(), data: "a".into() });
        assert_eq!(events[1], SseEvent { name: String::new(), data: "b".into() });
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(data(b"data: a\xff\xfeb\n\n"), ["a\u{fffd}\u{fffd}b"]);
    }

    #[test]
    fn ten_megabytes_in_one_line_pass_and_the_limit_holds() {
        let large = "x".repeat(10 * 1024 * 1024);
        assert_eq!(data(format!("data: {large}\n\n").as_bytes()), [large]);
        let mut decoder = SseDecoder::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES];
        assert_eq!(decoder.push(&piece), Ok(Vec::new()));
        assert_eq!(decoder.push(b"x"), Err(SseEventTooLong));
        let mut lines = SseDecoder::default();
        let line = format!("data: {}\n", "x".repeat(MAX_EVENT_BYTES / 2));
        assert!(lines.push(line.as_bytes()).is_ok());
        assert_eq!(lines.push(format!("{line}data: x\n{line}").as_bytes()), Err(SseEventTooLong));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            text in "(data: [aé€𝄞{}]{0,9}|: c|event: e|data)?(\r\n|\n|\r){1,3}(data:x(\r\n|\n|\r)){0,3}(\r\n|\n|\r)?",
            repeat in 1_usize..4,
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let bytes = text.repeat(repeat).into_bytes();
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.sort_unstable();
            let bounds: Vec<usize> = [0].into_iter().chain(at).chain([bytes.len()]).collect();
            let pieces = bounds.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(decode(pieces), decode([bytes.as_slice()]));
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            decode(bytes.chunks(7));
        }
    }
}
