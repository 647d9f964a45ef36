//! Turns on PostgreSQL beside `pgbench` with the same statements, and three processes beside one.

use super::{ReportRow, beside, load, pgbench};
use crate::served_project::ServedProject;
use crate::{process, row};
use anyhow::Result;
use dispatch_support::{PostgresServer, Served};
use std::path::Path;
use std::time::Duration;

const MANY: u32 = 32;
const TURNS_ALONE: u32 = 200;
const TURNS: u32 = 25;
/// Several processes help where one is full of turns that wait for a model.
const NODES: usize = 3;
const NODE_SESSIONS: u32 = 192;
const NODE_TURNS: u32 = 6;
const THINKS_MS: u64 = 400;

/// A server that waits for its disk, as one in use does.
pub(super) fn durable_server() -> PostgresServer {
    PostgresServer::start_with(&["max_connections=300"])
}

pub(super) fn project(program: &Path, server: &PostgresServer, thinks_ms: u64) -> Result<ServedProject> {
    // The model lives as long as the program.
    let model = Box::leak(Box::new(load::model(thinks_ms)));
    Ok(ServedProject::new(program, model)?.with(format!("storage.url={}", server.url())))
}

pub(super) fn rows(program: &Path) -> Result<Vec<ReportRow>> {
    let server = durable_server();
    let project_here = project(program, &server, 0)?;
    let served = [project_here.serve()?];
    std::thread::sleep(Duration::from_millis(500));
    let idle_mb = process::resident_kb(served[0].id())? as f64 / 1024.0;
    let alone = load::run(&served, "alone", 1, TURNS_ALONE)?;
    let many = load::run(&served, "many", MANY, TURNS)?;
    let script = pgbench::Script::of_turn(&server, &served[0].client)?;
    let rate = |clients| script.rate(&server, clients).map(|rate| rate.map(|rate| (rate, "of pgbench")));
    let rows = vec![
        beside("PostgreSQL, 1 session", alone.turns_per_s, rate(1)?, "70 %"),
        beside(&format!("PostgreSQL, {MANY} sessions"), many.turns_per_s, rate(MANY)?, "60 %"),
        row!["statements and transactions of a turn there", script.size(), "", "", ""],
        row![format!("processor time per turn, {MANY} sessions"), format!("{:.2} ms", many.cpu_ms), "", "", ""],
        row!["`serve` idle on PostgreSQL", format!("{idle_mb:.1} MB"), "", "", "under 30 MB"],
    ];
    drop(served);
    Ok(rows.into_iter().chain([nodes(program)?]).collect())
}

fn nodes(program: &Path) -> Result<ReportRow> {
    let server = durable_server();
    let project = project(program, &server, THINKS_MS)?;
    let first = project.serve_node(0)?;
    let one = load::run(std::slice::from_ref(&first), "one", NODE_SESSIONS, NODE_TURNS)?;
    let others: Vec<Served> = (1..NODES).map(|number| project.serve_node(number)).collect::<Result<_>>()?;
    let all: Vec<Served> = [first].into_iter().chain(others).collect();
    let three = load::run(&all, "three", NODE_SESSIONS, NODE_TURNS)?;
    let what = format!("{NODES} processes, {NODE_SESSIONS} sessions, a model that takes {THINKS_MS} ms");
    Ok(beside(&what, three.turns_per_s, Some((one.turns_per_s, "turns/s of one")), "160 %"))
}
