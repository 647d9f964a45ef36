//! Which hosts are used here: folders of the project, folders of the user, programs on the path.

/// What tells that a host is used.
struct HostSigns {
    host: &'static str,
    /// Below the project.
    project: &'static [&'static str],
    /// Below the user's home.
    home: &'static [&'static str],
    programs: &'static [&'static str],
}

const SIGNS: &[HostSigns] = &[
    HostSigns {
        host: "vscode-copilot",
        project: &[".github/hooks", ".github/hooks.json", ".github/copilot-instructions.md", ".vscode"],
        home: &[".vscode", ".vscode-server"],
        programs: &["code", "code-insiders"],
    },
    HostSigns {
        host: "claude-code",
        project: &[".claude", "CLAUDE.md", "CLAUDE.local.md"],
        home: &[".claude"],
        programs: &["claude"],
    },
    HostSigns { host: "copilot-cli", project: &[".github/copilot"], home: &[".copilot"], programs: &["copilot"] },
    HostSigns {
        host: "cursor",
        project: &[".cursor", ".cursorrules"],
        home: &[".cursor"],
        programs: &["cursor", "cursor-agent"],
    },
    HostSigns { host: "gemini-cli", project: &[".gemini", "GEMINI.md"], home: &[".gemini"], programs: &["gemini"] },
    HostSigns { host: "qwen-code", project: &[".qwen", "QWEN.md"], home: &[".qwen"], programs: &["qwen"] },
    HostSigns { host: "codex", project: &[".codex"], home: &[".codex"], programs: &["codex"] },
    HostSigns {
        host: "windsurf",
        project: &[".windsurf", ".windsurfrules"],
        home: &[".codeium/windsurf"],
        programs: &["windsurf"],
    },
    HostSigns { host: "devin", project: &[".devin"], home: &[".config/devin"], programs: &["devin"] },
    HostSigns { host: "cline", project: &[".clinerules"], home: &["Documents/Cline"], programs: &["cline"] },
    HostSigns { host: "kiro", project: &[".kiro"], home: &[".kiro"], programs: &["kiro", "kiro-cli"] },
    HostSigns { host: "factory-droid", project: &[".factory"], home: &[".factory"], programs: &["droid"] },
    HostSigns {
        host: "crush",
        project: &["crush.json", ".crush.json", ".crush"],
        home: &[".config/crush"],
        programs: &["crush"],
    },
    HostSigns {
        host: "goose",
        project: &[".goosehints", ".goose", ".agents/plugins"],
        home: &[".config/goose"],
        programs: &["goose"],
    },
    HostSigns {
        host: "opencode",
        project: &[".opencode", "opencode.json", "opencode.jsonc"],
        home: &[".config/opencode"],
        programs: &["opencode"],
    },
];

/// A place where signs are looked for.
pub(crate) trait HostSurroundings {
    /// Whether the project holds this path.
    fn in_project(&self, path: &str) -> bool;
    /// Whether the user's home holds this path.
    fn in_home(&self, path: &str) -> bool;
    /// Whether a program of this name can be started.
    fn on_path(&self, program: &str) -> bool;
}

/// A host that is used here, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DetectedHost {
    pub(super) host: &'static str,
    pub(super) because: String,
}

/// The hosts that are used here, in the order of the documentation.
pub(super) fn detect(around: &dyn HostSurroundings) -> Vec<DetectedHost> {
    SIGNS.iter().filter_map(|signs| Some(DetectedHost { host: signs.host, because: reason(signs, around)? })).collect()
}

fn reason(signs: &HostSigns, around: &dyn HostSurroundings) -> Option<String> {
    let project = signs.project.iter().find(|path| around.in_project(path)).map(|path| format!("{path} is here"));
    let program =
        || signs.programs.iter().find(|name| around.on_path(name)).map(|name| format!("`{name}` is installed"));
    let home = || signs.home.iter().find(|path| around.in_home(path)).map(|path| format!("~/{path} exists"));
    project.or_else(program).or_else(home)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_hook_dialects::dialect;

    struct FakeSurroundings(&'static [&'static str], &'static [&'static str], &'static [&'static str]);

    impl HostSurroundings for FakeSurroundings {
        fn in_project(&self, path: &str) -> bool {
            self.0.contains(&path)
        }
        fn in_home(&self, path: &str) -> bool {
            self.1.contains(&path)
        }
        fn on_path(&self, program: &str) -> bool {
            self.2.contains(&program)
        }
    }

    #[test]
    fn a_folder_a_program_or_a_home_folder_gives_a_host_away() {
        let check = |around: FakeSurroundings, expected: &[(&str, &str)]| {
            let found = detect(&around);
            let found: Vec<_> = found.iter().map(|one| (one.host, one.because.as_str())).collect();
            assert_eq!(found, expected);
        };
        check(FakeSurroundings(&[], &[], &[]), &[]);
        check(FakeSurroundings(&[".claude"], &[".claude"], &["claude"]), &[("claude-code", ".claude is here")]);
        check(
            FakeSurroundings(&[], &[".codeium/windsurf"], &["droid"]),
            &[("windsurf", "~/.codeium/windsurf exists"), ("factory-droid", "`droid` is installed")],
        );
        check(FakeSurroundings(&[".github"], &[], &["git"]), &[]);
    }

    #[test]
    fn every_host_that_can_be_registered_has_signs() {
        let hosts: Vec<&str> = dialect::ALL.iter().map(|dialect| dialect.id()).filter(|id| *id != "native").collect();
        assert_eq!(SIGNS.iter().map(|signs| signs.host).collect::<Vec<_>>(), hosts);
    }
}
