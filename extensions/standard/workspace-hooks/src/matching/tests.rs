//! Which hook gets which files, as tables.

use super::*;
use crate::contract::{Action, Budget, Retry, RunPlace, Runner, SessionScope};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn matching(set: &HookSet, event: &Event) -> Vec<StartedHook> {
    Matcher::new(set).matching(event)
}

fn hook(id: &str, trigger: &str, pattern: &[&str]) -> Hook {
    Hook {
        id: id.into(),
        trigger: Trigger::parse(trigger).unwrap(),
        pattern: pattern.iter().map(|glob| (*glob).to_owned()).collect(),
        action: Action::Prompt("p".into()),
        runner: Runner::Agent { session: SessionScope::Hook },
        place: RunPlace::Tree,
        permissions: crate::contract::AgentPermissions::Read,
        batch: false,
        restart: false,
        chain: false,
        blocking: false,
        enabled: true,
        concurrency: 4,
        timeout_ms: 60_000,
        retry: Retry { count: 0, backoff_ms: 0, backoff_factor: 1.0 },
        debounce_ms: 0,
        rate_limit: None,
        budget: Budget::default(),
        allow_git: false,
        repo_root: None,
        schedule: None,
        secret_patterns: Vec::new(),
        pass_env: Vec::new(),
        tell_agent: false,
        metadata: Map::new(),
        fingerprint: String::new(),
    }
}

fn changed(path: &str) -> FileChange {
    FileChange { path: path.into(), change: Change::Changed, content_hash: None }
}

fn event(trigger: &str, source: Source, files: &[&str]) -> Event {
    Event {
        trigger: Trigger::parse(trigger).unwrap(),
        workspace: "/w/repo".into(),
        files: files.iter().map(|path| changed(path)).collect(),
        source,
        hook: None,
        id: None,
        metadata: Map::new(),
    }
}

fn started(hooks: Vec<Hook>, event: &Event) -> Vec<String> {
    let set = HookSet { hooks: hooks.into_iter().map(Arc::new).collect(), ..HookSet::default() };
    let row = |(hook, files): &StartedHook| {
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        format!("{} {}", hook.id, paths.join(" ")).trim_end().to_owned()
    };
    matching(&set, event).iter().map(row).collect()
}

const SAVE: &str = "onDidSaveTextDocument";

#[test]
fn globs_choose_the_files() {
    let table: &[(&[&str], &[&str], &[&str])] = &[
        (&[], &["a.rs", "b/c.txt"], &["h a.rs b/c.txt"]),
        (&["**/*.rs"], &["a.rs", "b/c.rs", "c.txt"], &["h a.rs b/c.rs"]),
        (&["*.rs"], &["a.rs", "b/c.rs"], &["h a.rs"]),
        (&["src/**", "!src/gen/**"], &["src/a", "src/gen/a", "lib/a"], &["h src/a"]),
        (&["!**/*.md"], &["a.md", "a.rs"], &["h a.rs"]),
        (&["**/*.RS"], &["a.rs"], &[]),
        (
            &["**"],
            &[".env", ".git/index", ".GIT/config", ".akira/logs/hooks.log", ".gitignore"],
            &["h .env .gitignore"],
        ),
        (&["**/*.rs"], &[], &[]),
    ];
    for (pattern, files, expected) in table {
        let found = started(vec![hook("h", SAVE, pattern)], &event(SAVE, Source::Watcher, files));
        assert_eq!(found, *expected, "{pattern:?} {files:?}");
    }
}

#[test]
fn names_that_lead_out_of_the_workspace_fit_nothing() {
    for path in [
        "",
        "/etc/passwd",
        "..",
        "../a",
        "a/../../b",
        "a/..",
        "./a",
        "a//b",
        "a/",
        "C:/a",
        "c:a",
        "a\0b",
        "..\\a",
        "a\\..\\..\\b",
        "\\\\server\\..\\share",
    ] {
        for source in [Source::Watcher, Source::Person] {
            let mut asked = event(SAVE, source, &[path]);
            asked.hook = (source == Source::Person).then(|| "h".into());
            assert_eq!(started(vec![hook("h", SAVE, &["**", "../**", "/**"])], &asked), [] as [&str; 0], "{path:?}");
        }
    }
    let mut renamed = event("onDidRenameFiles", Source::Watcher, &[]);
    renamed.files =
        vec![FileChange { path: "a".into(), change: Change::Renamed { from: "../a".into() }, content_hash: None }];
    assert_eq!(started(vec![hook("h", "onDidRenameFiles", &[])], &renamed), [] as [&str; 0]);
}

#[test]
fn only_the_same_trigger_starts_a_hook() {
    let hooks = || {
        ["onDidSaveTextDocument", "onDidCreateFiles", "custom:a", "custom:b", "manual", "schedule"]
            .map(|trigger| hook(trigger, trigger, &[]))
            .to_vec()
    };
    for (trigger, source, files, expected) in [
        (SAVE, Source::Editor, &["a"][..], &["onDidSaveTextDocument a"][..]),
        ("custom:a", Source::Outside, &[], &["custom:a"]),
        ("custom:a", Source::Outside, &["x"], &["custom:a x"]),
        ("manual", Source::Person, &[], &[]),
        ("schedule", Source::Schedule, &[], &[]),
    ] {
        assert_eq!(started(hooks(), &event(trigger, source, files)), expected, "{trigger}");
    }
    let mut disabled = hook("h", SAVE, &[]);
    disabled.enabled = false;
    assert_eq!(started(vec![disabled], &event(SAVE, Source::Editor, &["a"])), [] as [&str; 0]);
}

#[test]
fn a_person_starts_the_hook_that_is_named_whatever_its_trigger() {
    let hooks = || vec![hook("a", SAVE, &["*.rs"]), hook("b", "manual", &[])];
    let by = |source, trigger: &str, name: &str, files: &[&str]| {
        let mut event = event(trigger, source, files);
        event.hook = Some(name.into());
        started(hooks(), &event)
    };
    assert_eq!(by(Source::Person, "manual", "a", &["x.txt"]), ["a x.txt"], "named by hand");
    assert_eq!(by(Source::Person, "manual", "a", &[]), ["a"]);
    assert_eq!(by(Source::Person, "manual", "b", &[]), ["b"]);
    assert_eq!(by(Source::Person, "manual", "c", &[]), [] as [&str; 0]);
    assert_eq!(by(Source::Outside, "manual", "a", &[]), [] as [&str; 0], "only a person");
}

#[test]
fn a_rename_fits_by_either_name() {
    let mut renamed = event("onDidRenameFiles", Source::Watcher, &[]);
    renamed.files =
        vec![FileChange { path: "a.txt".into(), change: Change::Renamed { from: "a.rs".into() }, content_hash: None }];
    assert_eq!(started(vec![hook("h", "onDidRenameFiles", &["*.rs"])], &renamed), ["h a.txt"]);
    assert_eq!(started(vec![hook("h", "onDidRenameFiles", &["*.md"])], &renamed), [] as [&str; 0]);
}

#[test]
fn git_starts_only_what_says_so_in_its_own_repository() {
    let stated = |path: &str| Some(Value::from(path));
    let table: &[(bool, Option<&str>, Option<Value>, bool)] = &[
        (true, Some("/w/repo"), None, true),
        (true, Some("/w/repo"), stated("/w/repo"), true),
        (true, Some("."), stated("/w/repo/"), true),
        (true, Some("sub"), stated("/w/repo/sub"), true),
        (true, Some(".."), stated("/w"), true),
        (true, Some("/w/repo"), stated("/w/other"), false),
        (true, Some("/w/repo"), stated("/w/repo/sub"), false),
        (true, Some("/w/other"), None, false),
        (true, Some("/w/repo"), stated("repo"), false),
        (true, Some("/w/repo"), Some(Value::from(1)), false),
        (true, None, None, false),
        (false, Some("/w/repo"), None, false),
    ];
    for (allow_git, repo_root, repository, expected) in table {
        for trigger in ["gitCommit", "git:pre-push"] {
            let mut one = hook("h", trigger, &[]);
            one.allow_git = *allow_git;
            one.repo_root = repo_root.map(str::to_owned);
            let mut commit = event(trigger, Source::Git, &["a"]);
            commit.metadata.extend(repository.clone().map(|value| (REPOSITORY_KEY.to_owned(), value)));
            assert_eq!(started(vec![one], &commit).len() == 1, *expected, "{allow_git} {repo_root:?} {repository:?}");
        }
    }
}

#[test]
fn a_commit_without_a_fitting_file_starts_nothing() {
    let mut one = hook("h", "gitCommit", &["*.rs"]);
    (one.allow_git, one.repo_root) = (true, Some("/w/repo".into()));
    let files = |files: &[&str]| started(vec![one.clone()], &event("gitCommit", Source::Git, files));
    assert_eq!(files(&["a.md"]), [] as [&str; 0]);
    assert_eq!(files(&["a.md", "b.rs"]), ["h b.rs"]);
    assert_eq!(files(&[]), ["h"], "a commit of nothing, or one that does not say");
}

proptest! {
    #[test]
    fn no_name_leads_out(path in "[a.:/\\\\\u{0}~]{0,12}", glob in "[a.*/!{},]{0,12}") {
        let set = HookSet { hooks: vec![Arc::new(hook("h", SAVE, &[&glob]))], ..HookSet::default() };
        for (_, files) in matching(&set, &event(SAVE, Source::Watcher, &[&path])) {
            for file in files {
                let root = Path::new("/w/repo");
                let whole = normalise_path(&root.join(&file.path));
                prop_assert!(whole.starts_with(root) && whole != root, "{}", file.path);
            }
        }
    }
}
