//! What a person types: a secret that is not shown, and what was typed too early.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crate::OsError;

/// Whether a person sits at standard input.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal()
}

/// Prints a question on standard error and reads one line from the terminal without echo; `None` at
/// the end of input. Where echo cannot be switched off nothing is read.
pub fn ask_secret(question: &str) -> Result<Option<String>, OsError> {
    let failed = |source| OsError::io("read from", "the terminal".as_ref(), source);
    let _quiet = EchoOff::start().map_err(failed)?;
    let mut stderr = io::stderr();
    write!(stderr, "{question}").and_then(|()| stderr.flush()).map_err(failed)?;
    let mut line = String::new();
    let count = io::stdin().lock().read_line(&mut line).map_err(failed)?;
    // The line feed that the person typed was not shown either.
    let _ = writeln!(stderr);
    Ok((count > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Shows a question at the controlling terminal and reads one line from there, whatever standard input is;
/// `None` where there is no such terminal. What was typed before the question is forgotten.
pub fn ask_word(question: &str) -> Result<Option<String>, OsError> {
    let failed = |source| OsError::io("read from", "the terminal".as_ref(), source);
    let (Ok(mut shown), Ok(typed)) = (open_terminal(TERMINAL_OUTPUT), open_terminal(TERMINAL_INPUT)) else {
        return Ok(None);
    };
    #[cfg(unix)]
    // What cannot be flushed was not typed.
    let _ = rustix::termios::tcflush(&typed, rustix::termios::QueueSelector::IFlush);
    write!(shown, "{question}").and_then(|()| shown.flush()).map_err(failed)?;
    let mut line = String::new();
    io::BufReader::new(typed.take(MAX_WORD_BYTES)).read_line(&mut line).map_err(failed)?;
    Ok(Some(line.trim().to_owned()))
}

/// The longest line that is read as an answer.
const MAX_WORD_BYTES: u64 = 4096;
#[cfg(unix)]
const TERMINAL_INPUT: &str = "/dev/tty";
#[cfg(unix)]
const TERMINAL_OUTPUT: &str = "/dev/tty";
#[cfg(not(unix))]
const TERMINAL_INPUT: &str = "CONIN$";
#[cfg(not(unix))]
const TERMINAL_OUTPUT: &str = "CONOUT$";

fn open_terminal(name: &str) -> io::Result<std::fs::File> {
    std::fs::File::options().read(true).write(true).open(name)
}

/// The most that is taken of what was typed early.
#[cfg(unix)]
const MAX_TYPED_BYTES: usize = 64 * 1024;

/// The whole lines that were typed before anybody asked; a line that is not ended yet stays where it is. Does not wait.
#[must_use]
pub fn take_typed_lines() -> Vec<String> {
    #[cfg(unix)]
    if is_interactive() {
        let mut typed = Vec::new();
        let mut part = [0; 4096];
        // A terminal that reads by lines counts whole lines alone.
        while typed.len() < MAX_TYPED_BYTES && rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|count| count > 0) {
            match rustix::io::read(io::stdin(), &mut part) {
                Ok(count @ 1..) => typed.extend_from_slice(part.get(..count).unwrap_or_default()),
                _ => break,
            }
        }
        return String::from_utf8_lossy(&typed).lines().map(str::to_owned).collect();
    }
    Vec::new()
}

/// Echo is off while this lives.
struct EchoOff {
    #[cfg(unix)]
    before: rustix::termios::Termios,
}

#[cfg(unix)]
impl EchoOff {
    fn start() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self { before })
    }
}

#[cfg(unix)]
impl Drop for EchoOff {
    fn drop(&mut self) {
        // A terminal that has gone away needs no echo.
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &self.before);
    }
}

#[cfg(not(unix))]
impl EchoOff {
    fn start() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "echo cannot be switched off here; pass the secret through a pipe",
        ))
    }
}
