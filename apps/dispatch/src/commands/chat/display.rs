//! Shows a turn while it runs: what the model says on standard output, what tools do on standard error.

use super::markdown::{Markdown, TextLook};
use crate::paint::{Paint, Tone};
use crate::plain::one_line;
use crate::printer::Printer;
use dispatch_contracts::conversation::{Chunk, ResultStatus, Role, Row, RowBody, ToolCall, ToolResult};
use dispatch_contracts::ids::{CallId, TurnId};
use dispatch_contracts::turn::TurnEvent;
use ext_session_orchestrator::contract::SessionNews;
use std::collections::BTreeMap;
use std::io::IsTerminal;

/// The longest line about a call.
const LINE_CHARS: usize = 160;
/// How much of a call's output is shown while it runs.
const OUTPUT_LINES: usize = 8;
/// Calls that are remembered until they end.
const MAX_CALLS: usize = 256;

/// How the kernel begins the answer to a refused call.
const REFUSED: &str = "This call was refused ";

/// What is shown of the turns of a session.
pub(super) struct Display<'a> {
    printer: &'a Printer,
    paint: Paint,
    markdown: Markdown,
    /// Whether the cursor stands behind text.
    in_line: bool,
    /// The step whose text is shown as it streams.
    live: Option<(TurnId, u32)>,
    calls: BTreeMap<CallId, ShownCall>,
}

/// What is known of a call that has not ended.
#[derive(Default)]
struct ShownCall {
    title: String,
    started_at_ms: Option<u64>,
    lines: usize,
    hidden: usize,
    /// The beginning of a line whose end has not come.
    partial: String,
}

impl<'a> Display<'a> {
    pub(super) fn new(printer: &'a Printer) -> Self {
        let look = match (std::io::stdout().is_terminal(), Paint::for_stdout().is_on()) {
            (true, true) => TextLook::Styled,
            (true, false) => TextLook::Plain,
            // Programs get what the model said.
            (false, _) => TextLook::Source,
        };
        Self {
            printer,
            paint: Paint::for_stderr(),
            markdown: Markdown::new(look),
            in_line: false,
            live: None,
            calls: BTreeMap::new(),
        }
    }

    pub(super) fn show(&mut self, news: &SessionNews) {
        match news {
            SessionNews::Live { turn, live } => self.show_live(turn, live),
            SessionNews::Row { row } => self.show_row(row),
            SessionNews::Lagged => self.note("(some output came too fast to be shown; /history has all of it)"),
            _ => {}
        }
    }

    /// Says something to the person, on a line of its own.
    pub(super) fn note(&mut self, text: &str) {
        self.end_line();
        self.printer.note(text);
    }

    /// Ends the text that the cursor stands behind.
    pub(super) fn end_line(&mut self) {
        let rest = self.markdown.finish();
        self.print(&rest);
        if std::mem::take(&mut self.in_line) {
            self.printer.raw_now(b"\n");
        }
    }

    fn print(&mut self, text: &str) {
        if !text.is_empty() {
            self.printer.raw_now(text.as_bytes());
            self.in_line = !text.ends_with('\n');
        }
    }

    fn say(&mut self, text: &str) {
        let shown = self.markdown.push(text);
        self.print(&shown);
    }

    fn show_live(&mut self, turn: &TurnId, live: &TurnEvent) {
        match live {
            TurnEvent::TextDelta { step, text } => {
                self.live = Some((turn.clone(), *step));
                self.say(text);
            }
            TurnEvent::CallOutput { call, text, .. } => self.output(call, text),
            TurnEvent::Notice { text, .. } => self.note(text),
            _ => {}
        }
    }

    fn show_row(&mut self, row: &Row) {
        match &row.body {
            RowBody::Chunk { role: Role::Assistant, chunk, .. } => match chunk {
                // What streamed is shown already; what another process said is not.
                Chunk::Text { text } if self.live != Some((row.turn.clone(), row.step)) => self.say(text),
                Chunk::ToolCall(call) => self.remember(call),
                _ => {}
            },
            RowBody::CallStarted { call, .. } => {
                self.remember(call);
                let shown = self.calls.entry(call.id.clone()).or_default();
                shown.started_at_ms = Some(row.at_ms);
                let title = shown.title.clone();
                self.note(&title);
            }
            RowBody::CallEnded { result } => self.ended(result, row.at_ms),
            RowBody::TurnEnded { .. } => self.end_line(),
            _ => {}
        }
    }

    fn remember(&mut self, call: &ToolCall) {
        if self.calls.len() < MAX_CALLS {
            let title = title(call, self.paint);
            self.calls.entry(call.id.clone()).or_default().title = title;
        }
    }

    fn output(&mut self, call: &CallId, text: &str) {
        let Some(shown) = self.calls.get_mut(call) else { return };
        let mut lines = Vec::new();
        for piece in text.split_inclusive('\n') {
            if shown.lines >= OUTPUT_LINES {
                shown.hidden += usize::from(piece.ends_with('\n'));
                continue;
            }
            // No more of a line is kept than is shown of it.
            shown.partial.extend(piece.chars().take((2 * LINE_CHARS).saturating_sub(shown.partial.len())));
            if piece.ends_with('\n') {
                shown.lines += 1;
                lines.push(std::mem::take(&mut shown.partial));
            }
        }
        for line in lines {
            self.faint(&line);
        }
    }

    fn faint(&mut self, line: &str) {
        let text = self.paint.text(Tone::Faint, &format!("  │ {}", one_line(line, LINE_CHARS)));
        self.note(&text);
    }

    fn ended(&mut self, result: &ToolResult, at_ms: u64) {
        let shown = self.calls.remove(&result.call).unwrap_or_default();
        match shown.started_at_ms {
            Some(_) if shown.lines < OUTPUT_LINES && !shown.partial.trim().is_empty() => self.faint(&shown.partial),
            Some(_) => {}
            None if shown.title.is_empty() => {}
            None => self.note(&shown.title),
        }
        if shown.hidden > 0 {
            self.faint(&format!("({} more lines)", shown.hidden));
        }
        let took_ms = shown.started_at_ms.map(|started| at_ms.saturating_sub(started));
        let (tone, words) = ending(result, took_ms);
        let text = format!("  {}", self.paint.text(tone, &words));
        self.note(&text);
    }
}

/// A call on one line: its tool and what it is about.
pub(super) fn title(call: &ToolCall, paint: Paint) -> String {
    const ABOUT: [&str; 5] = ["path", "command", "pattern", "query", "url"];
    let texts = ABOUT.iter().filter_map(|name| call.arguments.get(*name)?.as_str());
    let about = texts.map(|text| format!(" {}", one_line(text, LINE_CHARS))).next().unwrap_or_default();
    format!("● {}{about}", paint.text(Tone::Name, &one_line(&call.name, LINE_CHARS)))
}

/// How a call ended, in words.
pub(super) fn ending(result: &ToolResult, took_ms: Option<u64>) -> (Tone, String) {
    let took = took_ms.map(|ms| format!(" ({})", seconds(ms))).unwrap_or_default();
    // The sentence is for the model; a person reads one word instead.
    let text = result.text.strip_prefix(REFUSED).unwrap_or(&result.text);
    let why = one_line(text, LINE_CHARS);
    match result.status {
        ResultStatus::Succeeded => (Tone::Good, format!("done{took}")),
        ResultStatus::Failed => (Tone::Bad, format!("failed{took}: {why}")),
        ResultStatus::Denied if text.len() < result.text.len() => (Tone::Bad, format!("refused {why}")),
        ResultStatus::Denied => (Tone::Bad, format!("refused: {why}")),
        ResultStatus::NotRun => (Tone::Bad, format!("did not run: {why}")),
        ResultStatus::Unknown => (Tone::Bad, format!("unknown whether it ran{took}: {why}")),
    }
}

fn seconds(ms: u64) -> String {
    if ms < 1_000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1_000, ms % 1_000 / 100) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_told_in_a_line() {
        let call = |arguments: serde_json::Value| ToolCall {
            id: "c".into(),
            name: "run_shell".to_owned(),
            arguments: arguments.as_object().cloned().unwrap(),
        };
        let off = Paint::of(false);
        assert_eq!(title(&call(json!({ "command": "ls\n\u{1b}[2J" })), off), "● run_shell ls \u{fffd}[2J");
        assert_eq!(title(&call(json!({ "other": 1 })), off), "● run_shell");
    }

    #[test]
    fn every_end_has_words() {
        let result = |status| ToolResult { call: "c".into(), status, text: "no\nway".to_owned(), images: Vec::new() };
        for (status, took, expected) in [
            (ResultStatus::Succeeded, Some(12), "done (12 ms)"),
            (ResultStatus::Failed, Some(61_250), "failed (61.2 s): no way"),
            (ResultStatus::Denied, None, "refused: no way"),
            (ResultStatus::NotRun, None, "did not run: no way"),
            (ResultStatus::Unknown, Some(1_000), "unknown whether it ran (1.0 s): no way"),
        ] {
            assert_eq!(ending(&result(status), took).1, expected);
        }
    }
}
