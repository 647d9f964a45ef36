//! Sends command lines through a guard's hook, as Claude Code does, and reads what it says.

use super::install::{Rival, RivalHook};
use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Stands for a line's end inside a command of a list.
const LINE_END: char = '⏎';
/// Hooks that run at once.
const WORKERS: usize = 2;
const REGISTRATION: &str = r#"{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"dispatch-hook"}]}]}}"#;
/// The project that every guard finds, in a home of its own: that of the tests of our lists.
const PROJECT: &[(&str, &str)] = &[
    (".ai/hooks/dispatch.manifest.json", "{}"),
    (".ai/hooks/config.json", "{}"),
    (".claude/settings.json", REGISTRATION),
    (".codex/hooks.json", REGISTRATION),
    (".gemini/settings.json", REGISTRATION),
    (".qwen/settings.json", REGISTRATION),
    (".cursor/hooks.json", REGISTRATION),
    (".factory/hooks.json", REGISTRATION),
    (".github/hooks/dispatch.json", REGISTRATION),
    (".windsurf/hooks.json", REGISTRATION),
    (".kiro/hooks/dispatch.json", REGISTRATION),
    (".devin/hooks.v1.json", REGISTRATION),
    (".agents/plugins/dispatch/hooks/hooks.json", REGISTRATION),
    (".agents/plugins/dispatch/plugin.json", REGISTRATION),
    ("crush.json", REGISTRATION),
    (".opencode/plugins/dispatch.js", "dispatch-hook"),
    (".clinerules/hooks/PreToolUse", "dispatch-hook"),
    ("package.json", "{}"),
    ("x.patch", "--- a/.ai/hooks/config.json\n+++ b/.ai/hooks/config.json\n"),
    ("x.mbox", "--- a/.ai/hooks/config.json\n+++ b/.ai/hooks/config.json\n"),
    ("x.tar", ".ai/hooks/config.json\0"),
    ("x.zip", "PK.ai/hooks/config.json"),
    ("src/main.rs", ""),
];

/// A guard that stops a call, or stops it until a person agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objection {
    Ask,
    Deny,
}

/// One guard with its own home and project.
pub(super) struct GuardUnderTest {
    pub(super) name: String,
    words: Vec<String>,
    home: PathBuf,
    /// Where its program lies: it is found by name.
    programs: PathBuf,
}

impl GuardUnderTest {
    /// Ours, as `init` registers it.
    pub(super) fn ours(folder: &Path, program: &Path) -> Result<Self> {
        let words = ["PreToolUse", "--host", "claude-code"];
        Self::new(folder, "dispatch".to_owned(), program, &words)
    }

    /// Another one, as its documentation registers it.
    pub(super) fn of(folder: &Path, rival: &Rival, program: &Path) -> Result<Self> {
        match rival.hook {
            RivalHook::Words(words) => Self::new(folder, rival.title(), program, words),
            RivalHook::Registered(setup) => {
                let mut guard = Self::new(folder, rival.title(), program, &[])?;
                guard.words = guard.registered(program, setup)?;
                Ok(guard)
            }
        }
    }

    fn new(folder: &Path, name: String, program: &Path, words: &[&str]) -> Result<Self> {
        let home = folder.join("homes").join(name.replace(' ', "-"));
        if home.exists() {
            std::fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
        }
        for (path, content) in PROJECT {
            let path = home.join("repo").join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&home))?;
            std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let words = std::iter::once(program.display().to_string()).chain(words.iter().map(|word| (*word).to_owned()));
        let programs = program.parent().unwrap_or(folder).to_path_buf();
        Ok(Self { name, words: words.collect(), home, programs })
    }

    /// The command that the guard's own installer wrote into the user's settings.
    fn registered(&self, program: &Path, setup: &[&str]) -> Result<Vec<String>> {
        std::fs::create_dir_all(self.home.join(".claude"))?;
        let mut installer = self.command(&program.display().to_string());
        let output = installer.args(setup).stdin(Stdio::null()).output().context("cannot start its installer")?;
        let settings = self.home.join(".claude/settings.json");
        let text = std::fs::read_to_string(&settings)
            .with_context(|| format!("its installer wrote no settings: {}", String::from_utf8_lossy(&output.stderr)))?;
        let settings: Value = serde_json::from_str(&text).context("its installer wrote invalid settings")?;
        let entries = settings["hooks"]["PreToolUse"].as_array().cloned().unwrap_or_default();
        let for_shell = entries.iter().find(|entry| matches(entry["matcher"].as_str().unwrap_or_default()));
        let hook = for_shell.map(|entry| entry["hooks"][0].clone()).unwrap_or_default();
        let Some(command) = hook["command"].as_str() else { bail!("its installer registered no hook for `Bash`") };
        match hook["args"].as_array() {
            Some(words) => Ok(std::iter::once(command.to_owned())
                .chain(words.iter().filter_map(Value::as_str).map(str::to_owned))
                .collect()),
            None => Ok(["sh", "-c", command].map(str::to_owned).to_vec()),
        }
    }

    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command.env_clear().env("HOME", &self.home).env("PATH", format!("{}:{path}", self.programs.display()));
        command.env("LANG", "C.UTF-8").env("CLAUDE_PROJECT_DIR", self.home.join("repo"));
        command.env("DISPATCH_HOME", self.home.join("data"));
        command.current_dir(self.home.join("repo"));
        command
    }

    /// The answers, in the order of the lines.
    pub(super) fn judge_all(&self, lines: &[String]) -> Result<Vec<Option<Objection>>> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(usize, Option<Objection>)>> {
            let mut answers = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(line) = lines.get(at) else { return Ok(answers) };
                answers.push((at, self.judge(line, at)?));
            }
        };
        let mut answers = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|_| bail!("a worker panicked")))
                .collect::<Result<Vec<_>>>()
        })?
        .concat();
        answers.sort_unstable_by_key(|(at, _)| *at);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    fn judge(&self, line: &str, at: usize) -> Result<Option<Objection>> {
        let repo = self.home.join("repo");
        let payload = json!({
            "session_id": "11111111-2222-4333-8444-555555555555",
            "transcript_path": self.home.join(".claude/transcript.jsonl"),
            "cwd": repo,
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": line.replace(LINE_END, "\n"), "description": "A command" },
            "tool_use_id": format!("toolu_{at}"),
        });
        let (program, words) = self.words.split_first().context("a guard without a program")?;
        let mut command = self.command(program);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        if let Some(mut input) = child.stdin.take() {
            // A guard may answer without reading everything.
            let _ = input.write_all(payload.to_string().as_bytes());
        }
        let output = child.wait_with_output().with_context(|| format!("cannot read the answer of {program}"))?;
        Ok(objection(output.status.code(), &String::from_utf8_lossy(&output.stdout)))
    }
}

fn matches(matcher: &str) -> bool {
    matches!(matcher, "" | "*") || matcher.split('|').any(|name| name == "Bash")
}

/// What Claude Code makes of an answer: exit status 2 and `deny` refuse, `ask` asks.
fn objection(status: Option<i32>, stdout: &str) -> Option<Objection> {
    if status == Some(2) {
        return Some(Objection::Deny);
    }
    let answer: Value = serde_json::from_str(stdout.trim()).ok()?;
    let decision = answer["hookSpecificOutput"]["permissionDecision"].as_str().or_else(|| answer["decision"].as_str());
    match decision {
        Some("deny" | "block") => Some(Objection::Deny),
        Some("ask") => Some(Objection::Ask),
        _ if answer["continue"] == json!(false) => Some(Objection::Deny),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Objection, matches, objection};

    #[test]
    fn an_answer_is_read_as_the_host_reads_it() {
        let say = |decision: &str| format!(r#"{{"hookSpecificOutput":{{"permissionDecision":"{decision}"}}}}"#);
        assert_eq!(objection(Some(0), &say("deny")), Some(Objection::Deny));
        assert_eq!(objection(Some(0), &say("ask")), Some(Objection::Ask));
        assert_eq!(objection(Some(0), &say("allow")), None);
        assert_eq!(objection(Some(0), r#"{"decision":"block"}"#), Some(Objection::Deny));
        assert_eq!(objection(Some(2), ""), Some(Objection::Deny));
        assert_eq!(objection(Some(1), ""), None);
        assert_eq!(objection(Some(0), "{}"), None);
    }

    #[test]
    fn a_matcher_covers_the_shell_by_name_or_with_everything() {
        assert!(matches("Bash") && matches("Write|Bash") && matches("*") && matches(""));
        assert!(!matches("Write"));
    }
}
