//! Which hooks run after which approval.

use super::*;
use dispatch_trust::read_content;
use serde_json::{Value, json};
use std::fs;

struct ApprovalFiles {
    folder: tempfile::TempDir,
    in_force: HooksInForce,
}

fn folders(root: &Path) -> Folders {
    let at = |name: &str| root.join(name);
    let (config, data, state, cache) = (at("settings"), at("data"), at("state"), at("cache"));
    Folders { config, data, state, cache, project: None, workdir: root.to_path_buf() }
}

fn files() -> ApprovalFiles {
    let folder = tempfile::tempdir().unwrap();
    for name in ["workspace/.akira", "settings", "data"] {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    let in_force = HooksInForce::new(&at("workspace"), &folders(folder.path()));
    ApprovalFiles { folder, in_force }
}

impl ApprovalFiles {
    fn file(&self) -> PathBuf {
        self.folder.path().join("workspace/.akira/hooks.json")
    }

    fn write(&self, hooks: &[(&str, &str)]) {
        fs::write(self.file(), file_of(hooks)).unwrap();
    }

    fn script(&self, path: &str, text: &str) {
        let path = self.folder.path().join("workspace").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn switch(&self, hook: &str, switch: HookSwitch) {
        let mut approvals = HookApprovals::load(&self.folder.path().join("data").join(APPROVALS_FILE));
        approvals.switch(&self.file(), hook, switch);
        approvals.save().unwrap();
    }

    /// As `dispatch trust` does.
    fn approve(&self) {
        let data = self.folder.path().join("data");
        let content = read_content(&self.file()).unwrap();
        let mut approvals = HookApprovals::load(&data.join(APPROVALS_FILE));
        approvals.approve(&self.file(), &content).unwrap();
        approvals.save().unwrap();
    }

    fn revoke(&self) {
        let data = self.folder.path().join("data");
        let mut approvals = HookApprovals::load(&data.join(APPROVALS_FILE));
        approvals.revoke(&self.file());
        approvals.save().unwrap();
    }

    /// Those that run, and `id: first words of the reason` of those that do not.
    fn standing(&mut self) -> (Vec<String>, Vec<String>) {
        let set = self.in_force.refresh();
        let dormant = |it: &Dormant| {
            let words: Vec<&str> = it.reason.split_whitespace().take(3).collect();
            format!("{}: {}", it.hook_id, words.join(" "))
        };
        (set.hooks.iter().map(|hook| hook.id.clone()).collect(), set.dormant.iter().map(dormant).collect())
    }
}

fn file_of(hooks: &[(&str, &str)]) -> String {
    let hook = |(id, prompt): &(&str, &str)| serde_json::json!({"id": id, "trigger": "manual", "prompt": prompt});
    serde_json::json!({ "hooks": hooks.iter().map(hook).collect::<Vec<_>>() }).to_string()
}

fn expect(found: (Vec<String>, Vec<String>), running: &[&str], dormant: &[&str]) {
    assert_eq!((found.0.as_slice(), found.1.as_slice()), (&owned(running)[..], &owned(dormant)[..]));
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_cloned_hook_waits_and_a_changed_one_asks_again() {
    let mut files = files();
    files.write(&[("a", "1"), ("b", "1")]);
    expect(files.standing(), &[], &["a: it is not", "b: it is not"]);
    files.approve();
    expect(files.standing(), &["a", "b"], &[]);
    files.write(&[("a", "1"), ("b", "2"), ("c", "1")]);
    expect(files.standing(), &["a"], &["b: it has changed", "c: it has changed"]);
    files.write(&[("b", "1")]);
    expect(files.standing(), &["b"], &[]);
    files.write(&[("a", "1"), ("b", "2")]);
    files.approve();
    expect(files.standing(), &["a", "b"], &[]);
    files.write(&[("a", "1"), ("b", "1")]);
    expect(files.standing(), &["a"], &["b: it has changed"]);
    files.revoke();
    expect(files.standing(), &[], &["a: it is not", "b: it is not"]);
}

#[test]
fn a_second_clone_of_approved_content_waits() {
    let files = files();
    files.write(&[("a", "1")]);
    files.approve();
    let other = files.folder.path().join("other/.akira");
    fs::create_dir_all(&other).unwrap();
    fs::copy(files.file(), other.join("hooks.json")).unwrap();
    let at = |name: &str| files.folder.path().join(name);
    let mut second = HooksInForce::new(&at("other"), &folders(files.folder.path()));
    assert_eq!(second.refresh().hooks.len(), 0, "an approval is for one folder");
}

/// A workspace whose one hook runs `scripts/fmt.sh`, approved.
fn with_script(command: &Value) -> ApprovalFiles {
    let files = files();
    files.script("scripts/fmt.sh", "echo one\n");
    let hook = json!({"id": "fmt", "trigger": "manual", "command": command});
    fs::write(files.file(), json!({ "hooks": [hook] }).to_string()).unwrap();
    files.approve();
    files
}

#[test]
fn a_file_that_a_command_names_is_part_of_the_approval() {
    for command in [
        json!(["./scripts/fmt.sh"]),
        json!(["sh", "scripts/fmt.sh"]),
        json!(["sh", "-c", "cd scripts; ./fmt.sh"]),
        json!(["python3", "-c", "import os; os.system('scripts/fmt.sh')"]),
    ] {
        let mut files = with_script(&command);
        expect(files.standing(), &["fmt"], &[]);
        files.script("scripts/fmt.sh", "echo two\n");
        expect(files.standing(), &[], &["fmt: `scripts/fmt.sh`, which its"]);
        files.script("scripts/fmt.sh", "echo one\n");
        expect(files.standing(), &["fmt"], &[]);
        fs::remove_file(files.folder.path().join("workspace/scripts/fmt.sh")).unwrap();
        expect(files.standing(), &[], &["fmt: `scripts/fmt.sh`, which its"]);
        files.approve();
        expect(files.standing(), &["fmt"], &[]);
        files.script("scripts/fmt.sh", "echo three\n");
        expect(files.standing(), &[], &["fmt: `scripts/fmt.sh`, which its"]);
    }
}

#[test]
fn what_a_command_writes_asks_nothing() {
    let mut files = with_script(&json!(["sh", "-c", "./scripts/fmt.sh >> out.log"]));
    expect(files.standing(), &["fmt"], &[]);
    files.script("out.log", "something");
    expect(files.standing(), &["fmt"], &[]);
}

#[test]
fn a_review_shows_what_differs_from_the_approval() {
    let files = with_script(&json!(["sh", "scripts/fmt.sh"]));
    let review = || {
        let approvals = HookApprovals::load(&files.folder.path().join("data").join(APPROVALS_FILE));
        review_hooks(&approvals, &files.file(), &fs::read(files.file()).unwrap())
    };
    assert_eq!(review()[0].state, ReviewState::Same);
    files.script("scripts/fmt.sh", "echo two\n");
    let changed = review().remove(0);
    assert_eq!((changed.state, changed.hook.differs), (ReviewState::Changed, false));
    let script = &changed.files[0];
    assert_eq!((script.name.as_str(), script.differs), ("scripts/fmt.sh", true));
    assert_eq!((script.before.as_deref(), script.after.as_deref()), (Some("echo one\n"), Some("echo two\n")));
    files.write(&[("other", "1")]);
    let states: Vec<_> = review().into_iter().map(|one| (one.hook_id, one.state)).collect();
    assert_eq!(states, [("other".to_owned(), ReviewState::New), ("fmt".to_owned(), ReviewState::Removed)]);
}

#[test]
fn a_hook_that_the_user_switched_off_stays_off_until_it_is_switched_on() {
    let mut files = files();
    files.write(&[("a", "1")]);
    files.approve();
    files.switch("a", HookSwitch::Off);
    expect(files.standing(), &[], &["a: you switched it"]);
    files.approve();
    expect(files.standing(), &[], &["a: you switched it"]);
    files.switch("a", HookSwitch::On);
    expect(files.standing(), &["a"], &[]);
}

#[test]
fn the_users_own_hooks_need_no_approval_and_keep_their_limits() {
    let mut files = files();
    let global = r#"{"limits": {"concurrency": 7}, "hooks": [
        {"id": "mine", "trigger": "manual", "prompt": "p"},
        {"id": "off", "trigger": "manual", "prompt": "p", "enabled": false}]}"#;
    fs::write(files.folder.path().join("settings/hooks.json"), global).unwrap();
    let theirs = r#"{"limits": {"concurrency": 1}, "hooks": [{"id": "theirs", "trigger": "manual", "prompt": "p"}]}"#;
    fs::write(files.file(), theirs).unwrap();
    expect(files.standing(), &["mine"], &["off: it is switched", "theirs: it is not"]);
    assert_eq!(files.in_force.refresh().limits.concurrency, 7);
    files.approve();
    assert_eq!(files.in_force.refresh().limits.concurrency, 1);
}

#[test]
fn an_invalid_edit_changes_nothing_of_what_runs() {
    let mut files = files();
    files.write(&[("a", "1")]);
    files.approve();
    files.standing();
    fs::write(files.file(), "{ nonsense").unwrap();
    expect(files.standing(), &["a"], &[]);
    assert_eq!(files.in_force.refresh().problems.len(), 1);
}

#[test]
fn damaged_approvals_approve_nothing() {
    let mut files = files();
    files.write(&[("a", "1")]);
    files.approve();
    fs::write(files.folder.path().join("data").join(APPROVALS_FILE), b"{\"hooks\": [\xff").unwrap();
    expect(files.standing(), &[], &["a: it is not"]);
}

#[cfg(unix)]
#[test]
fn approvals_are_for_the_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let files = files();
    files.write(&[("a", "1")]);
    files.approve();
    let mode = fs::metadata(files.folder.path().join("data").join(APPROVALS_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_file_of_hooks_is_known_by_its_place() {
    for (path, expected) in [
        ("/p/.akira/hooks.json", true),
        (".akira/hooks.json", true),
        ("/p/hooks.json", false),
        ("/p/.akira/other.json", false),
        ("hooks.json", false),
        ("/", false),
    ] {
        assert_eq!(is_hooks_file(Path::new(path)), expected, "{path}");
    }
}
