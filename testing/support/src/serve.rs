//! `dispatch serve` as a process that can be killed, and a plain HTTP client for it.

mod client;

pub use client::{Answer, Client};

use crate::TestContext;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

/// A running server. Dropping it kills it.
pub struct Served {
    child: Child,
    /// Asks it something, with its token.
    pub client: Client,
}

impl Served {
    /// Starts the server on a free port and waits until it listens. What it logs is appended to `serve.log`
    /// in the home.
    ///
    /// # Panics
    /// When it ends before it listens.
    #[must_use]
    pub fn start(context: &TestContext, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::try_start(context, arguments, variables).unwrap_or_else(|child| {
            let log = std::fs::read_to_string(context.home().join("serve.log")).unwrap_or_default();
            panic!("the server ended before it listened: {child:?}\n{log}")
        })
    }

    /// The same for a server that may be killed on the way; gives what became of it.
    ///
    /// # Errors
    /// The process, when it ended before it listened.
    ///
    /// # Panics
    /// When the executable is not there.
    pub fn try_start(context: &TestContext, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self, Child> {
        Self::over(Self::spawn(context, arguments, variables), &context.home())
    }

    /// Waits until a process that was started with its output piped listens.
    ///
    /// # Errors
    /// The process, when it ended before it listened.
    ///
    /// # Panics
    /// When its output is not piped, or there is no token in its home.
    pub fn over(mut child: Child, home: &Path) -> Result<Self, Child> {
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        let _ = output.read_line(&mut line);
        let Some(address) = line.trim().strip_prefix("listening on http://").and_then(|text| text.parse().ok()) else {
            let _ = child.wait();
            return Err(child);
        };
        // Its output is one line; what came after it would be lost otherwise.
        std::thread::spawn(move || output.read_to_end(&mut Vec::new()));
        let token = std::fs::read_to_string(home.join("token")).expect("the token of a server that listens");
        Ok(Self { child, client: Client::new(address, Some(token.trim().to_owned())) })
    }

    /// Starts the process without waiting for anything.
    ///
    /// # Panics
    /// When the executable is not there.
    #[must_use]
    pub fn spawn(context: &TestContext, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
        let log = File::options().create(true).append(true).open(context.home().join("serve.log")).expect("a log");
        let mut command = context.command("dispatch");
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).spawn().expect("the executable starts")
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`, then waits for the end.
    pub fn kill(&mut self) {
        // One that has ended already is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}
