//! `dispatch trace blame`: shows the intent that each line of a file was written for.

use super::TraceWorkspace;
use crate::app::Status;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use dispatch_os::files;
use ext_intents::contract::{BlamedFile, BlamedLine, LineAuthor, ScopeValidation};
use std::path::PathBuf;

const LINE_CHARS: usize = 400;

#[derive(Debug, clap::Args)]
pub(crate) struct BlameRequest {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON list instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(workspace: &TraceWorkspace, request: &BlameRequest, printer: &Printer) -> Result<Status, Failure> {
    let path = workspace.relative(&request.file)?;
    let file = workspace.intents.root().join(&path);
    if !files::is_file(&file) {
        return Err(Failure::usage(format!("{} is not a file", request.file.display()))
            .hint("`dispatch trace log --file PATH` shows the changes of a file that no longer exists"));
    }
    let blame = workspace.intents.blame(&path)?;
    match Format::from(request.json) {
        Format::Json => printer.json(&blame.lines())?,
        Format::Text => print(&blame, printer),
    }
    Ok(Status::Done)
}

fn print(blame: &BlamedFile, printer: &Printer) {
    let paint = Paint::for_stdout();
    let lines = blame.lines();
    let digits = lines.len().to_string().len();
    for (line, text) in lines.iter().zip(blame.texts()) {
        let text = String::from_utf8_lossy(text).replace('\t', "    ");
        let shown: String = text.chars().take(LINE_CHARS).map(visible).collect();
        let row = format!("{} {:>digits$}) {shown}", origin(line, &paint), line.line);
        if printer.stream(row.trim_end().as_bytes()).is_err() {
            return;
        }
    }
}

fn visible(character: char) -> char {
    if character.is_control() { '\u{fffd}' } else { character }
}

fn origin(line: &BlamedLine<'_>, paint: &Paint) -> String {
    let word = |text: Option<&str>, width: usize| format!("{:<width$}", one_line(text.unwrap_or_default(), width));
    let is_outside = line.scope == Some(ScopeValidation::Fail);
    let outside = line.intent.map(|intent| format!("{intent} FAIL")).filter(|_| is_outside);
    let (who, tone) = match (line.by, outside.as_deref().or(line.intent)) {
        (LineAuthor::Agent, Some(intent)) if is_outside => (intent, Tone::Bad),
        (LineAuthor::Agent, Some(intent)) => (intent, Tone::Name),
        (LineAuthor::Agent, None) => ("(no intent)", Tone::Bad),
        (LineAuthor::Human, _) => ("human", Tone::Good),
        (LineAuthor::Unknown, _) => ("unknown", Tone::Faint),
    };
    let when = line.timestamp.and_then(|time| time.get(..16)).map(|time| time.replace('T', " "));
    let rest = [word(line.session, 8), word(line.tool, 12), word(when.as_deref(), 16)].join(" ");
    format!("{} ({}", paint.text(tone, &word(Some(who), 12)), paint.text(Tone::Faint, &rest))
}
