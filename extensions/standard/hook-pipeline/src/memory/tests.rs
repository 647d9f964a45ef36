//! How experiences become candidates, how candidates are joined, promoted and forgotten.

use dispatch_hook_module::testing::TestInvocation;
use dispatch_hook_module::{EventName, Record, RecordType};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::candidate::{CandidateTrigger, MAX_CANDIDATES, MAX_EVIDENCE};
use super::*;
use crate::followup::{FollowupRules, compile, compile_path};

fn candidate(kind: CandidateKind, subject: &str, evidence: &[&str]) -> MemoryCandidate {
    let mut candidate = MemoryCandidate::new(kind, &[subject], &format!("about {subject}"), "");
    candidate.evidence = evidence.iter().map(|id| (*id).to_owned()).collect();
    merge([candidate]).remove(0)
}

fn relative(path: &str) -> Option<String> {
    path.strip_prefix("/repo/").map(str::to_owned)
}

fn experience(id: &str, run: &str, what: ExperienceKind) -> Experience {
    Experience {
        id: id.to_owned(),
        ts: String::new(),
        turn_id: 1,
        hook_run_id: run.to_owned(),
        tool_use_id: None,
        what,
    }
}

fn records(list: &[(&str, u64, RecordType, Value)]) -> Vec<Record> {
    let mut scene = TestInvocation::new(EventName::Stop);
    for (run, turn, kind, data) in list {
        scene = scene.record(kind.clone(), data.clone());
        let record = scene.view.records.last_mut().expect("just added");
        record.hook_run_id = (*run).to_owned();
        record.turn_id = *turn;
    }
    scene.view.records
}

fn failure(command: &str, program: &str, error: &str) -> ExperienceKind {
    let [command, program, error] = [command, program, error].map(str::to_owned);
    ExperienceKind::Failure { tool: "Bash".to_owned(), program, command, error }
}

fn correction(from: &str, to: &str, likeness: CommandSimilarity) -> ExperienceKind {
    ExperienceKind::Correction { program: "npm".to_owned(), from: from.to_owned(), to: to.to_owned(), likeness }
}

fn preference(text: &str) -> ExperienceKind {
    ExperienceKind::Preference { text: text.to_owned() }
}

#[test]
fn ids_are_made_of_what_a_candidate_is_about() {
    let one = MemoryCandidate::new(CandidateKind::Correction, &["a", "b"], "text", "R1");
    let told_otherwise = MemoryCandidate::new(CandidateKind::Correction, &["a", "b"], "other text", "R2");
    let other = MemoryCandidate::new(CandidateKind::Correction, &["ab"], "text", "R1");
    assert_eq!(one.id, told_otherwise.id);
    assert_ne!(one.id, other.id);
    assert_eq!(one.id, "mem-086d9f73eb");
}

#[test]
fn a_candidate_is_written_with_the_fields_people_read() {
    let found = serde_json::to_value(candidate(CandidateKind::Preference, "x", &["R2", "R1", "R2"])).expect("writable");
    let id = found["id"].clone();
    assert_eq!(
        found,
        json!({"id": id, "kind": "preference", "text": "about x", "evidence": ["R1", "R2"], "count": 2, "score": 0.6})
    );
}

#[test]
fn the_best_come_first_and_no_more_than_fifty() {
    let many = (0..80).map(|index| candidate(CandidateKind::Relation, &format!("{index}"), &["R1", "R2"]));
    let best = candidate(CandidateKind::Preference, "p", &["R9"]);
    let often = candidate(CandidateKind::Correction, "c", &["R1", "R2", "R3", "R4"]);
    let merged = merge(many.chain([best.clone(), often.clone()]));
    assert_eq!(merged.len(), MAX_CANDIDATES);
    assert_eq!((&merged[0], &merged[1]), (&often, &best));
    assert!(merged.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn the_newest_evidence_is_kept_and_the_count_stops_there() {
    let ids: Vec<String> = (0..100).map(|index| format!("R{index:03}")).collect();
    let found = candidate(CandidateKind::Hazard, "h", &ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((found.count, found.evidence.len()), (MAX_EVIDENCE, MAX_EVIDENCE));
    assert_eq!(found.evidence.last().map(String::as_str), Some("R099"));
}

#[test]
fn files_with_anything_in_them_are_read() {
    let good = candidate(CandidateKind::Hazard, "h", &["R1"]);
    let mut value = serde_json::to_value([&good]).expect("writable");
    let entries = value.as_array_mut().expect("a list");
    entries.push(json!(17));
    entries.push(json!({"id": "../../x", "kind": "hazard", "text": "t", "evidence": ["R1"]}));
    entries.push(json!({"id": "mem-0123456789", "kind": "hazard", "text": "", "evidence": ["R1"]}));
    entries.push(json!({"id": "mem-0123456789", "kind": "hazard", "text": "no evidence", "count": 99, "score": 1.0}));
    assert_eq!(parse_candidates(value.to_string().as_bytes()), std::slice::from_ref(&good));
    for broken in [&b""[..], b"{", b"{}", b"\xff\xfe"] {
        assert_eq!(parse_candidates(broken), []);
    }
    assert_eq!(parse_candidates(write_candidates(std::slice::from_ref(&good)).as_bytes()), [good]);
}

#[test]
fn experiences_become_candidates() {
    let log = records(&[
        ("run-1", 1, RecordType::Prompt, json!({})),
        ("run-2", 1, RecordType::ToolResult, json!({})),
        ("run-3", 1, RecordType::ToolResult, json!({})),
    ]);
    let denial = ExperienceKind::Denial {
        record: "R777".to_owned(),
        tool: "Bash".to_owned(),
        code: "UB01".to_owned(),
        reason: "No.".to_owned(),
    };
    type Row = (Vec<(&'static str, ExperienceKind)>, Vec<(CandidateKind, &'static str, Vec<&'static str>)>);
    let table: Vec<Row> = vec![
        (
            vec![("run-1", preference("Always run cargo fmt."))],
            vec![(CandidateKind::Preference, "Always run cargo fmt.", vec!["R001"])],
        ),
        (
            vec![("run-1", preference("Never use tabs.")), ("run-2", preference("never use tabs!"))],
            vec![(CandidateKind::Preference, "Never use tabs.", vec!["R001", "R002"])],
        ),
        (
            vec![("run-2", correction("npm tset", "npm test", CommandSimilarity::Close))],
            vec![(CandidateKind::Correction, "`npm tset` failed; `npm test` worked in its place.", vec!["R002"])],
        ),
        (vec![("run-2", correction("npm test", "npm test", CommandSimilarity::Same))], vec![]),
        (vec![("run-2", correction("npm a", "npm b", CommandSimilarity::Loose))], vec![]),
        (
            vec![
                ("run-2", correction("npm a", "npm b", CommandSimilarity::Loose)),
                ("run-3", correction("npm a", "npm b", CommandSimilarity::Loose)),
            ],
            vec![(CandidateKind::Correction, "`npm a` failed; `npm b` worked in its place.", vec!["R002", "R003"])],
        ),
        (vec![("run-2", failure("npm test", "npm", "boom"))], vec![]),
        (
            vec![("run-2", failure("npm test", "npm", "boom")), ("run-3", failure("npm run x", "npm", "boom"))],
            vec![(CandidateKind::Hazard, "`npm` keeps failing: boom", vec!["R002", "R003"])],
        ),
        (vec![("gone", denial)], vec![(CandidateKind::Hazard, "A call of Bash was refused (UB01): No.", vec!["R777"])]),
        (vec![("gone", preference("Always run cargo fmt."))], vec![]),
        (vec![("run-1", ExperienceKind::Prompt { sha256: String::new(), chars: 0, text: None })], vec![]),
    ];
    for (given, expected) in table {
        let experiences: Vec<Experience> = given
            .iter()
            .enumerate()
            .map(|(index, (run, what))| experience(&index.to_string(), run, what.clone()))
            .collect();
        let found = derive(&experiences, &log, &relative);
        let short: Vec<_> = found
            .iter()
            .map(|candidate| {
                (
                    candidate.kind,
                    candidate.text.as_str(),
                    candidate.evidence.iter().map(String::as_str).collect::<Vec<_>>(),
                )
            })
            .collect();
        assert_eq!(short, expected, "{given:?}");
    }
}

#[test]
fn files_that_change_together_again_are_related() {
    let write = |path: &str| json!({"kind": "write", "paths": [{"path": path, "access": "write"}]});
    let mut log = vec![
        ("a", 1, RecordType::ToolCall, write("/repo/src/api.rs")),
        ("b", 1, RecordType::ToolCall, write("/repo/docs/[api].md")),
        ("c", 1, RecordType::ToolCall, write("/repo/other.rs")),
        ("d", 2, RecordType::ToolCall, write("/repo/docs/[api].md")),
        ("e", 2, RecordType::ToolCall, write("/repo/src/api.rs")),
        ("f", 2, RecordType::ToolCall, write("/repo/.ai/tmp/x/y")),
        ("g", 2, RecordType::ToolCall, write("/elsewhere/x")),
    ];
    let found = derive(&[], &records(&log), &relative);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "`docs/[api].md` and `src/api.rs` change together.");
    assert_eq!(found[0].evidence, ["R002", "R005"]);
    assert!(
        compile_path(&found[0].trigger.paths[0]).is_ok_and(|glob| glob.is_match("docs/[api].md")),
        "{:?}",
        found[0].trigger
    );

    log.push(("e", 2, RecordType::HookRun, json!({"decision": "deny"})));
    assert_eq!(derive(&[], &records(&log), &relative), [], "a refused call changes nothing");
    let wide: Vec<_> = (1..=2)
        .flat_map(|turn| {
            (0..20).map(move |index| {
                (
                    "w",
                    turn,
                    RecordType::ToolCall,
                    json!({"paths": [{"path": format!("/repo/{index}"), "access": "write"}]}),
                )
            })
        })
        .collect();
    assert_eq!(derive(&[], &records(&wide), &relative), [], "a sweep over many files says nothing");
}

fn promoted_rule(candidate: &MemoryCandidate) -> Value {
    match promote(None, candidate).expect("promotable") {
        Promotion::Added(text) => serde_json::from_str::<Value>(&text).expect("JSON")["rules"][0].clone(),
        Promotion::AlreadyThere => panic!("there was no file"),
    }
}

#[test]
fn every_kind_is_promoted_to_a_rule_that_can_be_used() {
    let log = records(&[("run-1", 1, RecordType::Prompt, json!({})), ("run-2", 1, RecordType::ToolResult, json!({}))]);
    let found = derive(
        &[
            experience("1", "run-1", preference("Never use {path} in templates.")),
            experience("2", "run-2", correction("cd web && npm tset --a", "npm test", CommandSimilarity::Close)),
            experience("3", "run-1", failure("g++ x", "g++", "boom")),
            experience("4", "run-2", failure("g++ y", "g++", "boom")),
        ],
        &log,
        &relative,
    );
    let rules: Vec<Value> = found.iter().map(promoted_rule).collect();
    let parsed = FollowupRules::parse(json!({"rules": rules}).to_string().as_bytes());
    assert_eq!(
        (parsed.rules.len(), parsed.faults.as_slice(), parsed.pattern_faults().as_slice()),
        (3, &[][..], &[][..])
    );
    let by_kind = |kind: CandidateKind| {
        found.iter().position(|candidate| candidate.kind == kind).map(|index| &rules[index]).expect("there")
    };
    let preference = by_kind(CandidateKind::Preference);
    assert_eq!(preference["inject"], "The user's preference: Never use { path } in templates.");
    assert_eq!(preference["when"], json!({"event": "PreToolUse", "kinds": ["write", "execute"]}));
    assert_eq!((&preference["once"], &preference["priority"]), (&json!("session"), &json!(45)));

    let correction =
        compile(by_kind(CandidateKind::Correction)["when"]["command"].as_str().expect("a pattern")).expect("compiles");
    for (command, expected) in
        [("npm tset", true), ("cd x; npm --silent tset", true), ("npm test", false), ("pnpm tset", false)]
    {
        assert_eq!(correction.is_match(command.as_bytes()), expected, "{command}");
    }
    let hazard =
        compile(by_kind(CandidateKind::Hazard)["when"]["command"].as_str().expect("a pattern")).expect("compiles");
    assert!(hazard.is_match(b"/usr/bin/g++ -O2") && !hazard.is_match(b"gcc"));
}

#[test]
fn promoting_keeps_what_the_user_wrote_and_happens_once() {
    let candidate = candidate(CandidateKind::Preference, "p", &["R1"]);
    let text = r#"{"comment": "mine", "rules": [{"id": "own", "extra": [1]}], "z": 1}"#;
    let Ok(Promotion::Added(first)) = promote(Some(text), &candidate) else { panic!("added") };
    let value: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(value.as_object().expect("object").keys().collect::<Vec<_>>(), ["comment", "rules", "z"]);
    assert_eq!(value["rules"][0], json!({"id": "own", "extra": [1]}));
    assert!(matches!(promote(Some(&first), &candidate), Ok(Promotion::AlreadyThere)));

    let taken = format!(r#"{{"rules": [{{"id": "{}", "inject": "mine"}}]}}"#, candidate.id);
    assert!(matches!(promote(Some(&taken), &candidate), Err(MemoryError::RuleExists(id)) if id == candidate.id));
    for broken in ["{", "[]", r#"{"rules": 1}"#] {
        assert!(
            matches!(promote(Some(broken), &candidate), Err(MemoryError::RulesNotJson(_) | MemoryError::RulesShape(_))),
            "{broken}"
        );
    }
    assert!(matches!(promote(Some(" \n"), &candidate), Ok(Promotion::Added(_))));

    let back = withdraw(&first, &candidate.id).expect("usable").expect("it was there");
    assert_eq!(serde_json::from_str::<Value>(&back).expect("JSON"), serde_json::from_str::<Value>(text).expect("JSON"));
    assert_eq!(withdraw(&back, &candidate.id).unwrap(), None);
}

#[test]
fn what_is_forgotten_is_gone_from_files_and_lists() {
    let (keep, drop) =
        (candidate(CandidateKind::Hazard, "keep", &["R1"]), candidate(CandidateKind::Hazard, "drop", &["R1"]));
    let file = write_candidates(&merge([keep.clone(), drop.clone()]));
    assert_eq!(forget(&file, &drop.id), Some(write_candidates(std::slice::from_ref(&keep))));
    assert_eq!(forget(&file, "mem-0000000000"), None);

    let forgotten = ForgottenCandidates::parse(ForgottenCandidates::default().with(&drop.id).write().as_bytes());
    let listed = list([file.as_bytes()], &forgotten, &FollowupRules::default());
    assert_eq!(listed, [ListedCandidate { candidate: keep, promoted: false }]);
    assert_eq!(ForgottenCandidates::parse(b"{"), ForgottenCandidates::default());
}

#[test]
fn the_list_joins_sessions_and_tells_what_is_promoted() {
    let one = candidate(CandidateKind::Preference, "p", &["R1"]);
    let two = candidate(CandidateKind::Preference, "p", &["R2"]);
    let files = [write_candidates(std::slice::from_ref(&one)), write_candidates(&[two])];
    let Ok(Promotion::Added(rules)) = promote(None, &one) else { panic!("added") };
    let listed = list(
        files.iter().map(String::as_bytes),
        &ForgottenCandidates::default(),
        &FollowupRules::parse(rules.as_bytes()),
    );
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].candidate.count, listed[0].promoted), (2, true));
}

#[test]
fn a_candidate_is_found_by_the_start_of_its_id() {
    let entry = |id: &str| ListedCandidate {
        candidate: MemoryCandidate { id: id.to_owned(), ..candidate(CandidateKind::Hazard, "h", &["R"]) },
        promoted: false,
    };
    let listed = [entry("mem-aa00000000"), entry("mem-ab00000000")];
    assert_eq!(find(&listed, "ab").unwrap().candidate.id, "mem-ab00000000");
    assert_eq!(find(&listed, "mem-aa00000000").unwrap().candidate.id, "mem-aa00000000");
    assert!(matches!(find(&listed, "a"), Err(MemoryError::Ambiguous(id)) if id == "a"));
    assert!(matches!(find(&listed, ""), Err(MemoryError::NotFound(id)) if id.is_empty()));
    assert!(matches!(find(&listed, "zz"), Err(MemoryError::NotFound(id)) if id == "zz"));
}

fn any_candidate() -> impl Strategy<Value = MemoryCandidate> {
    let kinds = [CandidateKind::Correction, CandidateKind::Preference, CandidateKind::Hazard, CandidateKind::Relation];
    let evidence = proptest::collection::vec(0u8..90, 0..40);
    let word = || proptest::sample::select(vec!["", "a", "b", "c d"]);
    (proptest::sample::select(kinds.to_vec()), word(), word(), evidence, word()).prop_map(
        |(kind, subject, text, evidence, tool)| {
            let mut candidate = MemoryCandidate::new(kind, &[subject], text, "");
            candidate.evidence = evidence.into_iter().map(|number| format!("R{number:02}")).collect();
            candidate.at(CandidateTrigger { tools: vec![tool.to_owned()], ..CandidateTrigger::default() })
        },
    )
}

fn any_candidates() -> impl Strategy<Value = Vec<MemoryCandidate>> {
    proptest::collection::vec(any_candidate(), 0..12)
}

proptest! {
    #[test]
    fn joining_is_the_same_in_any_order_and_however_often(left in any_candidates(), right in any_candidates(), more in any_candidates()) {
        let join = |left: &[MemoryCandidate], right: &[MemoryCandidate]| merge(left.iter().chain(right).cloned());
        let (a, b, c) = (merge(left), merge(right), merge(more));
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(&join(&a, &a), &a);
        prop_assert_eq!(join(&join(&a, &b), &b), join(&a, &b));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
    }

    #[test]
    fn any_bytes_are_some_list_of_experiences(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(parse_experiences(&bytes).len() <= 1);
        prop_assert!(parse_candidates(&bytes).is_empty());
    }
}
