//! Turns on SQLite beside single commits of SQLite alone on the same disk, and beside another build of ours.

use super::{ReportRow, beside, load};
use crate::served_project::ServedProject;
use crate::{raw_commits, row};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The path of another build of `dispatch`, to be measured in the same run.
const BESIDE_VARIABLE: &str = "DISPATCH_BENCH_BESIDE";
const FEW: u32 = 16;
const MANY: u32 = 64;
const TURNS: u32 = 25;
const WATCHED_TURNS: u32 = 10;

pub(super) fn rows(program: &Path) -> Result<Vec<ReportRow>> {
    let model = load::model(0);
    let project = ServedProject::new(program, &model)?;
    let served = [project.serve()?];
    let raw = raw_commits::per_second(project.folder());
    let commits = raw.map(|raw| (raw, "commits/s"));
    let few = load::run(&served, "few", FEW, TURNS)?;
    let many = load::run(&served, "many", MANY, TURNS)?;
    let [alone, together] =
        [1, MANY].map(|sessions| load::syncs_per_turn(&served[0], project.folder(), sessions, WATCHED_TURNS));
    let syncs = |count: Option<f64>| count.map_or("-".to_owned(), |count| format!("{count:.2}"));
    let mut rows = vec![
        beside(&format!("SQLite, {FEW} sessions"), few.turns_per_s, commits, ""),
        beside(&format!("SQLite, {MANY} sessions"), many.turns_per_s, commits, "30 %"),
        row!["waits for the disk per turn, one session", syncs(alone), "", "", ""],
        row![format!("the same, {MANY} sessions"), syncs(together), "", "", ""],
        row![format!("processor time per turn, {MANY} sessions"), format!("{:.2} ms", many.cpu_ms), "", "", ""],
    ];
    drop(served);
    if let Some(other) = std::env::var_os(BESIDE_VARIABLE).map(PathBuf::from) {
        rows.push(other_build(&project, &other, &model)?);
    }
    Ok(rows)
}

/// Both builds in turn, so that noise falls on both alike.
fn other_build(ours: &ServedProject, other: &Path, model: &dispatch_support::ScriptedModel) -> Result<ReportRow> {
    let theirs = ServedProject::new(other, model)?;
    let (mut new, mut old) = (0.0_f64, 0.0_f64);
    for round in 0..3 {
        new = new.max(load::run(&[ours.serve()?], &format!("new{round}"), FEW, TURNS)?.turns_per_s);
        old = old.max(load::run(&[theirs.serve()?], &format!("old{round}"), FEW, TURNS)?.turns_per_s);
    }
    let what = format!("SQLite, {FEW} sessions, best of 3, beside the other build");
    Ok(beside(&what, new, Some((old, "turns/s")), "100 %"))
}
