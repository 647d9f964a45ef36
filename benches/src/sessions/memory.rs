//! Memory of an idle server before and after work.

use super::{ReportRow, load};
use crate::process::resident_kb;
use crate::row;
use crate::served_project::ServedProject;
use anyhow::{Result, ensure};
use dispatch_support::{Client, Reply, ScriptedModel, Served};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const TURNS: u32 = 1_000;
/// Turns and calls in each that together leave a session of ten thousand messages: one of the user, two of the model,
/// and the results.
const WIDE_TURNS: u32 = 100;
const CALLS: u32 = 97;
/// An idle server gives back what work needed within this.
const REST: Duration = Duration::from_secs(25);
const SETTLED: Duration = Duration::from_millis(500);

pub(super) fn rows(program: &Path) -> Result<Vec<ReportRow>> {
    let plain = load::model(0);
    let project = ServedProject::new(program, &plain)?;
    let served = project.serve()?;
    let mut rows = vec![row!["`serve` idle on SQLite", format!("{:.1} MB", idle_mb(&served)?), "", "", "under 24 MB"]];
    rows.push(measured(&served, &format!("idle after {TURNS} turns"), |client| {
        (0..TURNS).for_each(|_| drop(client.say("long", "again")));
        Ok(())
    })?);
    drop(served);
    let model = calling();
    let served = project.serve_with(&model)?;
    rows.push(measured(&served, "idle after a session of 10,000 messages", |client| {
        (0..WIDE_TURNS).for_each(|_| drop(client.say("wide", "again")));
        let count = client.get("/v1/sessions/wide/messages").json()["messages"].as_array().map_or(0, Vec::len);
        // The results of a step are one message here, and one each where a model counts.
        ensure!(count == 4 * WIDE_TURNS as usize, "the session has {count} messages");
        Ok(())
    })?);
    Ok(rows)
}

fn idle_mb(served: &Served) -> Result<f64> {
    std::thread::sleep(SETTLED);
    Ok(resident_kb(served.id())? as f64 / 1024.0)
}

fn measured(served: &Served, what: &str, work: impl FnOnce(&Client) -> Result<()>) -> Result<ReportRow> {
    // One turn makes what every later one uses.
    drop(served.client.say("first", "hello"));
    let before = idle_mb(served)?;
    work(&served.client)?;
    let peak = resident_kb(served.id())? as f64 / 1024.0;
    std::thread::sleep(REST);
    let after = idle_mb(served)?;
    let beside = format!("{before:.1} MB before, {peak:.1} MB at the end of the work");
    Ok(row![what, format!("{after:.1} MB"), beside, format!("{:+.1} MB", after - before), "at most +8 MB"])
}

/// A model that calls a tool many times, then says something.
fn calling() -> ScriptedModel {
    let calls = AtomicU32::new(0);
    ScriptedModel::answering(move |request| {
        let asked = request.body.rfind(r#""role":"user""#) > request.body.rfind(r#""role":"tool""#);
        if !asked {
            return Reply::say("read");
        }
        let first = calls.fetch_add(CALLS, Ordering::Relaxed);
        let ids: Vec<String> = (first..first + CALLS).map(|call| format!("c{call}")).collect();
        let batch: Vec<_> = ids.iter().map(|id| (id.as_str(), "list_files", json!({ "path": "." }))).collect();
        Reply::call(&batch)
    })
}
