//! Which programs this process was started by, as far as the system tells.

use std::path::{Path, PathBuf};

use crate::files;

/// The most ancestors that are looked at.
const MAX_ANCESTORS: usize = 64;
/// The longest command line that is read.
const COMMAND_LINE_LIMIT_BYTES: u64 = 64 * 1024;

/// One process above this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// Its id.
    pub pid: u32,
    /// Its command line; the first word is the program.
    pub arguments: Vec<String>,
}

impl Ancestor {
    /// Whether its program, or the script that its program runs, goes by this name.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.arguments.iter().take(2).any(|word| {
            let file = word.rsplit(['/', '\\']).next().unwrap_or(word);
            let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
            file == name || stem == name
        })
    }

    /// Whether it was started with this variable set to something, as far as the system tells.
    #[must_use]
    pub fn has_variable(&self, name: &str) -> bool {
        let start = format!("{name}=");
        null_separated(&format!("/proc/{}/environ", self.pid))
            .iter()
            .any(|entry| entry.strip_prefix(start.as_str()).is_some_and(|value| !value.is_empty()))
    }

    /// The terminal that it reads from, if it reads from one.
    #[must_use]
    pub fn terminal(&self) -> Option<PathBuf> {
        let input = files::read_link(format!("/proc/{}/fd/0", self.pid)).ok()?;
        let is_terminal = ["/dev/pts/", "/dev/tty", "/dev/console"].iter().any(|start| path_starts(&input, start));
        is_terminal.then_some(input)
    }
}

/// The processes above this one, nearest first. Empty where the system does not tell.
#[must_use]
pub fn ancestors() -> Vec<Ancestor> {
    let mut found = Vec::new();
    let mut pid = parent_of("self");
    while let Some(now) = pid.filter(|pid| *pid > 0 && found.len() < MAX_ANCESTORS) {
        found.push(Ancestor { pid: now, arguments: command_line(now) });
        pid = parent_of(&now.to_string());
    }
    found
}

/// Whether the nearest ancestor of this name has a person at its terminal: it reads from one, and its command line has
/// none of the words that make it work without one.
#[must_use]
pub fn is_at_terminal(program: &str, headless: &[&str]) -> bool {
    let Some(host) = ancestors().into_iter().find(|ancestor| ancestor.is_named(program)) else {
        return false;
    };
    let says = |word: &String| {
        headless.iter().any(|flag| word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
    };
    !host.arguments.iter().any(says) && host.terminal().is_some()
}

fn path_starts(path: &Path, start: &str) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(start))
}

/// The parent of a process, from the fourth field of its `stat`; the second field may contain anything in parentheses.
fn parent_of(process: &str) -> Option<u32> {
    let stat = files::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

fn command_line(pid: u32) -> Vec<String> {
    null_separated(&format!("/proc/{pid}/cmdline"))
}

/// The texts of a file of the system that ends each with a zero byte.
fn null_separated(path: &str) -> Vec<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    if let Ok(file) = files::open(path) {
        // What cannot be read is as good as empty.
        let _ = file.take(COMMAND_LINE_LIMIT_BYTES).read_to_end(&mut bytes);
    }
    bytes
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_or_the_script_it_runs_gives_the_name() {
        let ancestor =
            |words: &[&str]| Ancestor { pid: 1, arguments: words.iter().map(|word| (*word).to_owned()).collect() };
        for words in [&["/usr/bin/gemini", "-p"][..], &["node", "/opt/bin/gemini"], &["node", "/opt/gemini.js"]] {
            assert!(ancestor(words).is_named("gemini"), "{words:?}");
        }
        for words in [&["vim", "notes", "gemini"][..], &["gemini-like"], &[]] {
            assert!(!ancestor(words).is_named("gemini"), "{words:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_test_runner_is_above_this_process() {
        let found = ancestors();
        assert_eq!(found.first().map(|parent| parent.pid), Some(std::os::unix::process::parent_id()));
        assert!(found.first().is_some_and(|parent| !parent.arguments.is_empty()));
    }
}
