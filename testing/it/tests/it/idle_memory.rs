//! A server that has worked gives its memory back.

use crate::run_workspace::{RunWorkspace, wait_until};
use dispatch_support::{Recorded, Reply, ScriptedModel, Served, slow_lane};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// What an idle server may hold beyond what it held before its work.
const KEPT_KB: u64 = 8 * 1024;
const TURNS: u32 = 1_000;
const WIDE_TURNS: u32 = 100;
const CALLS: u32 = 97;

fn resident_kb(served: &Served) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", served.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// `wide` makes the model call a tool many times in one step.
fn answer(calls: &AtomicU32, request: &Recorded) -> Reply {
    let body = request.json();
    let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    if last["role"] != "user" || last["content"] != "wide" {
        return Reply::say("yes");
    }
    let first = calls.fetch_add(CALLS, Ordering::Relaxed);
    let ids: Vec<String> = (first..first + CALLS).map(|call| format!("c{call}")).collect();
    let batch: Vec<_> = ids.iter().map(|id| (id.as_str(), "list_files", json!({ "path": "." }))).collect();
    Reply::call(&batch)
}

#[test]
fn an_idle_server_holds_no_more_after_its_work_than_before() {
    if !slow_lane() {
        return;
    }
    let calls = AtomicU32::new(0);
    let workspace = RunWorkspace::new(ScriptedModel::answering(move |request| answer(&calls, request)), &[]);
    let served = workspace.start();
    // One turn makes what every later one uses.
    served.client.say("first", "hello");
    std::thread::sleep(Duration::from_secs(1));
    let before = resident_kb(&served);
    for (session, text, turns) in [("long", "again", TURNS), ("wide", "wide", WIDE_TURNS)] {
        (0..turns).for_each(|_| drop(served.client.say(session, text)));
        let messages = served.client.get(&format!("/v1/sessions/{session}/messages"));
        assert_eq!(messages.status, 200);
        let most = resident_kb(&served);
        wait_until(&format!("{session}: {before} KB before, {most} KB at its end"), || {
            resident_kb(&served) <= before + KEPT_KB
        });
        println!("{session}: {before} KB before, {most} KB at the end of the work, {} KB idle", resident_kb(&served));
    }
}
