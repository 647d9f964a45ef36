//! The command line a host is given, quoted for the shell that host will hand it to.

use super::missing_program::MissingReply;

/// The operating system the registration is written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// Linux, macOS and their kin.
    Unix,
    /// Windows.
    Windows,
}

impl System {
    /// The system this program was built for.
    #[must_use]
    pub fn current() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Unix }
    }
}

/// A shell's quoting rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    /// `sh` and its kin, Git Bash included.
    Posix,
    /// PowerShell, which needs `&` before a quoted program.
    PowerShell,
    /// `cmd.exe`.
    Cmd,
}

/// How a host finds the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgramLookup {
    /// In this place, which must exist.
    Place,
    /// By its name on `PATH`. Where it is not installed the host goes on, and is told so when a session begins.
    Path,
}

/// How Dispatch is started: the words before the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    system: System,
    lookup: ProgramLookup,
}

impl CommandLine {
    /// `words` is the program and what precedes the event: `["dispatch", "hook"]`, or the absolute
    /// path of `dispatch-hook` alone.
    #[must_use]
    pub fn new(words: impl IntoIterator<Item = impl Into<String>>, system: System) -> Self {
        let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
        // Every Windows shell takes forward slashes; only some take backslashes.
        if let (System::Windows, Some(program)) = (system, words.first_mut()) {
            *program = program.replace('\\', "/");
        }
        Self { words, system, lookup: ProgramLookup::Place }
    }

    /// The program of this name, wherever `PATH` has it; for files that go to other machines.
    #[must_use]
    pub fn on_path(program: &str, system: System) -> Self {
        Self { words: vec![program.to_owned()], system, lookup: ProgramLookup::Path }
    }

    /// The system it is written for.
    #[must_use]
    pub fn system(&self) -> System {
        self.system
    }

    /// The words before the event.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The whole line: `dispatch hook EVENT --host NAME`.
    #[must_use]
    pub fn line(&self, event: &str, host: &str, shell: Shell) -> String {
        let words: Vec<&str> = self.words.iter().map(String::as_str).chain([event, "--host", host]).collect();
        let quoted: Vec<String> = words.iter().map(|word| quote(word, shell)).collect();
        let call = match (shell, words.first()) {
            (Shell::PowerShell, Some(program)) if !is_plain(program) => "& ",
            _ => "",
        };
        let line = format!("{call}{}", quoted.join(" "));
        match self.lookup {
            ProgramLookup::Place => line,
            ProgramLookup::Path => self.where_installed(&line, event, host, shell),
        }
    }

    /// The line, or the host's "go on" where the program is not installed. It ends as it would without that.
    fn where_installed(&self, line: &str, event: &str, host: &str, shell: Shell) -> String {
        let program = self.words.first().map(String::as_str).unwrap_or_default();
        let missing = MissingReply::of(event, host);
        match shell {
            Shell::Posix => {
                let reply = missing.posix(|text| quote(text, shell));
                format!("command -v {program} >/dev/null 2>&1 || {{ {reply}exit 0; }}; exec {line}")
            }
            Shell::PowerShell => {
                let reply = quote(missing.each_time(), shell);
                format!("if (-not (Get-Command {program} -ErrorAction SilentlyContinue)) {{ {reply}; exit 0 }}; {line}")
            }
            Shell::Cmd => {
                let reply = missing.each_time();
                let reply = if reply.contains('"') { "{}" } else { reply };
                format!("where /q {program} & if errorlevel 1 (echo {reply}) else ({line})")
            }
        }
    }
}

fn is_plain(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=+,-".contains(&byte);
    !word.is_empty() && word.bytes().all(plain)
}

fn quote(word: &str, shell: Shell) -> String {
    if is_plain(word) {
        return word.to_owned();
    }
    match shell {
        Shell::Posix => format!("'{}'", word.replace('\'', r"'\''")),
        Shell::PowerShell => format!("'{}'", word.replace('\'', "''")),
        Shell::Cmd => format!("\"{}\"", word.replace('"', "")),
    }
}

/// The names our program goes by.
const PROGRAMS: [&str; 2] = ["dispatch", "dispatch-hook"];

/// Whether a command line in a host's file is one of ours, for one of `hosts`.
pub(super) fn is_ours(line: &str, hosts: &[&str]) -> bool {
    let Some((head, tail)) = line.rsplit_once("--host") else {
        return false;
    };
    let unquoted = |word: &str| word.trim().trim_matches(['"', '\'', '(', ')']).to_ascii_lowercase();
    let host = crate::dialect::by_name(&unquoted(tail)).map(crate::dialect::Dialect::id);
    let is_program = |word: &str| {
        let word = unquoted(word);
        let file = word.rsplit(['/', '\\']).next().unwrap_or_default();
        PROGRAMS.contains(&file.trim_end_matches(".exe"))
    };
    host.is_some_and(|host| hosts.contains(&host)) && head.split_whitespace().any(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_quoted_for_their_shell() {
        let check = |program: &str, system, shell, expected: &str| {
            let command = CommandLine::new([program], system);
            let line = command.line("Stop", "codex", shell);
            assert_eq!(line, format!("{expected} Stop --host codex"));
        };
        check("dispatch-hook", System::Unix, Shell::Posix, "dispatch-hook");
        check("dispatch-hook", System::Windows, Shell::PowerShell, "dispatch-hook");
        check("/opt/my tools/d'x", System::Unix, Shell::Posix, r"'/opt/my tools/d'\''x'");
        check(
            r"C:\Program Files\dispatch.exe",
            System::Windows,
            Shell::PowerShell,
            "& 'C:/Program Files/dispatch.exe'",
        );
        check(r"C:\Program Files\dispatch.exe", System::Windows, Shell::Cmd, "\"C:/Program Files/dispatch.exe\"");
        check("$(rm -rf ~)", System::Unix, Shell::Posix, "'$(rm -rf ~)'");
    }

    #[test]
    fn only_our_own_lines_are_recognised() {
        let hosts = ["codex"];
        assert!(is_ours("dispatch hook Stop --host codex", &hosts));
        assert!(is_ours("& 'C:/x y/dispatch-hook.exe' Stop --host \"codex\"", &hosts));
        for shell in [Shell::Posix, Shell::PowerShell, Shell::Cmd] {
            let line = CommandLine::on_path("dispatch-hook", System::Unix).line("Stop", "codex", shell);
            assert!(is_ours(&line, &hosts), "{line}");
        }
        assert!(!is_ours("dispatch hook Stop --host cursor", &hosts));
        assert!(!is_ours("dispatch hook Stop", &hosts));
        assert!(!is_ours("other-tool --host codex", &hosts));
        assert!(!is_ours("node /opt/dispatch/other.js Stop --host codex", &hosts));
    }
}
