//! What runs print while they go, each line under the name of its hook.

use super::watch_printer::WatchPrinter;
use dispatch_contracts::BoxStream;
use ext_workspace_hooks::contract::{ExecutionRecord, RunId, Runs};
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

/// How often runs that go are looked at for more output.
const LOOK: Duration = Duration::from_millis(200);

/// When the output of runs is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ShowOutput {
    /// If standard output is a terminal
    Auto,
    Always,
    Never,
}

impl ShowOutput {
    pub(super) fn is_on(self) -> bool {
        match self {
            Self::Auto => std::io::stdout().is_terminal(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Tells about runs as they go and end; resolves when there is no more to come.
pub(super) async fn tell(runs: &dyn Runs, news: &mut BoxStream<'static, ExecutionRecord>, out: &WatchPrinter<'_>) {
    let mut outputs = RunOutputs { runs, out, going: BTreeMap::new() };
    loop {
        tokio::select! {
            record = news.next() => match record {
                Some(record) => outputs.heard(&record).await,
                None => return,
            },
            () = tokio::time::sleep(LOOK), if !outputs.going.is_empty() => outputs.look().await,
        }
    }
}

/// The runs that go, with what was shown of their output.
struct RunOutputs<'a> {
    runs: &'a dyn Runs,
    out: &'a WatchPrinter<'a>,
    going: BTreeMap<RunId, String>,
}

impl RunOutputs<'_> {
    async fn heard(&mut self, record: &ExecutionRecord) {
        if self.out.shows_output() {
            if record.status.is_over() {
                let shown = self.going.remove(&record.id).unwrap_or_default();
                self.show(&record.id, shown).await;
            } else if record.attempts > 0 {
                self.going.entry(record.id.clone()).or_default();
            }
        }
        self.out.run(record);
    }

    async fn look(&mut self) {
        for (id, shown) in std::mem::take(&mut self.going) {
            let shown = self.show(&id, shown).await;
            self.going.insert(id, shown);
        }
    }

    /// Prints what is new and returns what is shown now. A run that cannot be read is read again later.
    async fn show(&self, id: &RunId, shown: String) -> String {
        let Ok(record) = self.runs.run(&id.0).await else { return shown };
        let printed = record.logs.as_deref().unwrap_or_default();
        let new = new_lines(&shown, printed, record.status.is_over());
        self.out.output(&record.hook_id, new);
        format!("{shown}{new}")
    }
}

/// The whole lines that were printed since; at the end of the run also one that is not whole. What is kept of a long
/// output has a gap: then nothing more is shown.
fn new_lines<'a>(shown: &str, printed: &'a str, is_over: bool) -> &'a str {
    let new = printed.strip_prefix(shown).unwrap_or_default();
    match new.rfind('\n') {
        _ if is_over => new,
        Some(end) => new.get(..=end).unwrap_or_default(),
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_once_and_whole() {
        for (shown, printed, is_over, expected) in [
            ("", "", false, ""),
            ("", "on", false, ""),
            ("", "one\ntw", false, "one\n"),
            ("one\n", "one\ntwo\n", false, "two\n"),
            ("one\n", "one\ntwo", true, "two"),
            ("one\n", "another beginning\n", true, ""),
        ] {
            assert_eq!(new_lines(shown, printed, is_over), expected, "{shown:?} {printed:?}");
        }
    }
}
