//! Command lines through the real decision: all native guards, in a project in which Dispatch is registered.

use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::testing::StillClock;
use dispatch_hook_module::{Clock, Decision, Effects, EventName, HookEvent};
use ext_hook_pipeline::contract::{Invocation, RuleTrust, Unwatched, judge, native_modules};
use serde_json::json;
use tempfile::TempDir;

/// Stands for a line's end inside a command of a data file.
const LINE_END: char = '⏎';
/// Enough for the slowest machine: time is not what is tried here.
const BUDGET_MS: u64 = 600_000;

/// Which modules of the manifest judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModuleSet {
    /// Those that `dispatch init` enables.
    Default,
    /// Those of `dispatch init --full`.
    Full,
}

/// A project with rules and a registration, and the home folder around it.
pub(crate) struct GuardedProject {
    folder: TempDir,
    manifest: Vec<u8>,
}

impl GuardedProject {
    pub(crate) fn new(set: ModuleSet) -> std::io::Result<Self> {
        // Not below the folder for temporary files, where much more may be removed than in a home.
        let folder = match option_env!("CARGO_TARGET_TMPDIR") {
            Some(place) => tempfile::tempdir_in(place)?,
            None => tempfile::tempdir()?,
        };
        let budgets = json!({ "PreToolUse": BUDGET_MS });
        let manifest = match set {
            ModuleSet::Default => json!({ "budgets": budgets }),
            ModuleSet::Full => {
                let names: Vec<String> = native_modules().iter().map(|module| module.spec().name.to_owned()).collect();
                json!({ "budgets": budgets, "modules": names })
            }
        };
        let project = Self { folder, manifest: manifest.to_string().into_bytes() };
        let registration = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"dispatch-hook"}]}]}}"#;
        for (path, content) in [
            (".ai/hooks/dispatch.manifest.json", manifest.to_string().as_str()),
            (".ai/hooks/config.json", "{}"),
            (".claude/settings.json", registration),
            (".codex/hooks.json", registration),
            (".gemini/settings.json", registration),
            (".qwen/settings.json", registration),
            (".cursor/hooks.json", registration),
            (".factory/hooks.json", registration),
            (".github/hooks/dispatch.json", registration),
            (".windsurf/hooks.json", registration),
            (".kiro/hooks/dispatch.json", registration),
            (".devin/hooks.v1.json", registration),
            (".agents/plugins/dispatch/hooks/hooks.json", registration),
            (".agents/plugins/dispatch/plugin.json", registration),
            ("crush.json", registration),
            (".opencode/plugins/dispatch.js", "dispatch-hook"),
            (".clinerules/hooks/PreToolUse", "dispatch-hook"),
            ("package.json", "{}"),
            // What a patch and an archive hold that came from elsewhere; names stand in both as they are.
            ("x.patch", "--- a/.ai/hooks/config.json\n+++ b/.ai/hooks/config.json\n"),
            ("x.mbox", "--- a/.ai/hooks/config.json\n+++ b/.ai/hooks/config.json\n"),
            ("x.tar", ".ai/hooks/config.json\0"),
            ("x.zip", "PK.ai/hooks/config.json"),
            ("src/main.rs", ""),
        ] {
            let path = project.root().join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, content)?;
        }
        Ok(project)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home/dev")
    }

    fn root(&self) -> PathBuf {
        self.home().join("repo")
    }

    /// The decision about a line, and the code of the rule that decided.
    pub(crate) fn judge(&self, line: &str) -> (Decision, String) {
        let root = self.root();
        let home = self.home();
        let mut event = HookEvent::new(EventName::PreToolUse, "claude-code", "PreToolUse".to_owned(), json!({}));
        event.session_id = Some("corpus".to_owned());
        event.cwd = Some(root.to_string_lossy().into_owned());
        event.tool_name = Some("Bash".to_owned());
        event.tool_input = json!({ "command": line.replace(LINE_END, "\n") });
        let clock = StillClock::default();
        let outcome = judge(&self.invocation(&root, &home, &clock), &event, None);
        let report = outcome.report.unwrap_or_else(|| panic!("no report for {line}"));
        (report.decision, report.code.unwrap_or_default())
    }

    fn invocation<'a>(&'a self, root: &'a Path, home: &'a Path, clock: &'a dyn Clock) -> Invocation<'a> {
        static HINTS: std::sync::LazyLock<Hints> = std::sync::LazyLock::new(Hints::default);
        Invocation {
            host: Some("claude-code"),
            event: Some("PreToolUse"),
            stdin: &[],
            hints: &HINTS,
            home: home.to_str(),
            user: None,
            trust: RuleTrust::Everything,
            root: Some(root),
            manifest: Some(&self.manifest),
            config: None,
            modules: MODULES.with(|modules| *modules),
            scripts: None,
            clock,
            watch: &Unwatched,
            effects: Effects::DryRun,
        }
    }
}

thread_local! {
    static MODULES: &'static [&'static dyn dispatch_hook_module::Module] = native_modules().leak();
}

/// The lines of a data file with the kind that the last heading names; `#` opens a heading.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .filter(|line| !line.is_empty())
        .scan("", |kind, line| {
            Some(match line.strip_prefix("# ") {
                Some(name) => {
                    *kind = name;
                    None
                }
                None => Some((*kind, line)),
            })
        })
        .flatten()
}
