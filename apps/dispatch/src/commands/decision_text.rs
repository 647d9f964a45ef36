//! One decision in words, the same for `why` and `explain`.

use dispatch_hook_module::Decision;

use crate::plain::{lines, one_line};
use ext_hook_pipeline::contract::{DecisionReport, ModuleReport, ToolReport};
use std::path::Path;

/// Paths of one call that are listed.
const SHOWN_PATHS: usize = 20;
/// Lines of a command or a reason that are shown.
const SHOWN_LINES: usize = 20;

/// A label and its text; a label that repeats is shown once.
pub(super) type Row = (&'static str, String);

/// What was decided, about what, why, and how long each module took.
pub(super) fn rows(report: &DecisionReport, decided_by: Option<&str>, total_ms: Option<f64>, root: &Path) -> Vec<Row> {
    let mut rows = vec![("decision", verdict(report, decided_by))];
    if let Some(reason) = &report.reason {
        rows.extend(lines(reason, SHOWN_LINES).into_iter().map(|line| ("reason", line)));
    }
    if let Some(tool) = &report.tool {
        rows.extend(tool_rows(tool, root));
    }
    rows.push(("modules", modules(&report.modules)));
    rows.extend(total_ms.map(|ms| ("took", format!("{ms:.2} ms"))));
    rows
}

fn verdict(report: &DecisionReport, decided_by: Option<&str>) -> String {
    let word = match report.decision {
        Decision::Allow => "no objection",
        Decision::Ask => "the user is asked",
        Decision::Deny => "refused",
    };
    let code = report.code.as_ref().map(|code| format!(" ({})", one_line(code, 40))).unwrap_or_default();
    let by = decided_by.map(|module| format!(" by {}", one_line(module, 64))).unwrap_or_default();
    format!("{}: {word}{by}{code}", report.decision.as_str())
}

fn tool_rows(tool: &ToolReport, root: &Path) -> Vec<Row> {
    let kind = dispatch_hook_module::phase::kind_name(tool.kind);
    let mut rows = vec![("tool", format!("{} ({kind})", one_line(&tool.name, 100)))];
    if let Some(command) = &tool.command {
        rows.extend(lines(command, SHOWN_LINES).into_iter().map(|line| ("command", line)));
    }
    for touched in tool.paths.iter().take(SHOWN_PATHS) {
        let path = Path::new(&touched.path);
        let shown = path.strip_prefix(root).ok().filter(|inside| !inside.as_os_str().is_empty()).unwrap_or(path);
        let access = format!("{:?}", touched.access).to_lowercase();
        rows.push(("paths", format!("{access} {}", one_line(&shown.display().to_string(), 200))));
    }
    if tool.paths.len() > SHOWN_PATHS {
        rows.push(("paths", format!("and {} more", tool.paths.len() - SHOWN_PATHS)));
    }
    rows
}

fn modules(runs: &[ModuleReport]) -> String {
    if runs.is_empty() {
        return "none looked at it".to_owned();
    }
    let shown = |run: &ModuleReport| format!("{} {} {:.2} ms", run.name, run.decision, run.ms);
    runs.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The rows under each other, every label once.
pub(super) fn render(rows: &[Row]) -> String {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    let mut before = "";
    let mut text = Vec::new();
    for (label, value) in rows {
        let shown = if *label == before { "" } else { label };
        before = label;
        text.push(format!("{shown:<width$}  {value}").trim_end().to_owned());
    }
    text.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_decision_is_told_in_rows() {
        let report: DecisionReport = serde_json::from_value(json!({
            "host": "codex", "event": "PreToolUse", "session": "a", "decision": "deny", "reason": "It has no bound.\nUse less.",
            "code": "UB01", "tool": {"name": "Bash", "kind": "execute", "command": "rm -rf \u{1b}[31m/",
            "paths": [{"path": "/", "access": "delete"}, {"path": "/repo/a", "access": "read"}]},
            "modules": [{"name": "session", "decision": "allow", "ms": 0.01}, {"name": "g", "decision": "deny", "ms": 0.2}],
        }))
        .unwrap();
        let expected = "\
decision  deny: refused by g (UB01)
reason    It has no bound.
          Use less.
tool      Bash (execute)
command   rm -rf \u{fffd}[31m/
paths     delete /
          read a
modules   session allow 0.01 ms, g deny 0.20 ms
took      1.50 ms";
        assert_eq!(render(&rows(&report, Some("g"), Some(1.5), Path::new("/repo"))), expected);
    }
}
