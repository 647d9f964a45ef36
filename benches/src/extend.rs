//! What extensions from outside cost: their calls beside those of compiled ones, ten that have nothing to do, and loading
//! them again.

mod calls;
mod idle;
mod kernel_host;
mod reloads;
mod written;

use crate::process::dispatch;
use crate::sessions::ReportRow;
use crate::{row, table};
use anyhow::Result;
use std::fmt::Display;

pub(crate) use kernel_host::{WORKER_COMMAND, serve_scripts};

pub(crate) fn run() -> Result<()> {
    let program = dispatch()?;
    let mut rows: Vec<ReportRow> = vec![row!["what", "figure", "beside", "wanted", "met"]];
    rows.extend(calls::rows()?);
    rows.extend(idle::rows(&program)?);
    rows.extend(reloads::rows(&program)?);
    table::print(&rows);
    Ok(())
}

/// A figure that must stay below a limit.
struct Goal<'a> {
    what: &'a str,
    unit: &'a str,
    figure: f64,
    limit: f64,
}

impl Goal<'_> {
    fn row(&self, beside: impl Display) -> ReportRow {
        let Self { what, unit, figure, limit } = self;
        let met = if figure < limit { "yes" } else { "no" };
        row![what, format!("{figure:.1} {unit}"), beside, format!("under {limit:.0} {unit}"), met]
    }
}
