//! Script modules of a workspace, run through whole invocations.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![cfg(feature = "scripts")]
#![allow(clippy::expect_used, reason = "a helper of a test may fail the test")]

use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{Decision, Effects, SystemClock};
use dispatch_script::CacheTrust;
use dispatch_trust::Trust;
use ext_hook_pipeline::contract::{Invocation, Outcome, ScriptCache, Scripts, Unwatched, native_modules, run};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Enough for a busy machine.
const BUDGET_MS: u64 = 3_000;

const DENY_CURL: &str = r#"
export default {
  name: "no-curl",
  supports: new Set(["PreToolUse"]),
  priority: 30,
  hotPathSafe: true,
  critical: false,
  async handle(eventName, ctx) {
    ctx.log("info", "looked at", { tool: ctx.event.toolName });
    if (ctx.event.command?.startsWith("curl")) {
      return { decision: "deny", denyReason: `${eventName}: no curl for ${ctx.ids.agentId}`, code: "NC01" };
    }
    return {
      additionalContext: [{ key: "no-curl", value: [
        ctx.event.kind, ctx.paths.repoRelative(ctx.paths.featureOutput("x/y")), ctx.config.word,
        ctx.timers.elapsed() >= 0, ctx.readText("notes.txt"),
      ].join("|") }],
      emitEvents: [{ type: "CURL_SEEN", where: ctx.event.cwd }],
      statePatch: { memory: { curl: "seen" } },
      warnings: ["w"],
    };
  },
};
"#;

struct Repo {
    folder: TempDir,
    cache: TempDir,
    trust: Trust,
}

impl Repo {
    fn new(modules: &[(&str, &str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut repo = Self { folder, cache: tempfile::tempdir().expect("a folder"), trust: Trust::default() };
        let names: Vec<&str> = ["session"].into_iter().chain(modules.iter().map(|module| module.0)).collect();
        let manifest = json!({"modules": names, "budgets": {"PreToolUse": BUDGET_MS}});
        repo.write(".ai/hooks/dispatch.manifest.json", &manifest.to_string());
        for (name, file, source) in modules {
            repo.write(&format!(".ai/hooks/features/{name}/{file}"), source);
            repo.approve(source);
        }
        repo
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, content).expect("writable");
    }

    fn approve(&mut self, source: &str) {
        let path = PathBuf::from(format!("/approved/{}", self.trust.iter().count()));
        self.trust.approve(path, source.as_bytes()).expect("a path that is text");
    }

    fn command(&self, command: &str) -> Outcome {
        self.fire("PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": command}}))
    }

    fn fire(&self, event: &str, more: Value) -> Outcome {
        let mut payload = json!({"session_id": "abc", "cwd": self.root(), "hook_event_name": event});
        payload.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        let cache = ScriptCache { folder: self.cache.path().to_path_buf(), trust: CacheTrust::TextAndBytecode };
        let scripts = Scripts::new(self.trust.clone(), Some(cache));
        run(&Invocation {
            host: Some("claude-code"),
            event: None,
            stdin: payload.to_string().as_bytes(),
            hints: &Hints::default(),
            home: None,
            user: None,
            trust: ext_hook_pipeline::contract::RuleTrust::Everything,
            root: None,
            manifest: None,
            config: None,
            modules: &native_modules(),
            scripts: Some(&scripts),
            clock: &SystemClock::start(),
            watch: &Unwatched,
            effects: Effects::Commit,
        })
    }

    fn session(&self, path: &str) -> PathBuf {
        self.root().join(".ai/tmp/ba7816bf").join(path)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.session(path)).unwrap_or_default()
    }
}

fn decision(outcome: &Outcome) -> Decision {
    outcome.report.as_ref().expect("a report").decision
}

#[test]
fn a_script_module_follows_the_same_rules_as_a_native_one() {
    let repo = Repo::new(&[("no-curl", "hook.mjs", DENY_CURL)]);
    repo.write("notes.txt", "hello");
    repo.write(".ai/hooks/config.json", r#"{"no-curl": {"word": "configured"}}"#);
    let denied = repo.command("curl https://example.com");
    assert_eq!(decision(&denied), Decision::Deny);
    assert_eq!(denied.report.and_then(|report| report.reason).as_deref(), Some("PreToolUse: no curl for u00"));

    let allowed = repo.command("ls");
    assert_eq!(decision(&allowed), Decision::Allow);
    assert_eq!(allowed.context, ["execute|.ai/tmp/ba7816bf/x_y/output|configured|true|hello"]);
    let log = repo.read("events.jsonl");
    assert!(log.contains("CURL_SEEN") && log.contains("\"WARNING\""), "{log}");
    assert!(repo.read("state.json").contains("\"curl\": \"seen\""));
    assert!(repo.read("no-curl/logs/debug.log").contains("looked at"));
}

#[test]
fn a_script_that_nobody_approved_is_absent() {
    let mut repo = Repo::new(&[("no-curl", "hook.mjs", DENY_CURL)]);
    repo.trust = Trust::default();
    let outcome = repo.command("curl x");
    assert_eq!(decision(&outcome), Decision::Allow);
    assert!(outcome.problems.iter().any(|problem| problem.contains("not approved")), "{:?}", outcome.problems);
    let trace = std::fs::read_to_string(repo.root().join(".ai/tmp/dispatch.log")).expect("a trace");
    assert!(trace.contains("no-curl") && trace.contains("not approved"), "{trace}");
}

#[test]
fn approval_is_of_the_content_so_a_change_takes_it_away() {
    let repo = Repo::new(&[("no-curl", "hook.mjs", DENY_CURL)]);
    assert_eq!(decision(&repo.command("curl x")), Decision::Deny);
    repo.write(".ai/hooks/features/no-curl/hook.mjs", &DENY_CURL.replace("no curl", "anything"));
    assert_eq!(decision(&repo.command("curl y")), Decision::Allow);
}

#[test]
fn imports_need_approval_too_and_stay_in_their_folders() {
    let source = r#"
import { word } from "./word.mjs";
import { shared } from "../../lib/shared.mjs";
export default { supports: ["PreToolUse"], hotPathSafe: true, handle: () => ({ additionalContext: [{ key: "k", value: word + shared }] }) };
"#;
    let (word, shared) = ("export const word = 'one';", "export const shared = 'two';");
    let mut repo = Repo::new(&[("importer", "hook.mjs", source)]);
    repo.write(".ai/hooks/features/importer/word.mjs", word);
    repo.write(".ai/hooks/lib/shared.mjs", shared);
    repo.approve(word);
    let refused = repo.command("ls");
    assert!(refused.problems.iter().any(|problem| problem.contains("not approved")), "{:?}", refused.problems);
    repo.approve(shared);
    assert_eq!(repo.command("pwd").context, ["onetwo"]);

    let climbing = "import x from '../../../../outside.mjs'; export default { supports: ['PreToolUse'], hotPathSafe: true, handle() {} };";
    let mut repo = Repo::new(&[("climber", "hook.mjs", climbing)]);
    repo.write("outside.mjs", word);
    repo.approve(word);
    let outcome = repo.command("ls");
    assert!(outcome.problems.iter().any(|problem| problem.contains("own folder")), "{:?}", outcome.problems);
}

#[test]
fn a_script_that_never_returns_is_stopped_and_the_answer_still_comes() {
    let endless = "export default { supports: ['PreToolUse'], hotPathSafe: true, handle() { for (;;) {} } };";
    let repo = Repo::new(&[("endless", "hook.mjs", endless)]);
    let started = std::time::Instant::now();
    let outcome = repo.command("ls");
    assert_eq!(decision(&outcome), Decision::Allow);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(repo.read("events.jsonl").contains("ERROR_MODULE"));
}

#[test]
fn a_failing_script_is_isolated_and_a_critical_one_denies() {
    let throws =
        "export default { supports: ['PreToolUse'], hotPathSafe: true, handle() { throw new Error('boom'); } };";
    let repo = Repo::new(&[("throws", "hook.mjs", throws)]);
    assert_eq!(decision(&repo.command("ls")), Decision::Allow);
    let log = repo.read("events.jsonl");
    assert!(log.contains("ERROR_MODULE") && log.contains("boom") && log.contains("features/throws/hook.mjs"), "{log}");
    let critical = throws.replace("hotPathSafe: true", "hotPathSafe: true, critical: true");
    let repo = Repo::new(&[("throws", "hook.mjs", &critical)]);
    assert_eq!(decision(&repo.command("ls")), Decision::Deny);
}

#[test]
fn a_script_that_cannot_be_loaded_is_a_warning() {
    let repo = Repo::new(&[("broken", "hook.mjs", "export default {")]);
    let outcome = repo.command("ls");
    assert_eq!(decision(&outcome), Decision::Allow);
    assert!(outcome.problems.iter().any(|problem| problem.contains("is broken")), "{:?}", outcome.problems);
    assert!(repo.read("events.jsonl").contains("WARNING"));
}

#[test]
fn scripts_obey_supports_and_hot_path_safe() {
    let slow = "export default { supports: new Set(['PreToolUse', 'Stop']), handle: () => ({ warnings: ['ran'] }) };";
    let repo = Repo::new(&[("slow", "hook.mjs", slow)]);
    repo.command("ls");
    assert!(!repo.read("events.jsonl").contains("\"ran\""), "not before a tool call unless it says that it is safe");
    repo.fire("Stop", json!({}));
    assert!(repo.read("events.jsonl").contains("\"ran\""));
    repo.fire("SessionStart", json!({"source": "startup"}));
    assert_eq!(repo.read("events.jsonl").matches("\"ran\"").count(), 1);
}

#[test]
fn what_a_script_says_about_itself_is_remembered_by_content() {
    let repo = Repo::new(&[("no-curl", "hook.mjs", DENY_CURL)]);
    repo.fire("Stop", json!({}));
    let known = std::fs::read_dir(repo.cache.path().join("modules")).expect("a cache").flatten().count();
    assert_eq!(known, 1);
    // With the flags known, an event it does not want needs no engine: a source that would not even parse goes unnoticed.
    let entry = std::fs::read_dir(repo.cache.path().join("modules")).expect("a cache").flatten().next().expect("one");
    let flags: Value = serde_json::from_slice(&std::fs::read(entry.path()).expect("readable")).expect("JSON");
    assert_eq!(flags, json!({"supports": ["PreToolUse"], "priority": 30, "hotPathSafe": true, "critical": false}));
    assert_eq!(decision(&repo.command("curl x")), Decision::Deny);
    // One file has the flags of all scripts of the workspace, so nothing else has to be read or written.
    std::fs::remove_dir_all(repo.cache.path().join("modules")).expect("removable");
    assert_eq!(decision(&repo.command("curl y")), Decision::Deny);
    assert!(!repo.cache.path().join("modules").exists(), "the flags were looked for elsewhere");
}

#[test]
fn what_one_module_leaves_behind_takes_no_room_from_the_next() {
    let hoarder = |key: &str| {
        format!(
            "const kept = []; export default {{ supports: ['PreToolUse'], hotPathSafe: true, handle() {{ \
             for (let i = 0; i < 40; i++) kept.push('{key}'.repeat(1 << 20)); \
             return {{ additionalContext: [{{ key: '{key}', value: '{key}' + kept.length }}] }}; }} }};"
        )
    };
    let (one, two) = (hoarder("a"), hoarder("b"));
    let repo = Repo::new(&[("one", "hook.mjs", &one), ("two", "hook.mjs", &two)]);
    repo.write(
        ".ai/hooks/dispatch.manifest.json",
        &json!({"modules": ["one", "two"], "budgets": {"PreToolUse": 10 * BUDGET_MS}}).to_string(),
    );
    assert_eq!(repo.command("ls").context, ["a40", "b40"], "{}", repo.read("events.jsonl"));
}

#[cfg(unix)]
#[test]
fn a_script_that_leads_out_of_the_folder_is_refused() {
    let repo = Repo::new(&[("no-curl", "hook.mjs", DENY_CURL)]);
    let file = repo.root().join(".ai/hooks/features/no-curl/hook.mjs");
    std::fs::rename(&file, repo.root().join("elsewhere.mjs")).expect("movable");
    std::os::unix::fs::symlink(repo.root().join("elsewhere.mjs"), &file).expect("a link");
    let outcome = repo.command("curl x");
    assert_eq!(decision(&outcome), Decision::Allow);
    assert!(outcome.problems.iter().any(|problem| problem.contains("leads out")), "{:?}", outcome.problems);
}

#[test]
fn a_module_without_a_default_export_is_a_warning() {
    let repo = Repo::new(&[("empty", "hook.mjs", "export const supports = [];")]);
    let outcome = repo.command("ls");
    assert!(outcome.problems.iter().any(|problem| problem.contains("no default export")), "{:?}", outcome.problems);
}

#[test]
fn a_name_that_climbs_is_no_module() {
    let repo = Repo::new(&[]);
    repo.write(".ai/hooks/dispatch.manifest.json", r#"{"modules": ["session", "../../x", "a/b", ""]}"#);
    assert_eq!(decision(&repo.command("ls")), Decision::Allow);
}

#[cfg(feature = "typescript")]
#[test]
fn typescript_modules_run_as_well() {
    let source = "interface Answer { decision: string }\nexport default { supports: new Set<string>(['PreToolUse']), hotPathSafe: true, handle(): Answer { return { decision: 'ask', code: 'T1' } as Answer; } };";
    let repo = Repo::new(&[("typed", "hook.ts", source)]);
    assert_eq!(decision(&repo.command("ls")), Decision::Ask);
}
