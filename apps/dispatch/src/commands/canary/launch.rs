//! Starts a registered command the way its host would.

use super::probe::Probe;
use dispatch_hook_dialects::register::{Launch, Shell};
use dispatch_os::process::{ChildEnd, ChildSpec};
use std::path::Path;
use std::time::Duration;

/// What hosts set for their hooks: a text, or the project's folder.
const HOST_VARIABLES: [(&str, &str, Option<&str>); 10] = [
    ("claude-code", "CLAUDE_PROJECT_DIR", None),
    ("copilot-cli", "COPILOT_CLI", Some("1")),
    ("cursor", "CURSOR_PROJECT_DIR", None),
    ("cursor", "CURSOR_VERSION", Some("0.0.0")),
    ("gemini-cli", "GEMINI_PROJECT_DIR", None),
    ("gemini-cli", "GEMINI_SESSION_ID", Some("canary")),
    ("devin", "DEVIN_PROJECT_DIR", None),
    ("factory-droid", "FACTORY_PROJECT_DIR", None),
    ("crush", "CRUSH", Some("1")),
    ("crush", "CRUSH_PROJECT_DIR", None),
];

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandAnswer {
    /// The command ended by itself.
    Ended { code: i32, stdout: String, stderr: String },
    /// It did not; says why.
    Never(String),
}

/// Runs the command in the project, with the probe on standard input.
pub(super) fn run(launch: &Launch, file: &Path, probe: &Probe, root: &Path, timeout: Duration) -> CommandAnswer {
    let Some(child) = child(launch, file) else {
        return CommandAnswer::Never("the registration names no program".to_owned());
    };
    let mut child = child.working_folder(root).stdin(probe.payload.clone()).timeout(timeout);
    for name in ["DISPATCH_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        child = child.pass_variable(name);
    }
    for (_, name, value) in HOST_VARIABLES.iter().filter(|(host, ..)| *host == probe.dialect.id()) {
        child = match value {
            Some(text) => child.variable(*name, *text),
            None => child.variable(*name, root),
        };
    }
    let outcome = child.run();
    match outcome.end {
        ChildEnd::Exited { code } => {
            let (stdout, stderr) = (outcome.stdout.text(), outcome.stderr.text());
            CommandAnswer::Ended { code, stdout, stderr }
        }
        ChildEnd::TimedOut => CommandAnswer::Never(format!("no answer within {} seconds", timeout.as_secs())),
        end => CommandAnswer::Never(end.to_string()),
    }
}

/// The program that a line looks for on `PATH` before it starts it.
pub(super) fn looked_up(launch: &Launch) -> Option<&str> {
    match launch {
        Launch::Line { line, .. } => line.strip_prefix("command -v ")?.split_whitespace().next(),
        Launch::Words(words) => words.first().map(String::as_str),
        Launch::File { .. } => None,
    }
}

fn child(launch: &Launch, file: &Path) -> Option<ChildSpec> {
    Some(match launch {
        Launch::Line { line, shell } => match shell {
            Shell::Posix => ChildSpec::new("sh").args(["-c", line]),
            Shell::PowerShell => ChildSpec::new("powershell").args(["-NoProfile", "-Command", line]),
            Shell::Cmd => ChildSpec::new("cmd").args(["/C", line]),
        },
        Launch::File { shell: Shell::PowerShell } => {
            ChildSpec::new("powershell").args(["-NoProfile", "-File"]).arg(file)
        }
        Launch::File { .. } => ChildSpec::new(file),
        Launch::Words(words) => {
            let (program, arguments) = words.split_first()?;
            ChildSpec::new(program).args(arguments)
        }
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn line(line: &str) -> Launch {
        Launch::Line { line: line.to_owned(), shell: Shell::Posix }
    }

    #[test]
    fn a_line_goes_through_a_shell_with_the_payload_on_its_input() {
        let folder = tempfile::tempdir().unwrap();
        let probe = Probe::of("copilot-cli", folder.path()).unwrap();
        let run = |launch| run(&launch, &folder.path().join("hook"), &probe, folder.path(), Duration::from_secs(60));
        let expected = String::from_utf8(probe.payload.clone()).unwrap();
        let ended = |code, stdout: &str, stderr: &str| CommandAnswer::Ended {
            code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        assert_eq!(run(line("cat; echo why >&2; exit 2")), ended(2, &expected, "why\n"));
        assert_eq!(run(line("printf %s \"$COPILOT_CLI\"")), ended(0, "1", ""));
        assert_eq!(
            run(Launch::Words(vec!["printf".to_owned(), "%s".to_owned(), "a b".to_owned()])),
            ended(0, "a b", "")
        );
        assert!(matches!(run(Launch::Words(Vec::new())), CommandAnswer::Never(_)));
        assert!(
            matches!(run(Launch::File { shell: Shell::Posix }), CommandAnswer::Never(why) if why.contains("no such program"))
        );
        std::fs::write(folder.path().join("hook"), "#!/bin/sh\nprintf script\n").unwrap();
        std::fs::set_permissions(folder.path().join("hook"), PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(run(Launch::File { shell: Shell::Posix }), ended(0, "script", ""));
    }

    #[test]
    fn a_command_that_never_ends_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let probe = Probe::of("codex", folder.path()).unwrap();
        let answered = run(&line("sleep 600"), folder.path(), &probe, folder.path(), Duration::from_secs(1));
        assert_eq!(answered, CommandAnswer::Never("no answer within 1 seconds".to_owned()));
    }
}
