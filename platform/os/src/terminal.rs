//! What a person types: a secret that is not shown, and what was typed too early.

use std::io::{self, BufRead, IsTerminal, Write};

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

/// Forgets what was typed before anybody asked, so that it answers no question by accident.
pub fn discard_typed() {
    #[cfg(unix)]
    // What cannot be flushed is no terminal, and then nobody typed.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
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
