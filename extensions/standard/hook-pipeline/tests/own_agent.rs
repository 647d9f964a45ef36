//! The pipeline behind our own agent: the real extension in the real extension host, around real turns.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "own_agent/modules.rs"]
mod modules;
#[path = "own_agent/test_agent.rs"]
mod test_agent;

use dispatch_contracts::conversation::ResultStatus;
use dispatch_contracts::permission::Verdict;
use dispatch_kernel::host::ExtensionState;
use ext_hook_pipeline::contract::extension_with;
use ext_hook_pipeline::extension;
use serde_json::{Value, json};
use test_agent::{AgentWorkspace, TestAgent, run};

#[test]
fn the_manifest_is_one_that_the_host_takes() {
    let manifest = dispatch_kernel::host::manifest::parse(&extension().manifest()).unwrap();
    assert_eq!(manifest.id.as_str(), "hook-pipeline");
}

#[test]
fn the_kernel_starts_with_it_and_without_it() {
    run(async {
        let with = TestAgent::boot(vec![extension()]).await;
        assert_eq!(with.state("hook-pipeline"), Some(ExtensionState::Active));
        let workspace = AgentWorkspace::with_rules(json!({}));
        let without = TestAgent::boot(Vec::new()).await;
        let turn = without.turn(&workspace, &[("run_shell", json!({"command": "rm -rf /"}))]).await;
        assert_eq!(turn.results[0].status, ResultStatus::Succeeded, "nobody guards what has no guard");
        assert!(workspace.records().is_empty());
    });
}

#[test]
fn a_call_that_a_guard_refuses_does_not_run_and_the_model_reads_why() {
    run(async {
        let agent = TestAgent::boot(vec![extension()]).await;
        let workspace = AgentWorkspace::with_rules(json!({}));
        let calls = [
            ("run_shell", json!({"command": "rm -rf /etc"})),
            ("write_file", json!({"path": ".ai/hooks/config.json", "content": "{}"})),
            ("run_shell", json!({"command": "ls"})),
        ];
        let turn = agent.turn(&workspace, &calls).await;
        let [deleted, edited, listed] = &turn.results[..] else { panic!("{:?}", turn.results) };
        assert_eq!((deleted.status, edited.status), (ResultStatus::Denied, ResultStatus::Denied));
        assert!(deleted.text.contains("(UB01)"), "{}", deleted.text);
        assert!(edited.text.contains("guard:") && edited.text.contains("Nobody can be asked here"), "{}", edited.text);
        assert_eq!((listed.status, turn.ran.as_slice()), (ResultStatus::Succeeded, &[calls[2].1.clone()][..]));

        let denied = |run: &&Value| run["decision"] == "deny";
        let runs = workspace.of_type("HOOK_RUN");
        let codes: Vec<&Value> = runs.iter().filter(denied).map(|run| &run["data"]["code"]).collect();
        assert_eq!((codes.len(), codes[0]), (2, &json!("UB01")));
        assert!(runs.iter().all(|run| run["data"]["host"] == "native"));
        let results = workspace.of_type("TOOL_RESULT");
        assert_eq!((results.len(), &results[0]["data"]["ok"]), (1, &json!(true)));
    });
}

#[test]
fn a_session_leaves_its_start_its_prompts_and_its_stops_in_order() {
    run(async {
        let agent = TestAgent::boot(vec![extension()]).await;
        let workspace = AgentWorkspace::with_rules(json!({}));
        let turn = agent.turn(&workspace, &[("run_shell", json!({"command": "ls"}))]).await;
        assert!(
            turn.requests.iter().all(|request| request.system.iter().any(|text| text.contains("Dispatch session")))
        );
        agent.turn(&workspace, &[]).await;
        agent.settle(&workspace, "STOP", 2).await;
        let kinds: Vec<String> =
            workspace.records().iter().map(|record| record["type"].as_str().unwrap().to_owned()).collect();
        let facts: Vec<&str> = kinds
            .iter()
            .map(String::as_str)
            .filter(|kind| ["SESSION_STARTED", "PROMPT", "TOOL_CALL", "TOOL_RESULT", "STOP"].contains(kind))
            .collect();
        let first = ["SESSION_STARTED", "PROMPT", "TOOL_CALL", "TOOL_RESULT"];
        assert_eq!((&facts[..4], facts.len()), (&first[..], 7));
        assert_eq!(workspace.of_type("PROMPT")[1]["turnId"], 2);
    });
}

#[test]
fn without_rules_every_call_passes_and_nothing_is_written() {
    run(async {
        let agent = TestAgent::boot(vec![extension()]).await;
        let workspace = AgentWorkspace::empty();
        let turn = agent.turn(&workspace, &[("run_shell", json!({"command": "rm -rf /"}))]).await;
        assert_eq!((turn.results[0].status, turn.ran.len()), (ResultStatus::Succeeded, 1));
        assert_eq!(std::fs::read_dir(workspace.root()).unwrap().count(), 0);
    });
}

#[test]
fn a_permission_rule_answers_a_question_and_later_guards_still_judge() {
    let edit = ("write_file", json!({"path": ".ai/hooks/config.json", "content": "{}"}));
    let delete = ("run_shell", json!({"command": "rm -rf /"}));
    run(async {
        for (verdict, status) in [(Verdict::Allow, ResultStatus::Succeeded), (Verdict::Deny, ResultStatus::Denied)] {
            let agent = TestAgent::boot_with(vec![extension()], verdict).await;
            let workspace = AgentWorkspace::with_rules(json!({}));
            let turn = agent.turn(&workspace, &[edit.clone(), delete.clone()]).await;
            assert_eq!(turn.results[0].status, status, "{verdict:?}");
            assert_eq!(turn.results[1].status, ResultStatus::Denied, "{verdict:?}");
            if verdict == Verdict::Allow {
                assert!(turn.results[1].text.contains("UB01"), "{}", turn.results[1].text);
                let warned = workspace.of_type("WARNING");
                assert!(warned[0]["data"]["message"].as_str().unwrap().contains("guard:SG01"), "{warned:?}");
            }
        }
    });
}

#[test]
fn where_nobody_is_there_a_question_is_a_denial_and_a_project_cannot_loosen_that() {
    run(async {
        for (unattended, status) in [("allow", ResultStatus::Denied), ("deny", ResultStatus::Denied)] {
            let agent = TestAgent::boot(vec![extension_with(modules::with_asking)]).await;
            let manifest = json!({"modules": ["session", "asking"], "unattended": unattended});
            let turn =
                agent.turn(&AgentWorkspace::with_rules(manifest), &[("run_shell", json!({"command": "ls"}))]).await;
            assert_eq!(turn.results[0].status, status, "{unattended}");
        }
    });
}

#[test]
fn a_rewrite_changes_what_runs_and_its_context_goes_with_the_result() {
    run(async {
        let agent = TestAgent::boot(vec![extension_with(modules::with_rewriter)]).await;
        let manifest = json!({"modules": ["session", "rewriter"], "rewriteOwner": "rewriter"});
        let workspace = AgentWorkspace::with_rules(manifest);
        let turn = agent.turn(&workspace, &[("run_shell", json!({"command": "search"}))]).await;
        assert_eq!(turn.ran, [json!({"command": "search --limit 5"})]);
        assert!(turn.results[0].text.ends_with("[hook pipeline] The search was bounded."), "{:?}", turn.results);
    });
}

#[test]
fn a_module_that_panics_refuses_the_call_only_if_it_is_critical() {
    run(async {
        for (critical, status) in [(true, ResultStatus::Denied), (false, ResultStatus::Succeeded)] {
            let agent = TestAgent::boot(vec![extension_with(modules::with_panicking)]).await;
            let entry = json!({"name": "panicking", "critical": critical});
            let workspace = AgentWorkspace::with_rules(json!({"modules": ["session", entry]}));
            let turn = agent.turn(&workspace, &[("run_shell", json!({"command": "ls"}))]).await;
            assert_eq!(turn.results[0].status, status, "critical: {critical}");
        }
    });
}

#[test]
fn a_module_that_never_comes_back_leaves_the_chain_closed() {
    run(async {
        let agent = TestAgent::boot_impatient(vec![extension_with(modules::with_hanging)]).await;
        let workspace = AgentWorkspace::with_rules(json!({"modules": ["session", "hanging"]}));
        let turn = agent.turn(&workspace, &[("run_shell", json!({"command": "ls"}))]).await;
        assert_eq!((turn.results[0].status, turn.ran.len()), (ResultStatus::Denied, 0));
        let text = &turn.results[0].text;
        assert!(text.contains("hook-pipeline") && text.contains("did not answer"), "{text}");
    });
}
