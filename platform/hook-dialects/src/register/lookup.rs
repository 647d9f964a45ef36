//! What a host would run, as its file says it: for whoever has to try the registration out.

use serde_json::{Map, Value};

use super::command::{Shell, System};

/// How a host starts a registered command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// It hands this line to a shell.
    Line {
        /// The line.
        line: String,
        /// The shell.
        shell: Shell,
    },
    /// It runs the file itself.
    File {
        /// What runs the file.
        shell: Shell,
    },
    /// It starts the program without a shell.
    Words(Vec<String>),
}

/// One registered command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredCommand {
    /// The event as the host spells it.
    pub event: &'static str,
    /// How it is started.
    pub launch: Launch,
}

/// The line that a host takes from the object that holds its commands.
pub(super) fn line_for(host: &str, commands: &Map<String, Value>, system: System) -> Option<Launch> {
    let plain = match (system, host) {
        (System::Unix, _) | (System::Windows, "claude-code" | "crush") => Shell::Posix,
        (System::Windows, "gemini-cli") => Shell::PowerShell,
        (System::Windows, _) => Shell::Cmd,
    };
    let keys: &[(&str, Shell)] = match system {
        System::Unix => &[("bash", Shell::Posix)],
        System::Windows => {
            &[("commandWindows", Shell::Cmd), ("powershell", Shell::PowerShell), ("windows", Shell::PowerShell)]
        }
    };
    let own = keys.iter().find_map(|(key, shell)| Some((commands.get(*key)?.as_str()?, *shell)));
    let (line, shell) = own.or_else(|| Some((commands.get("command")?.as_str()?, plain)))?;
    Some(Launch::Line { line: line.to_owned(), shell })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_system_takes_its_own_key_before_the_common_one() {
        let check = |host, system, commands: Value, expected: Option<(&str, Shell)>| {
            let found = line_for(host, commands.as_object().expect("an object"), system);
            let expected = expected.map(|(line, shell)| Launch::Line { line: line.to_owned(), shell });
            assert_eq!(found, expected, "{host} {system:?}");
        };
        let both = json!({"command": "a", "powershell": "b"});
        check("windsurf", System::Unix, both.clone(), Some(("a", Shell::Posix)));
        check("windsurf", System::Windows, both, Some(("b", Shell::PowerShell)));
        check("codex", System::Windows, json!({"command": "a", "commandWindows": "c"}), Some(("c", Shell::Cmd)));
        check("claude-code", System::Windows, json!({"command": "a"}), Some(("a", Shell::Posix)));
        check("cursor", System::Windows, json!({"command": "a"}), Some(("a", Shell::Cmd)));
        check("cursor", System::Unix, json!({"command": 1}), None);
    }
}
