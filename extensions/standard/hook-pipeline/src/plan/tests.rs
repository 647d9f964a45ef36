//! Tables and properties of plans: what is read, what is refused, how a plan moves on.

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::state::merge;
use dispatch_hook_module::testing::{MemoryView, NOW_MS, ROOT, TestInvocation, in_repo};
use dispatch_hook_module::{RecordType, SessionState};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::check::MAX_NODES;
use super::locate::PLAN_FILE;
use super::*;

fn node(id: &str, depends_on: &[&str]) -> Value {
    json!({"id": id, "title": format!("do {id}"), "scope": [format!("src/{id}/**")], "dependsOn": depends_on})
}

fn document(nodes: Vec<Value>) -> Vec<u8> {
    json!({"version": 1, "nodes": nodes}).to_string().into_bytes()
}

fn plan(nodes: Vec<Value>) -> Plan {
    parse(&document(nodes)).unwrap_or_else(|problems| panic!("{}", describe(&problems)))
}

fn problems(bytes: &[u8]) -> Vec<String> {
    parse(bytes).expect_err("problems").iter().map(ToString::to_string).collect()
}

fn with(mut node: Value, field: &str, value: Value) -> Value {
    node[field] = value;
    node
}

const EXECUTING: WorkStatus = WorkStatus { phase: Phase::Executing, now_ms: NOW_MS, needs_person: false };

#[test]
fn a_plan_is_read_with_all_its_fields_and_written_back() {
    let full = json!({"id": "n.1-a_b", "title": "t", "scope": ["src/**", "!src/x"], "tools": ["kind:write", "Bash"],
        "dependsOn": [], "validations": ["cargo test"], "decision": "use SQLite", "future": 1});
    let read = plan(vec![full.clone(), with(node("b", &["n.1-a_b"]), "decision", json!(true))]);
    assert_eq!(read.nodes[0].validations, ["cargo test"]);
    assert_eq!(read.nodes[0].decision, Some(DecisionMark::Text("use SQLite".to_owned())));
    assert_eq!(read.nodes[1].decision, Some(DecisionMark::Flag(true)));
    let written = serde_json::to_vec(&read).expect("serialisable");
    assert_eq!(parse(&written).expect("readable"), read);
    let with_mark = [&b"\xef\xbb\xbf"[..], &written].concat();
    assert_eq!(parse(&with_mark).expect("readable"), read);
}

#[test]
fn every_problem_is_told_at_once_with_its_place() {
    let text = json!({"version": 2, "nodes": [
        {"id": "a", "title": "", "scope": ["/etc/*", "../x", "a/../../b", "#c", "{1..99999}"], "dependsOn": ["b", "zz"]},
        {"id": "a", "scope": "src", "dependsOn": [1]},
        {"id": "b b", "title": "t", "scope": [], "dependsOn": ["a"], "tools": {}, "decision": 3},
        7,
    ]});
    let found = problems(text.to_string().as_bytes());
    let expected = [
        "version: must be 1",
        "nodes[0].title: is empty",
        "nodes[0].scope[0]: the glob `/etc/*` leaves the workspace; it must be relative and must not contain `..`",
        "nodes[0].scope[1]: the glob `../x` leaves the workspace; it must be relative and must not contain `..`",
        "nodes[0].scope[2]: the glob `a/../../b` leaves the workspace; it must be relative and must not contain `..`",
        "nodes[0].scope[3]: the glob is a comment or empty, so it matches nothing",
        "nodes[0].scope[4]: invalid glob: the braces of the pattern expand to more than 4096 patterns or 262144 characters",
        "nodes[1].title: is missing",
        "nodes[1].scope: must be a list of strings",
        "nodes[1].dependsOn[0]: must be a string",
        "nodes[2].id: may contain only letters, digits, `.`, `_` and `-`",
        "nodes[2].tools: must be a list of strings",
        "nodes[2].decision: must be true, false or a string",
        "nodes[3]: must be an object",
        "nodes[1].id: `a` is the id of an earlier node",
        "nodes[0].dependsOn[0]: `b` is not a node of the plan",
        "nodes[0].dependsOn[1]: `zz` is not a node of the plan",
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_plan_is_one_problem() {
    for (bytes, expected) in [
        (&b""[..], "not JSON"),
        (b"[]", "must be an object"),
        (b"\xff\xfe", "not JSON"),
        (b"{\"version\": 1", "not JSON"),
        (br#"{"version": 1}"#, "nodes: is missing"),
        (br#"{"version": 1, "nodes": {}}"#, "nodes: must be a list"),
        (br#"{"version": 1, "nodes": []}"#, "nodes: is empty"),
        (br#"{"version": "1", "nodes": []}"#, "version: must be 1"),
    ] {
        let found = problems(bytes);
        assert!(found[0].starts_with(expected), "{found:?}");
    }
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert!(problems(&deep)[0].starts_with("not JSON"));
}

#[test]
fn huge_plans_are_refused_and_long_chains_are_not() {
    let bytes = vec![b' '; usize::try_from(PLAN_LIMIT_BYTES).expect("small") + 1];
    assert_eq!(problems(&bytes).len(), 1);
    let many = (0..=MAX_NODES).map(|id| node(&id.to_string(), &[])).collect();
    assert_eq!(problems(&document(many)), ["nodes: is too long: at most 1000"]);
    let chain = (0..MAX_NODES).map(|id| {
        let before = (id > 0).then(|| (id - 1).to_string());
        node(&id.to_string(), &before.iter().map(String::as_str).collect::<Vec<_>>())
    });
    let chain = plan(chain.rev().collect());
    let open = open_nodes(&chain, &PlanProgress::default());
    assert_eq!(open.iter().map(|node| node.id.as_str()).collect::<Vec<_>>(), ["0"]);
    let bad = (0..MAX_NODES).map(|_| json!({})).collect();
    assert_eq!(parse(&document(bad)).expect_err("problems").len(), 200);
    assert!(describe(&parse(&document(vec![json!({}); 50])).expect_err("problems")).ends_with("more"));
}

#[test]
fn nodes_that_wait_for_each_other_are_named() {
    type Nodes<'n> = &'n [(&'n str, &'n [&'n str])];
    let table: [(Nodes<'_>, Option<&str>); 5] = [
        (&[("a", &["a"])], Some("a -> a")),
        (&[("a", &["b"]), ("b", &["a"])], Some("a -> b -> a")),
        (&[("x", &["a"]), ("a", &["b"]), ("b", &["c"]), ("c", &["a"])], Some("a -> b -> c -> a")),
        (&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"]), ("d", &["b", "c"])], None),
        (&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])], None),
    ];
    for (nodes, expected) in table {
        let bytes = document(nodes.iter().map(|(id, on)| node(id, on)).collect());
        match expected {
            None => assert!(parse(&bytes).is_ok(), "{nodes:?}"),
            Some(cycle) => {
                assert_eq!(problems(&bytes), [format!("nodes: these nodes wait for each other: {cycle}")]);
            }
        }
    }
}

#[test]
fn a_node_admits_its_tools_and_kinds() {
    use dispatch_toolcall::ToolKind;
    let admits =
        |tools: Value, tool: &str, kind| plan(vec![with(node("a", &[]), "tools", tools)]).nodes[0].admits(tool, kind);
    assert!(admits(Value::Null, "Bash", ToolKind::Execute));
    assert!(admits(json!(["bash"]), "Bash", ToolKind::Execute));
    assert!(admits(json!(["kind:write"]), "Edit", ToolKind::Write));
    assert!(admits(json!(["*"]), "Edit", ToolKind::Write));
    assert!(!admits(json!(["kind:write"]), "Bash", ToolKind::Execute));
    assert!(!admits(json!([]), "Bash", ToolKind::Execute));
}

fn source() -> PlanSource {
    PlanSource { path: ".ai/plan/planGraph.json".to_owned(), mtime_ms: 5, hash: "h".to_owned() }
}

fn merged(state: &SessionState, step: &PlanTransition) -> SessionState {
    let (next, problems) = merge(state, step.state_patch.as_ref().expect("a patch"));
    assert!(problems.is_empty(), "{problems:?}");
    next
}

fn kinds(step: &PlanTransition) -> Vec<RecordType> {
    step.records.iter().map(|record| record.kind.clone()).collect()
}

#[test]
fn a_plan_goes_from_accepted_to_complete() {
    let plan = plan(vec![with(node("a", &[]), "validations", json!(["true"])), node("b", &["a"])]);
    let planning = WorkStatus { phase: Phase::Planning, ..EXECUTING };
    let old = SessionState::from_value(json!({"core": {"phase": "PLANNING"}, "plan": {"nodes": {"a": "completed"}}}));
    let step = accept(&plan, &source(), planning).expect("accepted");
    assert_eq!(kinds(&step), [RecordType::PlanAccepted, RecordType::PhaseChanged]);
    assert_eq!(step.phase, Some(Phase::Executing));
    let state = merged(&old, &step);
    assert_eq!((state.phase(), state.plan_path()), (Phase::Executing, Some(".ai/plan/planGraph.json")));
    assert!(state.plan_nodes().is_empty(), "an earlier plan's progress is forgotten");

    let step = start(&plan, &PlanProgress::of(&state), "a", EXECUTING).expect("started");
    assert_eq!(kinds(&step), [RecordType::PlanNodeStarted]);
    let state = merged(&state, &step);
    assert_eq!(start(&plan, &PlanProgress::of(&state), "a", EXECUTING), Ok(PlanTransition::default()));
    let waits = PlanError::NotOpen { node: "b".to_owned(), waiting_for: vec!["a".to_owned()] };
    assert_eq!(start(&plan, &PlanProgress::of(&state), "b", EXECUTING), Err(waits.clone()));
    assert_eq!(complete(&plan, &PlanProgress::of(&state), "b", &[], EXECUTING), Err(waits));

    let passed = [ValidationResult { command: "true".to_owned(), exit_code: Some(0) }];
    let step = complete(&plan, &PlanProgress::of(&state), "a", &passed, EXECUTING).expect("completed");
    assert_eq!((kinds(&step), step.phase), (vec![RecordType::PlanNodeCompleted], None));
    let state = merged(&state, &step);
    let step = complete(&plan, &PlanProgress::of(&state), "b", &[], EXECUTING).expect("completed");
    assert_eq!(kinds(&step), [RecordType::PlanNodeCompleted, RecordType::PhaseChanged]);
    let state = merged(&state, &step);
    assert_eq!(state.phase(), Phase::Complete);
    assert!(open_nodes(&plan, &PlanProgress::of(&state)).is_empty());
    let done = WorkStatus { phase: Phase::Complete, ..EXECUTING };
    assert_eq!(accept(&plan, &source(), done), Err(PlanError::WorkComplete));
}

#[test]
fn a_failed_check_blocks_and_the_node_stays_open() {
    let plan = plan(vec![with(node("a", &[]), "validations", json!(["x", "y"]))]);
    let result = |command: &str, exit_code| ValidationResult { command: command.to_owned(), exit_code };
    let state = SessionState::from_value(json!({"core": {"phase": "EXECUTING"}}));
    for failed in [Some(1), None] {
        let results = [result("x", Some(0)), result("y", failed)];
        let step = complete(&plan, &PlanProgress::default(), "a", &results, EXECUTING).expect("a step");
        assert_eq!(kinds(&step), [RecordType::PlanNodeFailed, RecordType::PhaseChanged]);
        assert_eq!(step.records[0].data["validations"][1]["ok"], false);
        let state = merged(&state, &step);
        assert_eq!((state.phase(), PlanProgress::of(&state).status("a")), (Phase::Blocked, NodeStatus::Failed));
        assert_eq!(open_nodes(&plan, &PlanProgress::of(&state)).len(), 1);
    }
    let missing = PlanError::NotValidated { node: "a".to_owned(), command: "y".to_owned() };
    assert_eq!(complete(&plan, &PlanProgress::default(), "a", &[result("x", Some(0))], EXECUTING), Err(missing));
}

#[test]
fn steps_that_make_no_sense_are_refused() {
    let plan = plan(vec![node("a", &[])]);
    let none = PlanProgress::default();
    let done: PlanProgress = [("a", NodeStatus::Completed)].into_iter().collect();
    assert_eq!(start(&plan, &none, "zz", EXECUTING), Err(PlanError::UnknownNode("zz".to_owned())));
    assert_eq!(start(&plan, &done, "a", EXECUTING), Err(PlanError::AlreadyCompleted("a".to_owned())));
    for phase in [Phase::Uninitialized, Phase::Planning, Phase::Blocked, Phase::Complete] {
        let standing = WorkStatus { phase, ..EXECUTING };
        assert_eq!(start(&plan, &none, "a", standing), Err(PlanError::NotExecuting(phase)));
        assert_eq!(complete(&plan, &none, "a", &[], standing), Err(PlanError::NotExecuting(phase)));
    }
    let blocked = WorkStatus { phase: Phase::Blocked, ..EXECUTING };
    assert_eq!(accept(&plan, &source(), blocked).expect("accepted").phase, Some(Phase::Executing));
    let for_a_person = WorkStatus { needs_person: true, ..blocked };
    assert_eq!(accept(&plan, &source(), for_a_person), Err(PlanError::WorkBlocked));
    let again = accept(&plan, &source(), EXECUTING).expect("accepted");
    assert_eq!((kinds(&again), again.phase), (vec![RecordType::PlanAccepted], None));
}

#[test]
fn the_plan_is_looked_for_in_order_and_only_in_the_workspace() {
    let own = format!(".ai/tmp/a3f0c812/planGraph-exec/output/{PLAN_FILE_NAME}");
    let bytes = |id: &str| document(vec![node(id, &[])]);
    let scene = |state: Value, files: &[(&str, &str)]| {
        let mut view = MemoryView::default();
        for (path, id) in files {
            view.files.insert(in_repo(path), bytes(id));
        }
        let scene = TestInvocation::command("ls");
        match find(&scene.paths, &SessionState::from_value(state), &view) {
            PlanLookup::Valid { plan, source } => format!("{} {}", source.path, plan.nodes[0].id),
            PlanLookup::Invalid { path, .. } => format!("{path} invalid"),
            PlanLookup::Nothing => "nothing".to_owned(),
        }
    };
    let at = |path: &str| json!({"plan": {"currentPath": path}});
    let all = [("p/x.json", "x"), (PLAN_FILE, "r"), (own.as_str(), "s")];
    assert_eq!(scene(at("p/x.json"), &all), "p/x.json x");
    assert_eq!(scene(at("p/gone.json"), &all), format!("{PLAN_FILE} r"));
    assert_eq!(scene(json!({}), &all), format!("{PLAN_FILE} r"));
    assert_eq!(scene(json!({}), &all[2..]), format!("{own} s"));
    assert_eq!(scene(json!({}), &[]), "nothing");
    let outside = [("../other.json", "o")];
    for path in ["../other.json", "/other.json", "p/../../other.json"] {
        assert_eq!(scene(at(path), &outside), "nothing", "{path}");
    }
    assert!(ROOT.starts_with('/'));
}

fn graph() -> impl Strategy<Value = (Vec<Value>, PlanProgress)> {
    let status = prop_oneof![
        Just(NodeStatus::Pending),
        Just(NodeStatus::Started),
        Just(NodeStatus::Completed),
        Just(NodeStatus::Failed)
    ];
    let entry = (proptest::collection::vec(0_usize..12, 0..4), status);
    proptest::collection::vec(entry, 1..12).prop_map(|entries| {
        let id = |index: usize| format!("n{index}");
        let nodes = entries.iter().enumerate().map(|(index, (on, _))| {
            // Only earlier nodes, so that there is no cycle.
            let on: Vec<String> = on.iter().filter(|other| **other < index).map(|other| id(*other)).collect();
            node(&id(index), &on.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let progress = entries.iter().enumerate().map(|(index, (_, status))| (id(index), *status)).collect();
        (nodes.collect(), progress)
    })
}

proptest! {
    #[test]
    fn an_open_node_never_waits((nodes, progress) in graph()) {
        let plan = plan(nodes);
        let open = open_nodes(&plan, &progress);
        for node in &open {
            prop_assert_ne!(progress.status(&node.id), NodeStatus::Completed);
            for id in &node.depends_on {
                prop_assert_eq!(progress.status(id), NodeStatus::Completed);
            }
        }
        // Work can always go on: while something is not completed and nothing is completed out of order, a node is open.
        let ordered = plan.nodes.iter().all(|node| progress.status(&node.id) != NodeStatus::Completed
            || node.depends_on.iter().all(|id| progress.status(id) == NodeStatus::Completed));
        let unfinished = plan.nodes.iter().any(|node| progress.status(&node.id) != NodeStatus::Completed);
        prop_assert!(!(ordered && unfinished && open.is_empty()));
    }

    #[test]
    fn following_open_nodes_completes_any_plan((nodes, _) in graph()) {
        let plan = plan(nodes);
        let mut state = SessionState::from_value(json!({"core": {"phase": "EXECUTING"}}));
        for _ in 0..plan.nodes.len() {
            let progress = PlanProgress::of(&state);
            let next = open_nodes(&plan, &progress).first().expect("an open node").id.clone();
            let step = complete(&plan, &progress, &next, &[], EXECUTING).expect("completed");
            state = merged(&state, &step);
        }
        prop_assert_eq!(state.phase(), Phase::Complete);
    }

    #[test]
    fn any_text_is_judged(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
    }
}
