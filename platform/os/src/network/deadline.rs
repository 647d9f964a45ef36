//! TCP connections and name lookups that end at a deadline, however slowly the other side answers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::Deadline;

/// A connection whose reads and writes fail with `TimedOut` at its deadline.
#[derive(Debug)]
pub struct DeadlineStream {
    stream: TcpStream,
    deadline: Deadline,
}

impl DeadlineStream {
    /// Tries each address in turn; each gets its share of the time that is left.
    ///
    /// # Errors
    /// What the last address failed with; `TimedOut` at the deadline.
    pub fn connect(addresses: &[SocketAddr], deadline: Deadline) -> io::Result<Self> {
        let mut failure = io::Error::from(ErrorKind::AddrNotAvailable);
        for (index, address) in addresses.iter().enumerate() {
            let tries_left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
            match super::connect(address, time_left(deadline)? / tries_left) {
                Ok(stream) => {
                    // Without it a small message can wait for the answer to the one before; refusing it costs only time.
                    let _ = stream.set_nodelay(true);
                    return Ok(Self { stream, deadline });
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Set again before each read, so that a peer which sends a byte now and then cannot stretch the time.
        self.stream.set_read_timeout(Some(time_left(self.deadline)?))?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(time_left(self.deadline)?))?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Looks up at most `limit` addresses of a host name.
///
/// The system may take as long as it likes, so a thread does it; the thread is left behind at the deadline.
///
/// # Errors
/// `TimedOut` at the deadline, `NotFound` for a name without addresses, `Unsupported` in a program that is
/// linked statically against the GNU C library (which would have to load parts of itself), and what the
/// system says.
#[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
pub fn look_up(name: &str, limit: usize, deadline: Deadline) -> io::Result<Vec<IpAddr>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let name = name.to_owned();
    crate::threads::spawn("name lookup", move || {
        let found = super::resolve(&name, 0);
        // The receiver is gone if the deadline has passed.
        let _ = sender.send(found.map(|found| found.map(|address| address.ip()).take(limit).collect::<Vec<_>>()));
    })?;
    let found = receiver.recv_timeout(time_left(deadline)?).map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
    if found.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(found) }
}

/// See the other build of this function.
///
/// # Errors
/// `Unsupported`.
#[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
pub fn look_up(_name: &str, _limit: usize, _deadline: Deadline) -> io::Result<Vec<IpAddr>> {
    Err(ErrorKind::Unsupported.into())
}

/// The time until the deadline; an error instead of zero, which would mean "for ever" to a socket.
fn time_left(deadline: Deadline) -> io::Result<Duration> {
    let left = deadline.remaining();
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A socket whose timeout passed says `WouldBlock` on some systems.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn bytes_go_both_ways() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let echo = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 3];
            stream.read_exact(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
        });
        let mut stream = DeadlineStream::connect(&[address], Deadline::after(LONG)).unwrap();
        stream.write_all(b"abc").unwrap();
        let mut bytes = [0; 3];
        stream.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"abc");
        assert_eq!(stream.read_exact(&mut bytes).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        echo.join().unwrap();
    }

    #[test]
    fn a_closed_port_is_passed_over() {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        assert!(DeadlineStream::connect(&[closed, open], Deadline::after(LONG)).is_ok());
        let refused = DeadlineStream::connect(&[closed], Deadline::after(LONG)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert!(DeadlineStream::connect(&[], Deadline::after(LONG)).is_err());
    }

    #[test]
    fn a_peer_that_sends_a_byte_now_and_then_does_not_stretch_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let before = Instant::now();
        let mut stream = DeadlineStream::connect(&[address], Deadline::after(SHORT)).unwrap();
        assert_eq!(stream.read_exact(&mut [0; 100_000]).unwrap_err().kind(), ErrorKind::TimedOut);
        // The deadline is the feature; the margin is for a machine that does other things too.
        assert!(before.elapsed() >= SHORT && before.elapsed() < LONG);
    }

    #[cfg(not(all(target_env = "gnu", target_feature = "crt-static")))]
    #[test]
    fn a_name_has_addresses_and_one_that_cannot_exist_has_an_error() {
        let found = look_up("localhost", 4, Deadline::after(LONG)).unwrap();
        assert!(found.len() <= 4 && found.iter().all(IpAddr::is_loopback), "{found:?}");
        assert!(look_up("a\0b", 4, Deadline::after(LONG)).is_err());
    }
}
