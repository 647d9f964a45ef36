//! The command line a host is given, quoted for the shell that host will hand it to.

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

/// How Dispatch is started: the words before the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
    system: System,
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
        Self { words, system }
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
        format!("{call}{}", quoted.join(" "))
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
    let unquoted = |word: &str| word.trim().trim_matches(['"', '\'']).to_ascii_lowercase();
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
        assert!(!is_ours("dispatch hook Stop --host cursor", &hosts));
        assert!(!is_ours("dispatch hook Stop", &hosts));
        assert!(!is_ours("other-tool --host codex", &hosts));
        assert!(!is_ours("node /opt/dispatch/other.js Stop --host codex", &hosts));
    }
}
