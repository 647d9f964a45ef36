//! One connection with one deadline: bytes and whole messages, however slowly the other side speaks.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::Neo4jError;
use super::packstream::Message;

/// The longest message that is read; no answer to a check comes near.
const MESSAGE_LIMIT_BYTES: usize = 64 * 1024;
/// The longest piece that a message is cut into.
const CHUNK_BYTES: usize = u16::MAX as usize;

/// A connection that nobody waits on beyond its deadline.
pub(super) struct Wire {
    stream: TcpStream,
    deadline: Instant,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, deadline: Instant) -> Self {
        // Without it every small message waits for the answer to the one before; refusing it costs only time.
        let _ = stream.set_nodelay(true);
        Self { stream, deadline }
    }

    pub(super) fn send(&mut self, message: &Message) -> Result<(), Neo4jError> {
        self.write(&framed(&message.encode()))
    }

    /// The next message. Empty chunks between messages keep a connection alive and mean nothing.
    pub(super) fn receive(&mut self) -> Result<Message, Neo4jError> {
        let mut bytes = Vec::new();
        loop {
            let mut size = [0; 2];
            self.read(&mut size)?;
            let size = usize::from(u16::from_be_bytes(size));
            if size == 0 && bytes.is_empty() {
                continue;
            }
            if size == 0 {
                return Message::decode(&bytes);
            }
            let start = bytes.len();
            if start + size > MESSAGE_LIMIT_BYTES {
                return Err(Neo4jError::Malformed("a message is too long"));
            }
            bytes.resize(start + size, 0);
            self.read(bytes.get_mut(start..).unwrap_or_default())?;
        }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), Neo4jError> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(time_left(self.deadline)?)).map_err(Neo4jError::Broken)?;
            match self.stream.write(bytes) {
                Ok(0) => return Err(Neo4jError::Closed),
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(error) => go_on_after(error)?,
            }
        }
        Ok(())
    }

    /// Fills the buffer. The time left is asked for again before each piece, so that a server which
    /// sends a byte now and then cannot stretch it.
    pub(super) fn read(&mut self, mut buffer: &mut [u8]) -> Result<(), Neo4jError> {
        while !buffer.is_empty() {
            self.stream.set_read_timeout(Some(time_left(self.deadline)?)).map_err(Neo4jError::Broken)?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(Neo4jError::Closed),
                Ok(count) => buffer = buffer.get_mut(count..).unwrap_or_default(),
                Err(error) => go_on_after(error)?,
            }
        }
        Ok(())
    }
}

/// The time until the deadline; never zero, which would mean "for ever" to a socket.
pub(super) fn time_left(deadline: Instant) -> Result<std::time::Duration, Neo4jError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Neo4jError::TimedOut) } else { Ok(left) }
}

fn go_on_after(error: std::io::Error) -> Result<(), Neo4jError> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Err(Neo4jError::TimedOut),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => Err(Neo4jError::Closed),
        _ => Err(Neo4jError::Broken(error)),
    }
}

/// A message in chunks, with its end.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len() + 4);
    for chunk in message.chunks(CHUNK_BYTES) {
        let size = u16::try_from(chunk.len()).unwrap_or(u16::MAX);
        bytes.extend(size.to_be_bytes());
        bytes.extend(chunk);
    }
    bytes.extend([0, 0]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_chunks_with_an_end() {
        assert_eq!(framed(&[1, 2, 3]), [0, 3, 1, 2, 3, 0, 0]);
        let long = framed(&vec![7; CHUNK_BYTES + 1]);
        assert_eq!(long[..2], [0xFF, 0xFF]);
        assert_eq!(long[CHUNK_BYTES + 2..], [0, 1, 7, 0, 0]);
    }
}
