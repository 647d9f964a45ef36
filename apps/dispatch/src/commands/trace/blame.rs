//! `dispatch trace blame`: which intent each line of a file was written for.

use super::Place;
use crate::app::Status;
use crate::failure::Failure;
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use dispatch_os::files::read_at_most;
use ext_intents::query::blame::{Blame, BlamedLine, By, MAX_BLAMED_BYTES};
use ext_intents::query::history::{Change, histories};
use ext_intents::query::{diff, kept_content};
use std::collections::BTreeSet;
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

pub(super) fn run(place: &Place, request: &BlameRequest, printer: &Printer) -> Result<Status, Failure> {
    let path = place.relative(&request.file)?;
    let file = place.layout.root.join(&path);
    if !file.is_file() {
        return Err(Failure::usage(format!("there is no file {}", request.file.display()))
            .hint("`dispatch trace log --file PATH` shows what happened to a file that is gone"));
    }
    let present = read_at_most(&file, MAX_BLAMED_BYTES)?;
    let wanted = BTreeSet::from([path.clone()]);
    let former = |path: &str, known: &[Change]| place.former_names(path, known);
    let found = histories(&place.ledger(), &wanted, &former).map_err(|error| place.unreadable(error))?;
    let history = found.get(&path).map(Vec::as_slice).unwrap_or_default();
    let blame = Blame::new(history, &|hash| kept_content(&place.layout, hash), &present);
    match Format::from(request.json) {
        Format::Json => printer.json(&blame.lines().collect::<Vec<_>>())?,
        Format::Text => print(&blame, &present, printer),
    }
    Ok(Status::Done)
}

fn print(blame: &Blame<'_>, present: &[u8], printer: &Printer) {
    let paint = Paint::for_stdout();
    let digits = blame.len().to_string().len();
    for (line, text) in blame.lines().zip(diff::lines(present)) {
        let text = String::from_utf8_lossy(text).replace('\t', "    ");
        let shown: String = text.chars().take(LINE_CHARS).map(visible).collect();
        let row = format!("{} {:>digits$}) {shown}", origin(&line, &paint), line.line);
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
    let (who, tone) = match (line.by, line.intent) {
        (By::Agent, Some(intent)) => (intent, Tone::Name),
        (By::Agent, None) => ("(no intent)", Tone::Bad),
        (By::Human, _) => ("human", Tone::Good),
        (By::Unknown, _) => ("unknown", Tone::Faint),
    };
    let when = line.timestamp.and_then(|time| time.get(..16)).map(|time| time.replace('T', " "));
    let rest = [word(line.session, 8), word(line.tool, 12), word(when.as_deref(), 16)].join(" ");
    format!("{} ({}", paint.text(tone, &word(Some(who), 12)), paint.text(Tone::Faint, &rest))
}
