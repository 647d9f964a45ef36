//! What sessions cost: durable turns per second on SQLite and on PostgreSQL beside what the databases do alone, several
//! processes on one database, how soon a question reaches another process, and memory before and after work.

mod load;
mod memory;
mod pgbench;
mod questions;
mod server;
mod sqlite;
mod statement_log;

use crate::process::dispatch;
use crate::{row, table};
use anyhow::Result;

pub(crate) use load::model;

/// One line of the table: what, the figure, what stands beside it, their ratio and the goal.
pub(crate) type ReportRow = Vec<String>;

pub(crate) fn run() -> Result<()> {
    let program = dispatch()?;
    let mut rows: Vec<ReportRow> = vec![row!["what", "figure", "beside", "ratio", "wanted"]];
    rows.extend(sqlite::rows(&program)?);
    rows.extend(server::rows(&program)?);
    rows.extend(questions::rows(&program)?);
    rows.extend(memory::rows(&program)?);
    table::print(&rows);
    Ok(())
}

/// A rate beside another, with their ratio in percent.
fn beside(what: &str, rate: f64, other: Option<(f64, &str)>, wanted: &str) -> ReportRow {
    let (beside, ratio) = other.map_or(("-".to_owned(), "-".to_owned()), |(other, unit)| {
        (format!("{other:.0} {unit}"), format!("{:.0} %", 100.0 * rate / other))
    });
    row![what, format!("{rate:.0} turns/s"), beside, ratio, wanted]
}
