//! Random histories by real git: whatever git does with the branches of two working trees, the ledger verifies, every
//! line belongs to whom the model says, and tampering is found.

use super::repository::INTENTS;
use crate::seeded_random::SeededRandom;
use dispatch_support::{TestContext, slow_lane};
use ext_intents::contract::testing::readable_entries;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const SESSIONS: u64 = 3;
const STEPS: u64 = 14;
const FIRST_SEED: u64 = 0x7ace;
/// Histories of each test in the fast lane.
const FAST: u64 = 7;
/// Histories of each test in the slow lane.
const SLOW: u64 = 125;

#[test]
fn random_histories_verify_and_tampering_is_found_1() {
    run(0);
}

#[test]
fn random_histories_verify_and_tampering_is_found_2() {
    run(1);
}

#[test]
fn random_histories_verify_and_tampering_is_found_3() {
    run(2);
}

#[test]
fn random_histories_verify_and_tampering_is_found_4() {
    run(3);
}

fn run(part: u64) {
    if let Some(seed) = std::env::var("DISPATCH_TEST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        if part == 0 {
            History::new(seed).play();
        }
        return;
    }
    let count = if slow_lane() { SLOW } else { FAST };
    for number in 0..count {
        History::new(FIRST_SEED + part * SLOW + number).play();
    }
}

struct History {
    context: TestContext,
    seed: u64,
    random: SeededRandom,
    /// The two working trees of one repository.
    trees: [PathBuf; 2],
    branches: u64,
    calls: u64,
    lines: u64,
    /// The session and the intent that wrote a line, by its text; no line is written twice.
    writers: BTreeMap<String, (String, &'static str)>,
    told: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let context = TestContext::new();
        std::fs::remove_dir_all(context.project().join(".git")).expect("the test's own repository");
        let budgets = json!({"PreToolUse": 60_000, "PostToolUse": 60_000});
        let manifest = json!({"version": 1, "modules": ["session", "intents"], "budgets": budgets});
        context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
        context.write(".orchestration/active_intents.yaml", INTENTS.replace("COMPLETED", "IN_PROGRESS"));
        context.write(".gitignore", "/.ai/tmp/\n");
        for file in ["src/a.rs", "src/b.rs", "docs/c.md"] {
            let lines: Vec<String> = (0..8).map(|number| format!("first {file} {number}\n")).collect();
            context.write(file, lines.concat());
        }
        let trees = [context.project(), context.home().join("second")];
        let mut history = Self {
            context,
            seed,
            random: SeededRandom(seed),
            trees,
            branches: 1,
            calls: 0,
            lines: 0,
            writers: BTreeMap::new(),
            told: Vec::new(),
        };
        history.must(0, &["init", "-q", "-b", "b0"]);
        // What our writer creates at the first entry is there before the branches part, as after `init --intents`.
        assert_eq!(history.dispatch(0, &["init", "--host", "claude-code", "--intents"]).0, 0);
        assert_eq!(history.dispatch(0, &["trace", "hook", "install"]).0, 0);
        history.must(0, &["add", "-A"]);
        history.must(0, &["commit", "-q", "-m", "begin"]);
        let second = history.trees[1].to_str().expect("a path of the test").to_owned();
        history.must(0, &["worktree", "add", "-q", "-b", "w", &second]);
        history
    }

    fn play(mut self) {
        for _ in 0..STEPS {
            let tree = self.pick(2);
            self.step(tree);
        }
        for tree in 0..2 {
            self.compare(tree);
        }
        let tree = self.pick(2);
        self.tamper(tree);
    }

    fn pick(&mut self, end: usize) -> usize {
        usize::try_from(self.random.below(end as u64)).expect("a small number")
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {}: {what}\n{}", self.seed, self.told.join("\n"));
    }

    fn tell(&mut self, tree: usize, what: &str) {
        self.told.push(format!("{tree}: {what}"));
    }

    fn git(&mut self, tree: usize, arguments: &[&str]) -> Result<String, String> {
        let mut command = std::process::Command::new("git");
        command.current_dir(&self.trees[tree]).env_clear().args(arguments).stdin(Stdio::null());
        let home = self.context.home();
        for (name, value) in [
            ("HOME", home.to_str().expect("a path of the test")),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "A Person"),
            ("GIT_AUTHOR_EMAIL", "person@example.org"),
            ("GIT_COMMITTER_NAME", "A Person"),
            ("GIT_COMMITTER_EMAIL", "person@example.org"),
            ("GIT_EDITOR", "true"),
        ] {
            command.env(name, value);
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = command.output().expect("git runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    fn must(&mut self, tree: usize, arguments: &[&str]) -> String {
        match self.git(tree, arguments) {
            Ok(text) => text,
            Err(error) => self.fail(&format!("git {arguments:?}: {error}")),
        }
    }

    /// An operation of git; one that stops is given up.
    fn attempt(&mut self, tree: usize, arguments: &[&str], give_up: &[&str]) {
        let done = self.git(tree, arguments).is_ok();
        self.tell(tree, &format!("git {} {}", arguments.join(" "), if done { "" } else { "(given up)" }));
        if !done {
            let _ = self.git(tree, give_up);
            self.must(tree, &["reset", "-q", "--hard"]);
        }
    }

    fn dispatch(&self, tree: usize, arguments: &[&str]) -> (i32, Value, String) {
        let output = self.context.command("dispatch").args(arguments).current_dir(&self.trees[tree]).output();
        let output = output.expect("the executable runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), serde_json::from_str(&text).unwrap_or_default(), said)
    }

    fn hook(&mut self, tree: usize, session: &str, event: &str, call: &Value) {
        let mut payload = call.clone();
        payload["session_id"] = json!(session);
        payload["hook_event_name"] = json!(event);
        payload["cwd"] = json!(self.trees[tree]);
        let arguments = [event, "--host", "claude-code"];
        let output = self.context.run("dispatch-hook", &arguments, payload.to_string().as_bytes(), &[]);
        if output.stdout.contains("deny") {
            self.fail(&output.stdout);
        }
    }

    fn step(&mut self, tree: usize) {
        match self.pick(16) {
            0..=4 => self.write(tree, Writer::Agent),
            5 => self.write(tree, Writer::Person),
            6 => self.commit(tree),
            7 => {
                self.commit(tree);
                self.write(tree, Writer::Agent);
                self.must(tree, &["add", "-A"]);
                let words = if self.pick(2) == 0 { ["--no-edit", "-q"] } else { ["-m", "other words"] };
                self.must(tree, &["commit", "-q", "--amend", "--allow-empty", words[0], words[1]]);
                self.tell(tree, &format!("amend {}", words[0]));
            }
            8 => self.change_branch(tree),
            _ => self.operate(tree),
        }
    }

    /// An operation that needs a clean working tree.
    fn operate(&mut self, tree: usize) {
        self.commit(tree);
        let other = self.other_branch(tree);
        let count = self.must(tree, &["rev-list", "--count", "--first-parent", "HEAD"]);
        let commits: usize = count.trim().parse().expect("a number");
        match self.pick(9) {
            0 | 1 => self.attempt(tree, &["merge", "-q", "--no-edit", "-X", "theirs", &other], &["merge", "--abort"]),
            2 => self.attempt(tree, &["rebase", "-q", "-X", "theirs", &other], &["rebase", "--abort"]),
            3 => {
                self.attempt(tree, &["merge", "-q", "--squash", "-X", "ours", &other], &["reset", "--hard"]);
                self.must(tree, &["commit", "-q", "--allow-empty", "--no-edit", "-m", "squashed"]);
            }
            4 if commits > 2 => {
                self.must(tree, &["reset", "-q", "--soft", "HEAD~2"]);
                self.must(tree, &["commit", "-q", "--allow-empty", "-m", "two in one"]);
                self.tell(tree, "squash two");
            }
            5 if commits > 1 => {
                let back = format!("HEAD~{}", self.pick((commits - 1).min(4)));
                self.attempt(tree, &["revert", "--no-edit", "-X", "theirs", &back], &["revert", "--abort"]);
            }
            6 => {
                let back = format!("{other}~{}", self.pick(2));
                self.attempt(tree, &["cherry-pick", "-X", "theirs", &back], &["cherry-pick", "--abort"]);
            }
            7 => self.move_file(tree),
            8 if commits > 2 => match self.pick(2) {
                0 => self.attempt(tree, &["reset", "-q", "--hard", "HEAD~1"], &["status"]),
                _ => self.attempt(
                    tree,
                    &["rebase", "-q", "-X", "theirs", "--onto", "HEAD~2", "HEAD~1"],
                    &["rebase", "--abort"],
                ),
            },
            _ => {}
        }
        // A rebase onto a commit leaves no branch behind it; the work goes on on a new one.
        if self.git(tree, &["symbolic-ref", "-q", "HEAD"]).is_err() {
            self.new_branch(tree);
        }
    }

    fn commit(&mut self, tree: usize) {
        self.must(tree, &["add", "-A"]);
        if self.git(tree, &["diff", "--cached", "--quiet"]).is_err() {
            self.must(tree, &["commit", "-q", "-m", "work"]);
            self.tell(tree, "commit");
        }
    }

    fn new_branch(&mut self, tree: usize) {
        let name = format!("b{}", self.branches);
        self.branches += 1;
        self.must(tree, &["checkout", "-q", "-b", &name]);
        self.tell(tree, &format!("branch {name}"));
    }

    fn change_branch(&mut self, tree: usize) {
        self.commit(tree);
        let other = self.other_branch(tree);
        if self.pick(2) == 0 || self.git(tree, &["checkout", "-q", &other]).is_err() {
            self.new_branch(tree);
        } else {
            self.tell(tree, &format!("checkout {other}"));
        }
    }

    fn other_branch(&mut self, tree: usize) -> String {
        let all = self.must(tree, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let own = self.git(tree, &["symbolic-ref", "--short", "HEAD"]).unwrap_or_default();
        let others: Vec<&str> = all.lines().filter(|name| *name != own.trim()).collect();
        others[self.pick(others.len())].to_owned()
    }

    fn move_file(&mut self, tree: usize) {
        let files = self.files(tree);
        if let Some(from) = files.get(self.pick(files.len().max(1))) {
            let folder = from.split('/').next().unwrap_or("src");
            let to = format!("{folder}/moved{}.rs", self.lines);
            self.lines += 1;
            self.must(tree, &["mv", from, &to]);
            self.must(tree, &["commit", "-q", "-m", "move"]);
            self.tell(tree, &format!("git mv {from} {to}"));
        }
    }

    fn files(&self, tree: usize) -> Vec<String> {
        let mut found = Vec::new();
        for folder in ["src", "docs"] {
            for file in std::fs::read_dir(self.trees[tree].join(folder)).into_iter().flatten().flatten() {
                found.push(format!("{folder}/{}", file.file_name().to_string_lossy()));
            }
        }
        found.sort();
        found
    }

    fn write(&mut self, tree: usize, writer: Writer) {
        let files = self.files(tree);
        let new = files.is_empty() || self.pick(6) == 0;
        let file = if new { format!("src/n{}.rs", self.lines) } else { files[self.pick(files.len())].clone() };
        let path = self.trees[tree].join(&file);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
        if lines.len() > 3 && self.pick(3) == 0 {
            lines.remove(self.pick(lines.len()));
        }
        let session = format!("session {} of {tree}", self.random.below(SESSIONS));
        let intent = if file.starts_with("src/") { "INT-001" } else { "INT-002" };
        for _ in 0..=self.pick(3) {
            let at = self.pick(lines.len() + 1);
            let text = format!("{writer:?} line {}", self.lines);
            self.lines += 1;
            if writer == Writer::Agent {
                self.writers.insert(text.clone(), (session.clone(), intent));
            }
            lines.insert(at, text);
        }
        let after = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        self.tell(tree, &format!("{writer:?} writes {file}"));
        if writer == Writer::Person {
            std::fs::write(&path, after).expect("a file of the test");
            return;
        }
        self.calls += 2;
        let select = json!({"tool_name": "mcp__dispatch__select_active_intent", "tool_use_id": format!("c{}", self.calls),
            "tool_input": {"intent_id": intent}, "tool_response": [{"type": "text", "text": "selected"}]});
        self.hook(tree, &session, "PostToolUse", &select);
        let call = json!({"tool_name": "Write", "tool_use_id": format!("c{}", self.calls + 1),
            "tool_input": {"file_path": path, "content": after}, "tool_response": {"success": true}});
        self.hook(tree, &session, "PreToolUse", &call);
        std::fs::write(&path, &after).expect("a file of the test");
        self.hook(tree, &session, "PostToolUse", &call);
    }

    /// The ledger verifies, and each line belongs to whom the model says. A revert takes entries back; a line whose entry
    /// is not in this branch is nobody's.
    fn compare(&mut self, tree: usize) {
        let (status, _, said) = self.dispatch(tree, &["trace", "verify"]);
        if status != 0 {
            self.fail(&format!("verify in {tree}: {said}"));
        }
        let written: BTreeSet<String> = readable_entries(&self.trees[tree])
            .expect("a ledger")
            .into_iter()
            .flat_map(|entry| entry.added.into_iter().flat_map(|run| run.hashes))
            .collect();
        for file in self.files(tree) {
            let (status, blame, said) = self.dispatch(tree, &["trace", "blame", &file, "--json"]);
            assert_eq!(status, 0, "{said}");
            let text = std::fs::read_to_string(self.trees[tree].join(&file)).expect("a file of the test");
            for (line, found) in text.lines().zip(blame.as_array().expect("a list")) {
                let hash = ext_intents::contract::testing::line_hash(line.as_bytes());
                let expected = self.writers.get(line).filter(|_| written.contains(&hash));
                let found = (found["by"] == "agent").then(|| (found["session"].clone(), found["intent"].clone()));
                let wanted = expected
                    .map(|(session, intent)| (json!(crate::intents_host::session_folder(session)), json!(intent)));
                if found != wanted {
                    self.fail(&format!("{tree} {file}: {line:?} is {found:?}, not {wanted:?}"));
                }
            }
        }
    }

    fn ledger(&self, tree: usize) -> PathBuf {
        self.trees[tree].join(".orchestration/agent_trace.jsonl")
    }

    /// One change of the ledger that no tool of ours makes.
    fn tamper(&mut self, tree: usize) {
        let path = self.ledger(tree);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() {
            return;
        }
        let at = self.pick(lines.len());
        let what = match self.pick(5) {
            0 => {
                let (old, new) = (lines[at].clone(), lines[at].replacen("INT-00", "INT-01", 1));
                // A merge may repeat a line; whoever edits an entry edits every copy of it.
                lines.iter_mut().filter(|line| **line == old).for_each(|line| line.clone_from(&new));
                "edit"
            }
            1 => {
                let gone = lines[at].clone();
                lines.retain(|line| *line != gone);
                "remove"
            }
            2 => {
                let gone = lines[lines.len() - 1].clone();
                lines.retain(|line| *line != gone);
                "remove the last"
            }
            3 => {
                lines.truncate(at);
                "truncate"
            }
            _ => {
                let _ = std::fs::remove_file(Path::new(&path).with_file_name("agent_trace.head"));
                lines.clear();
                "delete with its head"
            }
        };
        self.tell(tree, &format!("tamper: {what}, line {}", at + 1));
        // Only a cut that leaves a copy of every line is none.
        let before: BTreeSet<&str> = text.lines().collect();
        let is_whole = before == lines.iter().map(String::as_str).collect();
        if lines.is_empty() {
            std::fs::remove_file(&path).expect("a file of the test");
        } else {
            std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).expect("written");
        }
        let (status, _, said) = self.dispatch(tree, &["trace", "verify"]);
        if status != 1 && !is_whole {
            self.fail(&format!("tampering was not found: {said}"));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Agent,
    Person,
}
