//! How soon a question that one process asks reaches a client of another.

use super::ReportRow;
use super::server::durable_server;
use crate::row;
use crate::sample::Samples;
use crate::served_project::ServedProject;
use anyhow::{Context as _, Result};
use dispatch_support::{Reply, ScriptedModel, Served};
use serde_json::json;
use std::io::BufRead;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

const QUESTIONS: u32 = 15;

pub(super) fn rows(program: &Path) -> Result<Vec<ReportRow>> {
    // A command that changes something, so that it is asked about.
    let model =
        ScriptedModel::answering(|request| match request.json()["messages"].as_array().and_then(|it| it.last()) {
            Some(last) if last["role"] == "tool" => Reply::say("so be it"),
            _ => Reply::call(&[("c1", "run_shell", json!({ "command": "touch here" }))]),
        });
    let sqlite = ServedProject::new(program, &model)?;
    let server = durable_server();
    let postgres = ServedProject::new(program, &model)?.with(format!("storage.url={}", server.url()));
    let mut rows = Vec::new();
    // Two processes on one file share a home.
    for (name, asking, watching) in
        [("SQLite", sqlite.serve()?, sqlite.serve()?), ("PostgreSQL", postgres.serve_node(0)?, postgres.serve_node(1)?)]
    {
        let times = times(&asking, &watching)?;
        let told = |us: f64| format!("{:.0} ms", us / 1e3);
        let what = format!("a question reaches another process, {name}, median (best)");
        let figure = format!("{} ({})", told(times.median_us()), told(times.best_us()));
        rows.push(row![what, figure, "", "", "under 250 ms"]);
    }
    Ok(rows)
}

fn times(asking: &Served, watching: &Served) -> Result<Samples> {
    let mut times = Samples::default();
    for number in 0..QUESTIONS {
        let label = format!("q{number}");
        // The session is there before it is watched.
        let (told, heard) = channel();
        let watcher = watching.client.clone();
        let watched = label.clone();
        std::thread::spawn(move || watch(&watcher, &watched, &told));
        heard.recv().context("the watcher begins")?;
        asking.client.submit(&label, &json!({"text": "go", "ask": "person"}));
        // The question is there once its row is; that is the moment from which the other process can know.
        let asked = loop {
            let open = asking.client.get("/v1/approvals").json();
            if open.as_array().is_some_and(|open| open.iter().any(|one| one["session"] == label.as_str())) {
                break Instant::now();
            }
        };
        let seen: Instant = heard.recv().context("the question is seen")?;
        times.add(seen.saturating_duration_since(asked));
    }
    Ok(times)
}

/// Says that it watches, and when it sees a question.
fn watch(client: &dispatch_support::Client, session: &str, told: &Sender<Instant>) {
    let Ok(mut stream) = client.send("GET", &format!("/v1/sessions/{session}/events"), &[], "") else { return };
    let mut line = String::new();
    let _ = stream.read_line(&mut line);
    let _ = told.send(Instant::now());
    loop {
        line.clear();
        match stream.read_line(&mut line) {
            Ok(read) if read > 0 && !line.contains("\"asked\"") => {}
            Ok(read) if read > 0 => break,
            _ => return,
        }
    }
    let _ = told.send(Instant::now());
}
