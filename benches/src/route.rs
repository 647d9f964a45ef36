//! What routing costs: events acknowledged and whole cycles per second beside plain commits, many hooks beside one, what
//! a hook that hangs does to other events, a ledger of a million events beside an empty one, memory, and the binary.

mod cycles;
mod durable_commits;
mod hook_times;
mod large_ledger;
mod senders;

use crate::process::{dispatch, resident_kb};
use crate::sample::Samples;
use crate::served_project::ServedProject;
use crate::sessions::{ReportRow, model};
use crate::{row, table};
use anyhow::Result;
use dispatch_support::{ScriptedModel, Served};
use std::path::Path;
use std::time::Duration;

/// Senders at once.
const SENDERS: usize = 64;
/// Measurements that are compared are taken in turn, so often.
const ROUNDS: usize = 3;
/// How long senders send in a round.
const SENDING: Duration = Duration::from_secs(3);
/// Hooks that look at each event of a cycle; one of them fires.
const CYCLE_HOOKS: usize = 5;
const SETTLED: Duration = Duration::from_secs(3);

pub(crate) fn run() -> Result<()> {
    let program = dispatch()?;
    let model = model(0);
    let mut rows: Vec<ReportRow> = vec![row!["what", "figure", "beside", "ratio", "wanted"]];
    rows.extend(rates(&program, &model)?);
    rows.extend(hook_times::rows(&program, &model)?);
    rows.push(row![
        "release binary",
        megabytes(std::fs::metadata(&program)?.len() as f64 / 1e6),
        "",
        "",
        "under 42 MB"
    ]);
    table::print(&rows);
    Ok(())
}

/// Events and cycles per second, in an empty ledger and in one of a million events.
fn rates(program: &Path, model: &ScriptedModel) -> Result<Vec<ReportRow>> {
    let quiet = ServedProject::new(program, model)?;
    let served = quiet.serve()?;
    let (mut commits, mut events) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        commits.push(durable_commits::per_second(quiet.folder(), SENDERS)?);
        events.push(senders::events_per_second(&served.client, &format!("empty{round}"), SENDERS, SENDING)?);
    }
    drop(served);
    let routed = hooked(program, model, CYCLE_HOOKS)?;
    let served = routed.serve()?;
    let idle = settled_mb(&served)?;
    let cycles = cycles::per_second(&served.client, "empty", SENDERS)?;
    let used = settled_mb(&served)?;
    drop(served);
    large_ledger::fill(&quiet)?;
    large_ledger::fill(&routed)?;
    let served = quiet.serve()?;
    let many = (0..ROUNDS)
        .map(|round| senders::events_per_second(&served.client, &format!("full{round}"), SENDERS, SENDING))
        .collect::<Result<Vec<f64>>>()?;
    drop(served);
    let served = routed.serve()?;
    let cycles_full = cycles::per_second(&served.client, "full", SENDERS)?;
    let (commits, events, many) = (median(commits), median(events), median(many));
    Ok(vec![
        beside(&format!("events acknowledged, {SENDERS} senders"), events, commits, "of `durable_rate`", "40 %"),
        beside(&format!("whole cycles, {CYCLE_HOOKS} hooks and a turn"), cycles.per_s, events, "events", "25 %"),
        row!["the same, from the event to its reply, median", format!("{:.0} ms", cycles.median_ms), "", "", ""],
        beside("events, in a ledger of 1,000,000", many, events, "in an empty one", "80 to 120 %"),
        beside("cycles, in a ledger of 1,000,000", cycles_full.per_s, cycles.per_s, "in an empty one", "80 to 120 %"),
        row!["`serve` idle, workers apart", megabytes(idle), "", "", "under 40 MB"],
        row!["the same after these cycles", megabytes(used), "", "", ""],
    ])
}

/// A project with so many hooks of the user's own, of which the last fires.
fn hooked(program: &Path, model: &ScriptedModel, count: usize) -> Result<ServedProject> {
    let project = ServedProject::new(program, model)?;
    let folder = project.folder().join("home/config/hooks");
    std::fs::create_dir_all(&folder)?;
    for number in 1..=count {
        let answer = if number == count { "({ fire: true })" } else { "null" };
        let source = format!(
            "export const hook = {{ id: \"hook{number}\", priority: {number} }};\n\
             export default (event: {{ content: string }}) => event.content.includes(\"never {number}\") ? null : {answer};\n"
        );
        std::fs::write(folder.join(format!("hook{number}.ts")), source)?;
    }
    Ok(project)
}

fn settled_mb(served: &Served) -> Result<f64> {
    std::thread::sleep(SETTLED);
    Ok(resident_kb(served.id())? as f64 / 1024.0)
}

fn megabytes(size: f64) -> String {
    format!("{size:.1} MB")
}

fn milliseconds(samples: &Samples, percent: usize) -> f64 {
    samples.percentile_us(percent) / 1e3
}

fn beside(what: &str, rate: f64, other: f64, unit: &str, wanted: &str) -> ReportRow {
    row![what, format!("{rate:.0}/s"), format!("{other:.0}/s {unit}"), format!("{:.0} %", 100.0 * rate / other), wanted]
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}
