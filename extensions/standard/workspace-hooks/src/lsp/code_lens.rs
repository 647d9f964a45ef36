//! What stands over each hook in `hooks.json`: a way to run it, and how its last runs went.

use super::capabilities::{CANCEL, RETRY, START};
use super::hook_lines::HookLine;
use super::wire::{CodeLensWire, LensCommandWire, RangeWire};
use crate::contract::{ExecutionRecord, Status};
use dispatch_os::time::parse_rfc3339;
use serde_json::{Value, json};

/// The lenses of the hooks of a file. `records` are their runs, newest first.
pub(super) fn lenses(
    lines: &[HookLine],
    records: &[ExecutionRecord],
    workspace: &str,
    now_ms: i64,
) -> Vec<CodeLensWire> {
    let lenses = lines.iter().flat_map(|line| {
        let range = RangeWire::on_line(line.line, line.start, line.end);
        let own: Vec<&ExecutionRecord> = records.iter().filter(|record| record.hook_id == line.id).collect();
        let start = LensCommandWire {
            title: "run".to_owned(),
            command: START.to_owned(),
            arguments: Some(vec![json!({ "hook": line.id, "workspace": workspace })]),
        };
        let commands = [Some(start), standing(&own, now_ms)];
        commands.into_iter().flatten().map(move |command| CodeLensWire { range, command })
    });
    lenses.collect()
}

/// How the last runs went; what can be done about the last one.
fn standing(records: &[&ExecutionRecord], now_ms: i64) -> Option<LensCommandWire> {
    let last = records.first()?;
    let of_run = |title: String, command: &str| LensCommandWire {
        title,
        command: command.to_owned(),
        arguments: Some(vec![Value::from(last.id.0.as_str())]),
    };
    let ended = last.end_ts.as_deref().or(Some(last.start_ts.as_str())).and_then(parse_rfc3339);
    let ago = ended.map_or_else(String::new, |at| format!(" {}", ago(now_ms.saturating_sub(at))));
    Some(match last.status {
        Status::Queued => of_run("waits, click to cancel".to_owned(), CANCEL),
        Status::Running => of_run("running, click to cancel".to_owned(), CANCEL),
        Status::Failed | Status::Timeout => {
            let word = if last.status == Status::Timeout { "timed out" } else { "failed" };
            of_run(format!("{word}{ago}, click to retry"), RETRY)
        }
        Status::Refused => of_run(format!("refused{ago}, click to retry"), RETRY),
        Status::Canceled => of_run(format!("canceled{ago}, click to retry"), RETRY),
        Status::Success => {
            let well = records.iter().take_while(|record| record.status == Status::Success).count();
            // A command without a name is shown as plain text.
            LensCommandWire { title: format!("{well} ok, last{ago}"), command: String::new(), arguments: None }
        }
    })
}

fn ago(ms: i64) -> String {
    match ms.max(0) / 1000 {
        seconds if seconds < 60 => format!("{seconds} s ago"),
        seconds if seconds < 3_600 => format!("{} min ago", seconds / 60),
        seconds if seconds < 86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    const NOW_MS: i64 = 1_767_225_600_000;

    #[test]
    fn a_lens_says_how_it_went_and_what_can_be_done() {
        for (statuses, title, command) in [
            (vec![Status::Success, Status::Success, Status::Failed], "2 ok, last 2 min ago", ""),
            (vec![Status::Failed, Status::Success], "failed 2 min ago, click to retry", RETRY),
            (vec![Status::Timeout], "timed out 2 min ago, click to retry", RETRY),
            (vec![Status::Running, Status::Success], "running, click to cancel", CANCEL),
            (vec![Status::Queued], "waits, click to cancel", CANCEL),
        ] {
            let records: Vec<ExecutionRecord> = statuses
                .iter()
                .map(|status| ExecutionRecord {
                    end_ts: Some(dispatch_os::time::rfc3339(NOW_MS - 125_000)),
                    ..record("lint", "1", *status)
                })
                .collect();
            let lines = [HookLine { id: "lint".to_owned(), line: 3, start: 4, end: 10 }];
            let found = lenses(&lines, &records, "/w", NOW_MS);
            let told = found[1].command.clone();
            assert_eq!((told.title.as_str(), told.command.as_str()), (title, command));
            let run = found[0].command.clone();
            assert_eq!((run.title.as_str(), run.command.as_str()), ("run", START));
        }
    }

    #[test]
    fn a_hook_without_runs_can_only_be_run() {
        let lines = [HookLine { id: "new".to_owned(), line: 0, start: 0, end: 1 }];
        assert_eq!(lenses(&lines, &[record("other", "1", Status::Success)], "/w", NOW_MS).len(), 1);
    }

    #[test]
    fn spans_are_told_roughly() {
        for (ms, text) in
            [(0, "0 s ago"), (59_999, "59 s ago"), (60_000, "1 min ago"), (-5, "0 s ago"), (90_000_000, "1 d ago")]
        {
            assert_eq!(ago(ms), text);
        }
    }
}
