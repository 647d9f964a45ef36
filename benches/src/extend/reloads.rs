//! How soon an edit runs, and what many of them leave behind.

use super::Goal;
use super::written::WrittenExtension;
use crate::process::shared_kb;
use crate::sample::Samples;
use crate::served_project::ServedProject;
use crate::sessions::ReportRow;
use anyhow::{Result, ensure};
use dispatch_support::Served;
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const RELOADS: u32 = 100;
/// Reloads before the memory is first read.
const WARM: u32 = 10;
const LOOK: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a server may settle before its memory is read.
const REST: Duration = Duration::from_secs(4);
const RELOAD_LIMIT_MS: f64 = 2_000.0;
const GROWTH_LIMIT_MB: f64 = 2.0;

pub(super) fn rows(program: &Path) -> Result<Vec<ReportRow>> {
    let model = crate::sessions::model(0);
    let project = ServedProject::new(program, &model)?;
    write(&project, "first")?;
    project.finish(&["trust", "talk"])?;
    project.finish(&["ext", "dev", "talk"])?;
    let served = project.serve()?;
    let mut times = Samples::default();
    (0..WARM).try_for_each(|number| reload(&project, &served, &format!("warm-{number}")).map(drop))?;
    let before = idle_mb(&served)?;
    for number in 0..RELOADS {
        times.add(reload(&project, &served, &format!("edit-{number}"))?);
    }
    let after = idle_mb(&served)?;
    let slowest = times.percentile_us(99) / 1e3;
    let time = Goal {
        what: "from an edit to its answer, slowest of 100",
        unit: "ms",
        figure: slowest,
        limit: RELOAD_LIMIT_MS,
    };
    let growth =
        Goal { what: "memory added by 100 reloads", unit: "MB", figure: after - before, limit: GROWTH_LIMIT_MB };
    Ok(vec![
        time.row(format!("median {:.0} ms", times.median_us() / 1e3)),
        growth.row(format!("{before:.1} MB before, {after:.1} MB after")),
    ])
}

fn write(project: &ServedProject, word: &str) -> Result<()> {
    let written = WrittenExtension::with_command("talk", "word", word);
    project.add_extension(&written.id, &written.manifest, &written.code)
}

/// Edits the extension and waits until the edit answers.
fn reload(project: &ServedProject, served: &Served, word: &str) -> Result<Duration> {
    let start = Instant::now();
    write(project, word)?;
    while served.client.post("/v1/commands/word", &json!({ "args": [] })).json()["answer"] != word {
        ensure!(start.elapsed() < PATIENCE, "the edit did not run within {PATIENCE:?}");
        std::thread::sleep(LOOK);
    }
    Ok(start.elapsed())
}

fn idle_mb(served: &Served) -> Result<f64> {
    std::thread::sleep(REST);
    Ok(shared_kb(served.id())? as f64 / 1024.0)
}
