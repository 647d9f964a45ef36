//! Real agents, started by `dispatch canary --live`: they ask Dispatch, obey it, and their model hears why.

use crate::installed::npm;
use dispatch_live_hosts::by_id;
use dispatch_support::{Output, TestContext};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The program of an agent, from its registry, at the version that the driver was tried with.
fn agent(host: &str) -> PathBuf {
    let package = by_id(host).expect("a driver").package();
    let installed = npm(host, &format!("{}@{}", package.name, package.version));
    installed.join("node_modules").join(package.program)
}

fn canary(context: &TestContext, folders: &[&Path], hosts: &[&str]) -> Output {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    // The Node that npm runs on comes first: agents are scripts of it.
    let node = std::env::var("PATH").unwrap_or_default();
    let path = [folders.join(":"), node, SYSTEM_PATH.to_owned()].join(":");
    let named = hosts.iter().flat_map(|host| ["--host", host]);
    let arguments: Vec<&str> = ["canary", "--live", "--json"].into_iter().chain(named).collect();
    context.run("dispatch", &arguments, b"", &[("PATH", path.as_str())])
}

fn finding(output: &Output, host: &str) -> Value {
    let hosts = output.json()["hosts"].as_array().expect("hosts").clone();
    hosts.into_iter().find(|one| one["host"] == host).unwrap_or_else(|| panic!("{host}: {output:?}"))
}

#[test]
fn claude_code_and_codex_obey_and_their_models_are_told() {
    let context = TestContext::new();
    let (claude, codex) = (agent("claude-code"), agent("codex"));
    let folders = [claude.parent().expect("a folder"), codex.parent().expect("a folder")];
    let output = canary(&context, &folders, &["claude-code", "codex"]);
    for host in ["claude-code", "codex"] {
        let found = finding(&output, host);
        assert_eq!(found["health"], "OK", "{found}");
        assert_eq!((&found["allowedRan"], &found["refusedStopped"]), (&true.into(), &true.into()), "{found}");
        assert!(found["told"].as_str().is_some_and(|told| told.contains("UB01")), "{found}");
        assert_eq!(found["version"], by_id(host).expect("a driver").package().version, "{found}");
    }
    assert_eq!(output.status, 0, "{output:?}");
    let left = std::fs::read_dir(context.project()).expect("the project").flatten().map(|entry| entry.file_name());
    assert_eq!(left.collect::<Vec<_>>(), [".git"], "the user's project is left alone");
}

#[test]
fn an_agent_whose_hooks_are_switched_off_fails() {
    let context = TestContext::new();
    let folder = context.home().join("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = agent("claude-code");
    let script = format!("#!/bin/sh\nexec '{}' --settings '{{\"disableAllHooks\": true}}' \"$@\"\n", program.display());
    std::fs::write(folder.join("claude"), script).expect("a script");
    std::fs::set_permissions(folder.join("claude"), PermissionsExt::from_mode(0o755)).expect("executable");
    let output = canary(&context, &[&folder], &["claude-code"]);
    let found = finding(&output, "claude-code");
    assert_eq!((output.status, &found["health"]), (1, &"FAILS".into()), "{found}");
    assert!(found["detail"].as_str().is_some_and(|detail| detail.contains("must be refused ran")), "{found}");
}

#[test]
fn an_agent_that_is_not_there_is_said_to_be_absent() {
    let context = TestContext::new();
    let output = context.run("dispatch", &["canary", "--live", "--json"], b"", &[("PATH", SYSTEM_PATH)]);
    assert_eq!(finding(&output, "goose")["health"], "ABSENT");
    assert_eq!(output.status, 1, "nothing was tested: {output:?}");
    let named = context.run("dispatch", &["canary", "--live", "--host", "kiro"], b"", &[("PATH", SYSTEM_PATH)]);
    assert_eq!(named.status, 1);
    assert!(named.stdout.contains("NOT DRIVABLE"), "{named:?}");
}
