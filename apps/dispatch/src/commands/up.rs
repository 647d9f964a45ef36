//! `dispatch up`: from nothing to an agent that answers: checks, settings, a model, a server.

mod settings_file;

use super::doctor::{CheckHealth, DoctorFinding, all_findings, model_finding};
use super::serve::{self, ServeRequest};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{ChosenModel, Threads, chosen_model, runtime};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use serde_json::json;
use settings_file::UserSettingsFile;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct UpRequest {
    /// Only prepare; start no server
    #[arg(long)]
    no_serve: bool,

    /// Print one JSON object instead of text
    #[arg(long, requires = "no_serve")]
    json: bool,

    #[command(flatten)]
    serve: ServeRequest,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &UpRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let mut findings = all_findings(loaded, extensions.clone());
    let chosen = runtime(Threads::One)?.block_on(chosen_model(&loaded.settings));
    findings.retain(|finding| finding.check != "model");
    findings.push(model_finding(&chosen));
    let written = settings_file::write(&loaded.dirs.config)?;
    let wrong = findings.iter().filter(|finding| finding.health == CheckHealth::Wrong).count();
    if request.json {
        printer.json(&json!({
            "healthy": wrong == 0,
            "findings": findings.iter().filter(|finding| finding.health != CheckHealth::Ok).collect::<Vec<_>>(),
            "settings": { "path": written.path, "written": written.is_new },
            "model": chosen.choice,
            "localServers": chosen.found,
        }))?;
        return Ok(if wrong == 0 { Status::Done } else { Status::No });
    }
    tell(&findings, &written, &chosen, printer);
    if wrong > 0 {
        return Err(Failure::configuration(format!("{wrong} of the checks failed"))
            .hint("correct what is marked WRONG; `dispatch doctor` shows every check"));
    }
    if request.no_serve {
        printer.note("next: `dispatch chat` talks to the agent, `dispatch serve` serves it");
        return Ok(Status::Done);
    }
    printer.note("next: `dispatch chat` in another terminal talks to the same sessions; ctrl-C ends the server");
    serve::run(loaded, extensions, &request.serve, printer)
}

/// The checks in short, then what was prepared.
fn tell(findings: &[DoctorFinding], written: &UserSettingsFile, chosen: &ChosenModel, printer: &Printer) {
    let fine = findings.iter().filter(|finding| finding.health == CheckHealth::Ok).count();
    printer.note(&format!("checks    {fine} of {} are fine", findings.len()));
    for finding in findings.iter().filter(|finding| finding.health != CheckHealth::Ok && finding.check != "model") {
        let mark = if finding.health == CheckHealth::Wrong { "WRONG" } else { "note" };
        let fix = finding.fix.as_deref().map(|fix| format!(" -> {fix}")).unwrap_or_default();
        printer.note(&format!("          {mark}: {}: {}{fix}", finding.check, finding.detail));
    }
    let state = if written.is_new { "written; every line in it is a comment" } else { "there already" };
    printer.note(&format!("settings  {} ({state})", written.path.display()));
    for server in &chosen.found {
        let models: Vec<&str> = server.models.iter().map(|model| model.id.as_str()).collect();
        let models = if models.is_empty() { "no model loaded".to_owned() } else { models.join(", ") };
        printer.note(&format!("found     {} at {}: {models}", server.name, server.base_url));
    }
    let model = model_finding(chosen);
    let fix = model.fix.as_deref().map(|fix| format!("\n          -> {fix}")).unwrap_or_default();
    printer.note(&format!("model     {}{fix}", model.detail));
}
