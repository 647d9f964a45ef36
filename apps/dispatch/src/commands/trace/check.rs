//! `dispatch trace check`: fails when changed lines are not covered by an intent.

use super::TraceWorkspace;
use crate::app::Status;
use crate::commands::init;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::Printer;
use ext_intents::contract::{UncoveredLines, UntrackedFiles, sarif_log};
use serde_json::json;

const NAME_CHARS: usize = 400;
const SETTINGS_FILE: &str = ".dispatch/dispatch.toml";

pub(super) const HELP: &str = "\
Compares the files on disk with the merge base of HEAD and the base. A new line is covered when the ledger
shows that an agent wrote it for an intent and inside the scope of that intent, or when a person approved its
commit with a trailer `Intent-Approved-By: NAME`. A removed line is covered when such an entry removed it or a
person approved a commit of the file; removed files, binary files and submodules are covered when the file has such
an entry or commit since the base. Lines that differ in spaces alone are no change. Lines without a letter or digit
are treated like their neighbours. A renamed file without other changes has no new lines. Ignored are files below
.orchestration, files that `init` writes, those that --exclude names, and those that the base excludes: with the
attribute linguist-generated in .gitattributes, or by `[intents] exclude = [GLOB]` in .dispatch/dispatch.toml.";

#[derive(Debug, clap::Args)]
pub(crate) struct CheckRequest {
    /// The branch or commit that the change starts from
    #[arg(long, value_name = "REF")]
    base: String,
    /// Include untracked files
    #[arg(long)]
    untracked: bool,
    /// Ignore files that this glob matches; repeatable
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// How the result is printed; `github` annotates the lines of a pull request
    #[arg(long, value_enum, default_value = "text")]
    format: CheckFormat,
    /// The same as --format json
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// The same as --format sarif
    #[arg(long)]
    sarif: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CheckFormat {
    /// One line per range
    Text,
    /// One JSON object
    Json,
    /// A SARIF 2.1.0 log
    Sarif,
    /// Workflow commands of GitHub Actions
    Github,
}

impl CheckRequest {
    fn format(&self) -> CheckFormat {
        match (self.json, self.sarif) {
            (true, _) => CheckFormat::Json,
            (_, true) => CheckFormat::Sarif,
            _ => self.format,
        }
    }

    /// The globs of ignored files, with those that `init` writes and those of the settings.
    fn excluded(&self, workspace: &TraceWorkspace) -> Result<Vec<String>, Failure> {
        let written = init::written_files().into_iter().chain([".ai/hooks/**".to_owned(), ".ai/tmp/**".to_owned()]);
        // As they are in the base, so that no change excludes itself.
        let settings = workspace.intents.file_at_base(&self.base, SETTINGS_FILE)?.unwrap_or_default();
        Ok(self.exclude.iter().cloned().chain(excluded_by(&settings)).chain(written).collect())
    }
}

pub(super) fn run(workspace: &TraceWorkspace, request: &CheckRequest, printer: &Printer) -> Result<Status, Failure> {
    let untracked = if request.untracked { UntrackedFiles::Included } else { UntrackedFiles::Ignored };
    let found = workspace.intents.check(&request.base, untracked, &request.excluded(workspace)?)?;
    match request.format() {
        CheckFormat::Sarif => printer.json(&sarif_log(&found, env!("CARGO_PKG_VERSION")))?,
        CheckFormat::Json => printer.json(&json!({ "uncovered": found }))?,
        CheckFormat::Github => found.iter().for_each(|span| printer.out(&annotation(span))),
        CheckFormat::Text if found.is_empty() => printer.out("every changed line belongs to an intent"),
        CheckFormat::Text => found.iter().for_each(|span| printer.out(&row(span))),
    }
    Ok(if found.is_empty() { Status::Done } else { Status::No })
}

/// `intents.exclude` of settings; nothing if they cannot be read.
fn excluded_by(settings: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(settings);
    let values = toml::from_str::<serde_json::Value>(&text).unwrap_or_default();
    let globs = values.get("intents").and_then(|intents| intents.get("exclude")).and_then(|globs| globs.as_array());
    globs.into_iter().flatten().filter_map(|glob| glob.as_str().map(str::to_owned)).collect()
}

fn row(span: &UncoveredLines) -> String {
    let lines = if span.start == span.end { span.start.to_string() } else { format!("{}-{}", span.start, span.end) };
    format!("{}:{lines}: no intent covers this", one_line(&span.file, NAME_CHARS))
}

/// A workflow command of GitHub Actions; what would end a value is escaped.
fn annotation(span: &UncoveredLines) -> String {
    let file: String = span.file.chars().map(escaped).collect();
    format!(
        "::error file={file},line={},endLine={},title=No intent covers this::Select the intent that owns the file before \
         changing it, or approve the commit with a trailer Intent-Approved-By: NAME",
        span.start, span.end
    )
}

fn escaped(character: char) -> String {
    match character {
        '%' => "%25".to_owned(),
        '\r' => "%0D".to_owned(),
        '\n' => "%0A".to_owned(),
        ':' => "%3A".to_owned(),
        ',' => "%2C".to_owned(),
        other => other.to_string(),
    }
}
