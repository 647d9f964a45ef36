//! Which process may run which dispatch, and what a list says about one that nobody takes.

use super::*;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn scope(workspace: &str, extensions: Option<&[&str]>) -> DispatchScope {
    DispatchScope { workspace: workspace.into(), extensions: extensions.map(set), ..DispatchScope::default() }
}

fn there() -> FolderCheck {
    Arc::new(|folder: &Path| !folder.starts_with("/gone"))
}

fn runner(workspace: &str, extensions: &[&str]) -> RunnerScope {
    RunnerScope {
        workspace: workspace.into(),
        extensions: Arc::new(set(extensions)),
        settings: Arc::default(),
        folder_exists: there(),
    }
}

#[test]
fn a_process_runs_only_what_it_can_run_as_it_was_meant() {
    let full = runner("/p2", &["guards", "shell"]);
    for (process, dispatch, folder, expected) in [
        (&full, Some(scope("/p2", Some(&["guards", "shell"]))), "/p2", true),
        (&full, Some(scope("/p2", Some(&["guards"]))), "/p2/sub", true),
        (&full, Some(scope("/p1", Some(&["guards"]))), "/p1", false),
        (&full, Some(scope("/p2", Some(&["guards", "more"]))), "/p2", false),
        (&full, Some(scope("/p2", Some(&[]))), "/gone/p2", false),
        (&full, None, "/p2", false),
        (&full, Some(scope("/p2", None)), "/p2", true),
        (&runner("/p2", &[]), Some(scope("/p2", Some(&["shell"]))), "/p2", false),
        (&runner("/p2", &[]), Some(scope("/p2", Some(&[]))), "/p2", true),
        (&runner("/p2", &[]), Some(scope("/p2", None)), "/p2", false),
    ] {
        assert_eq!(process.can_run(dispatch.as_ref(), Some(Path::new(folder))), expected, "{dispatch:?} in {folder}");
    }
}

fn waiting(id: &str, session: &str, scope: Option<DispatchScope>, free_since_ms: Option<u64>) -> WaitingMessage {
    let folder = scope.as_ref().map(|scope| scope.workspace.clone());
    WaitingMessage { id: DispatchId::new(id), session: session.to_owned(), scope, folder, free_since_ms }
}

#[test]
fn a_reason_names_the_command_that_helps() {
    let all = [
        waiting("a", "one", Some(scope("/p2", Some(&["guards"]))), Some(0)),
        waiting("b", "one", Some(scope("/p1", Some(&["guards"]))), Some(0)),
        waiting("c", "two", Some(scope("/gone/p", Some(&[]))), Some(9_999)),
        waiting("d", "three", None, Some(9_999)),
        waiting("e", "four", Some(scope("/p2", Some(&[]))), Some(9_000)),
        waiting("f", "five", Some(scope("/p2", Some(&[]))), None),
    ];
    let told: BTreeMap<String, String> = wait_reasons(&all, 10_000, &runner("/p2", &[]))
        .into_iter()
        .map(|(id, reason)| (id.to_string(), reason.to_string()))
        .collect();
    assert_eq!(told.keys().collect::<Vec<_>>(), ["a", "b", "c", "d"], "the others are taken up by themselves");
    assert_eq!(
        told["a"],
        "no running process can take it: it needs one that works in /p2 with guards; `dispatch --project '/p2' serve` \
         starts one"
    );
    assert_eq!(told["b"], "it waits behind a of the same session");
    assert!(
        told["c"].contains("/gone/p does not exist any more") && told["c"].contains("queue move c"),
        "{}",
        told["c"]
    );
    assert!(told["d"].contains("`dispatch queue move d FOLDER`"), "{}", told["d"]);
}

fn given(values: &[(&str, &str, bool)]) -> Settings {
    let setting = |(name, value, by_flag): &(&str, &str, bool)| {
        let origin = match by_flag {
            true => Origin::Flag { flag: "--set".to_owned() },
            false => Origin::Global { file: "dispatch.toml".to_owned() },
        };
        ((*name).to_owned(), Setting { value: (*value).into(), origin })
    };
    Settings::new(values.iter().map(setting).collect())
}

#[test]
fn what_was_set_for_one_process_must_be_set_for_the_one_that_runs_it() {
    let core = set(&["provider"]);
    let own = |values: &[(&str, &str, bool)]| own_settings(&given(values), &core);
    assert!(
        own(&[("redact.patterns", "a", false), ("model.model", "m", true), ("extensions.disabled", "x", true)])
            .is_empty()
    );
    assert!(own(&[("extensions.provider.attempts", "3", true)]).is_empty(), "it takes no part as a guard");
    let strict = own(&[("redact.patterns", "a", true), ("extensions.shell.sandbox", "on", true)]);
    assert_eq!(strict.len(), 2);
    assert!(!format!("{strict:?}").contains("\"a\""), "values are not kept");
    let sent = DispatchScope { settings: Some(strict.clone()), ..scope("/p2", Some(&["shell"])) };
    let plain = runner("/p2", &["shell"]);
    assert!(!plain.can_run(Some(&sent), None));
    assert!(RunnerScope { settings: Arc::new(strict), ..plain.clone() }.can_run(Some(&sent), None));
    let other = own(&[("redact.patterns", "b", true), ("extensions.shell.sandbox", "on", true)]);
    assert!(!RunnerScope { settings: Arc::new(other.clone()), ..plain.clone() }.can_run(Some(&sent), None));
    assert!(
        RunnerScope { settings: Arc::new(other), ..plain.clone() }.can_run(Some(&scope("/p2", Some(&["shell"]))), None)
    );
    let all = [waiting("a", "one", Some(sent), Some(0))];
    let told = wait_reasons(&all, 10_000, &plain).remove(&DispatchId::new("a")).map(|reason| reason.to_string());
    let named = "the same values of `extensions.shell.sandbox`, `redact.patterns`";
    assert!(told.as_ref().is_some_and(|told| told.contains(named)), "{told:?}");
}
