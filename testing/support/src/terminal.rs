//! A program in a pseudo-terminal, and functions that read its screen and type.

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a program may take to show what a test waits for; a loaded machine is slow.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that runs in a pseudo-terminal.
pub struct Terminal {
    child: Child,
    typing: File,
    screen: Arc<Screen>,
    /// How much of the screen was waited for already.
    seen: usize,
}

#[derive(Default)]
struct Screen {
    shown: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
}

impl Terminal {
    /// Starts the command with the terminal as its controlling one.
    ///
    /// # Panics
    /// When no terminal is free, or the program does not start.
    #[must_use]
    #[allow(unsafe_code, reason = "a controlling terminal can only be taken between fork and exec")]
    pub fn start(mut command: Command) -> Self {
        let side = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        // A program that held this side too would never notice that its terminal is gone.
        fcntl_setfd(&side, FdFlags::CLOEXEC).expect("a side of our own");
        grantpt(&side).and_then(|()| unlockpt(&side)).expect("an open pseudo-terminal");
        let name = ptsname(&side, Vec::new()).expect("its name").into_string().expect("a name in UTF-8");
        let open = || File::options().read(true).write(true).open(&name).expect("the other side");
        command.env("TERM", "xterm").stdin(Stdio::from(open())).stdout(Stdio::from(open())).stderr(Stdio::from(open()));
        // SAFETY: both are plain system calls, which may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        let child = command.spawn().expect("the executable starts");
        // The command holds the other side open; without it the end of the program is seen.
        drop(command);
        let typing = File::from(side);
        let screen = Arc::new(Screen::default());
        let (reading, filling) = (typing.try_clone().expect("the same side"), Arc::clone(&screen));
        std::thread::spawn(move || filling.fill(reading));
        Self { child, typing, screen, seen: 0 }
    }

    /// Waits until the text stands on the screen, behind what was waited for before; gives what came up to its end.
    ///
    /// # Panics
    /// When it does not come.
    pub fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut shown = self.screen.shown.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let news = &shown.0[self.seen..];
            if let Some(at) = news.windows(text.len()).position(|part| part == text.as_bytes()) {
                let news = String::from_utf8_lossy(&news[..at + text.len()]).into_owned();
                self.seen += at + text.len();
                return news;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!shown.1 && !left.is_zero(), "{text:?} did not come:\n{}", String::from_utf8_lossy(&shown.0));
            shown = self.screen.changed.wait_timeout(shown, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Types; `\r` is the enter key, `\u{3}` ctrl-C, `\u{4}` ctrl-D.
    ///
    /// # Panics
    /// When the terminal is gone.
    pub fn press(&mut self, keys: &str) {
        self.typing.write_all(keys.as_bytes()).expect("the terminal");
    }

    /// Waits for the program's end; its exit status and everything that stood on the screen.
    ///
    /// # Panics
    /// When it does not end.
    #[must_use]
    pub fn finish(mut self) -> (i32, String) {
        let deadline = Instant::now() + PATIENCE;
        let mut shown = self.screen.shown.lock().unwrap_or_else(PoisonError::into_inner);
        while !shown.1 && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            shown = self.screen.changed.wait_timeout(shown, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let text = String::from_utf8_lossy(&shown.0).into_owned();
        assert!(shown.1, "the program did not end:\n{text}");
        let status = self.child.wait().expect("the program's end");
        (status.code().unwrap_or(-1), text)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Of a program that has ended there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Screen {
    fn fill(&self, mut from: File) {
        let mut buffer = [0; 4096];
        loop {
            // The system reports an error when the last program has left the terminal.
            let count = from.read(&mut buffer).unwrap_or(0);
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.0.extend_from_slice(&buffer[..count]);
            shown.1 |= count == 0;
            self.changed.notify_all();
            if count == 0 {
                return;
            }
        }
    }
}
