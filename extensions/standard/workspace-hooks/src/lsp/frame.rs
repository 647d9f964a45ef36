//! Messages on a stream of bytes. A client that sends garbage loses that message, and the server goes on.

use lsp_server::Message;
use std::io::{self, BufRead, Read, Write};

/// A larger message is skipped. Nothing that is listened to comes near it.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;
const MAX_HEADER_BYTES: u64 = 16 * 1024;
const LENGTH: &str = "content-length:";

/// What was read.
#[derive(Debug)]
pub(super) enum Frame {
    Message(Box<Message>),
    /// Something that is not a message; why, without its content.
    Garbage(&'static str),
    /// There will be nothing more.
    End,
}

/// Reads the next message.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Frame> {
    let Some(header) = read_header(input)? else { return Ok(Frame::End) };
    let length = match header {
        FrameHeader::Length(length) if length <= MAX_BODY_BYTES => length,
        FrameHeader::Length(length) => {
            io::copy(&mut input.take(length), &mut io::sink())?;
            return Ok(Frame::Garbage("message too large"));
        }
        FrameHeader::Wrong => return Ok(Frame::Garbage("invalid message header")),
    };
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Ok(Frame::End);
    }
    match serde_json::from_slice(&body) {
        Ok(message) => Ok(Frame::Message(Box::new(message))),
        Err(_) => Ok(Frame::Garbage("invalid JSON-RPC message")),
    }
}

enum FrameHeader {
    Length(u64),
    Wrong,
}

/// The lines before a body. Lines that say nothing about a length are passed over, so that a stream that went wrong is
/// in step again at the next message.
fn read_header(input: &mut impl BufRead) -> io::Result<Option<FrameHeader>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let count = input.take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
        let text = text.trim();
        // After a body of another length than announced, the next header follows on the same line.
        if let Some((_, value)) = text.rsplit_once(LENGTH) {
            length = value.trim().parse::<u64>().ok();
            if length.is_none() {
                return Ok(Some(FrameHeader::Wrong));
            }
        } else if text.is_empty() {
            if let Some(length) = length {
                return Ok(Some(FrameHeader::Length(length)));
            }
        } else if !text.starts_with("content-") {
            return Ok(Some(FrameHeader::Wrong));
        }
    }
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &Message) -> io::Result<()> {
    message.write(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn all(bytes: impl Into<Vec<u8>>) -> Vec<String> {
        let mut input = Cursor::new(bytes.into());
        let mut found = Vec::new();
        loop {
            match read(&mut input).unwrap() {
                Frame::Message(message) => match *message {
                    Message::Request(request) => found.push(request.method),
                    Message::Notification(notification) => found.push(notification.method),
                    Message::Response(_) => found.push("response".to_owned()),
                },
                Frame::Garbage(why) => found.push(format!("({why})")),
                Frame::End => return found,
            }
        }
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn messages_are_read_and_garbage_is_passed_over() {
        let exit = framed(r#"{"jsonrpc":"2.0","method":"exit"}"#);
        let ask = framed(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#);
        assert_eq!(all(format!("{ask}{exit}")), ["shutdown", "exit"]);
        let typed = exit.replace("Content-Length", "content-type: x\r\ncontent-length");
        assert_eq!(all(typed), ["exit"]);
        assert_eq!(all(format!("hello\n{exit}")), ["(invalid message header)", "exit"]);
        assert_eq!(all(format!("{}{exit}", framed("[1,2"))), ["(invalid JSON-RPC message)", "exit"]);
        assert_eq!(all(format!("Content-Length: x\r\n{exit}")), ["(invalid message header)", "exit"]);
        let short = exit.replace(&format!("{}", exit.len() - 22), "10");
        assert_eq!(all(format!("{short}{exit}{exit}")), ["(invalid JSON-RPC message)", "exit", "exit"]);
        assert_eq!(all(framed("\u{0}\u{ff}")), ["(invalid JSON-RPC message)"]);
        assert_eq!(all("Content-Length: 100\r\n\r\n{"), [""; 0]);
        assert_eq!(all(""), [""; 0]);
    }

    #[test]
    fn a_huge_message_is_skipped_without_being_kept() {
        let length = MAX_BODY_BYTES + 1;
        let head = format!("Content-Length: {length}\r\n\r\n");
        let exit = framed(r#"{"jsonrpc":"2.0","method":"exit"}"#);
        let body = io::repeat(b' ').take(length);
        let mut input = io::BufReader::new(Cursor::new(head).chain(body).chain(Cursor::new(exit)));
        assert!(matches!(read(&mut input).unwrap(), Frame::Garbage("message too large")));
        assert!(matches!(read(&mut input).unwrap(), Frame::Message(_)));
    }

    #[test]
    fn endless_lines_are_garbage() {
        let found = all(vec![b'x'; usize::try_from(MAX_HEADER_BYTES).unwrap() * 2]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
