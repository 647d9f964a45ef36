//! What `init` tells: one line per file, then what is left to do.

use dispatch_hook_dialects::dialect;
use dispatch_hook_dialects::register::{self, Scope};

use super::overlap;
use super::registration_root::RegistrationRoot;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use serde::Serialize;
use serde_json::json;

/// From this many files of one folder on, they share one line.
const MANY: usize = 6;

/// What was done with a file, or what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    /// It was not there.
    Wrote,
    /// Our part was added or corrected.
    Updated,
    Kept,
    Removed,
    /// It has its old content back.
    Restored,
    /// Only our entries were taken out.
    Cleaned,
    /// It should be there.
    Missing,
    /// It does not say what it should.
    Differs,
    /// It is left to the user.
    Skipped,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Wrote => "wrote",
            Self::Updated => "updated",
            Self::Kept => "kept",
            Self::Removed => "removed",
            Self::Restored => "restored",
            Self::Cleaned => "cleaned",
            Self::Missing => "missing",
            Self::Differs => "differs",
            Self::Skipped => "skipped",
        }
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ReportLine {
    action: Action,
    path: String,
    detail: String,
}

impl ReportLine {
    pub(super) fn new(action: Action, path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { action, path: path.into(), detail: detail.into() }
    }

    fn row(&self) -> Vec<String> {
        vec![self.action.word().to_owned(), self.path.clone(), self.detail.clone()]
    }
}

/// A host and how it came to be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ChosenHost {
    pub(super) host: &'static str,
    pub(super) because: Option<String>,
}

/// Everything one run has to tell.
pub(super) struct Report<'a> {
    pub(super) place: &'a RegistrationRoot,
    pub(super) hosts: &'a [ChosenHost],
    pub(super) lines: Vec<ReportLine>,
    /// What the whole comes to.
    pub(super) closing: String,
}

impl Report<'_> {
    pub(super) fn print(&self, format: Format, printer: &Printer) -> Result<(), Failure> {
        match format {
            Format::Json => printer.json(&self.json())?,
            Format::Text => printer.out(&self.text()),
        }
        Ok(())
    }

    /// What the user has to do and what to know after a registration.
    pub(super) fn advise(&self, format: Format, printer: &Printer) {
        if format == Format::Json {
            return;
        }
        for line in self.advice() {
            printer.out(&line);
        }
        for warning in self.warnings() {
            printer.warn(&warning);
        }
    }

    fn ids(&self) -> Vec<&'static str> {
        self.hosts.iter().map(|chosen| chosen.host).collect()
    }

    fn advice(&self) -> Vec<String> {
        let line = |host: &&str| register::advice(host).map(|advice| format!("{}: {advice}", title(host)));
        self.ids().iter().filter_map(line).collect()
    }

    fn warnings(&self) -> Vec<String> {
        overlap::warning(&self.ids()).into_iter().collect()
    }

    fn text(&self) -> String {
        let told = |chosen: &ChosenHost| match &chosen.because {
            Some(because) => format!("{} ({because})", title(chosen.host)),
            None => title(chosen.host).to_owned(),
        };
        let hosts: Vec<String> = self.hosts.iter().map(told).collect();
        let scope = match self.place.scope {
            Scope::Project => "project",
            Scope::User => "home",
        };
        let mut head = vec![vec![scope.to_owned(), self.place.root.display().to_string()]];
        if !hosts.is_empty() {
            head.push(vec!["program".to_owned(), self.place.command.words().join(" ")]);
            head.push(vec!["hosts".to_owned(), hosts.join(", ")]);
        }
        let head = table(&head);
        let files = table(&rows(&self.lines));
        let parts = [head, files, self.closing.clone()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "root": self.place.root,
            "scope": match self.place.scope { Scope::Project => "project", Scope::User => "user" },
            "program": self.place.command.words(),
            "hosts": self.hosts,
            "files": self.lines,
            "advice": self.advice(),
            "warnings": self.warnings(),
        })
    }
}

/// One row per file; many alike in one folder are one row.
fn rows(lines: &[ReportLine]) -> Vec<Vec<String>> {
    let alike = |one: &ReportLine, other: &ReportLine| {
        one.action == other.action && one.detail == other.detail && folder(&one.path) == folder(&other.path)
    };
    let mut rows = Vec::new();
    for group in lines.chunk_by(alike) {
        match group {
            [first, ..] if group.len() >= MANY => {
                let place = format!("{}/ ({} files)", folder(&first.path), group.len());
                rows.push(vec![first.action.word().to_owned(), place, first.detail.clone()]);
            }
            _ => rows.extend(group.iter().map(ReportLine::row)),
        }
    }
    rows
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn title(host: &str) -> &str {
    dialect::by_name(host).map_or(host, |found| found.support().title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_of_one_folder_are_one_row() {
        let mut lines: Vec<ReportLine> =
            (0..MANY).map(|n| ReportLine::new(Action::Wrote, format!("a/b/{n}"), "")).collect();
        assert_eq!(rows(&lines), [["wrote", "a/b/ (6 files)", ""]]);
        lines[0].action = Action::Kept;
        assert_eq!(rows(&lines).len(), MANY);
        assert_eq!(rows(&[ReportLine::new(Action::Kept, "c", "x")]), [["kept", "c", "x"]]);
    }
}
