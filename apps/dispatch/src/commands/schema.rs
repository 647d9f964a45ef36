//! `dispatch schema`: the JSON Schemas of everything that goes in and out of the hook pipeline, and of workspace hooks.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Printer, table};
use crate::schemas::SHIPPED;

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaRequest {
    /// The schema to print; default: list them
    pub(crate) name: Option<String>,
}

pub(crate) fn run(request: &SchemaRequest, printer: &Printer) -> Result<Status, Failure> {
    let Some(name) = &request.name else {
        let row = |schema: &crate::schemas::ShippedSchema| vec![schema.name.to_owned(), schema.about.to_owned()];
        printer.out(&table(&SHIPPED.iter().map(row).collect::<Vec<_>>()));
        return Ok(Status::Done);
    };
    let wanted = name.trim_end_matches(".json").trim_end_matches(".schema");
    match SHIPPED.iter().find(|schema| schema.name == wanted) {
        Some(schema) => printer.raw(schema.text.as_bytes()),
        None => {
            let failure = Failure::usage(format!("unknown schema `{name}`"));
            return Err(failure.hint("`dispatch schema` lists them"));
        }
    }
    Ok(Status::Done)
}
