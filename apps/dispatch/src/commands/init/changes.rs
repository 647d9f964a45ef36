//! What would have to be written, found out before anything is.

use dispatch_hook_dialects::dialect;
use dispatch_hook_dialects::register::{self, Layout, RegisterError, Registered, Scope, System, Target};

use super::ci_workflow::CiService;
use super::layout::{self, LayoutFileChange, ModuleSet};
use super::mcp_hosts;
use super::registration_root::RegistrationRoot;
use super::restore::OwnEntries;

/// One file that has to be written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) before: Option<String>,
    pub(super) after: String,
    pub(super) executable: bool,
    pub(super) ours: OwnEntries,
    /// Whose file it is, or why it changes.
    pub(super) detail: String,
    /// What is not as it should be, one line each; none for a file that is not there.
    pub(super) differences: Vec<String>,
}

/// Everything that was found out.
#[derive(Debug, Default)]
pub(super) struct InitChanges {
    pub(super) changes: Vec<FileChange>,
    /// Path and reason of what stays.
    pub(super) kept: Vec<(String, String)>,
    /// What keeps us from writing anything.
    pub(super) problems: Vec<String>,
}

/// The hosts that read one file, and how it is edited for each.
pub(crate) struct RegistrationFile {
    pub(crate) path: String,
    pub(crate) targets: Vec<(&'static str, Target)>,
}

/// Whether the MCP server belongs to the registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpServerPart {
    Registered,
    Left,
}

/// The files of these hosts, each once.
pub(crate) fn registrations(
    hosts: &[&'static str],
    scope: Scope,
    layout: Layout,
    server: McpServerPart,
) -> Vec<RegistrationFile> {
    let mut files: Vec<RegistrationFile> = Vec::new();
    for host in hosts {
        // A host without a file of its own in this scope has nothing to be written.
        let mut targets = register::targets(host, scope, System::current(), layout).unwrap_or_default();
        if server == McpServerPart::Registered && scope == Scope::Project {
            targets.extend(mcp_hosts::target(host));
        }
        for target in targets {
            match files.iter_mut().find(|file| file.path == target.path) {
                Some(file) => file.targets.push((host, target)),
                None => files.push(RegistrationFile { path: target.path.clone(), targets: vec![(host, target)] }),
            }
        }
    }
    files
}

impl InitChanges {
    pub(super) fn of_registrations(&mut self, place: &RegistrationRoot, files: &[RegistrationFile]) {
        for file in files {
            let read = place.read(&file.path);
            match read.and_then(|before| file.judge(before, place)) {
                Ok(PlannedChange::FileChange(change)) => self.changes.push(change),
                Ok(PlannedChange::Kept) => {
                    self.kept.push((file.path.clone(), format!("{}: registered", file.titles())))
                }
                Err(problem) => self.problems.push(problem),
            }
        }
    }

    pub(super) fn of_layout(&mut self, place: &RegistrationRoot, set: ModuleSet) {
        self.of_files(place, set, layout::files(set));
    }

    pub(super) fn of_user_rules(&mut self, place: &RegistrationRoot, set: ModuleSet) {
        if let Some(folder) = &place.user_hooks {
            self.of_files(place, set, layout::user_files(set, folder));
        }
    }

    pub(super) fn of_intents(&mut self, place: &RegistrationRoot) {
        self.of_files(place, ModuleSet::Default, layout::intents_files());
    }

    pub(super) fn of_workflow(&mut self, place: &RegistrationRoot, service: CiService) {
        self.of_files(place, ModuleSet::Default, vec![service.file()]);
    }

    fn of_files(&mut self, place: &RegistrationRoot, set: ModuleSet, files: Vec<layout::LayoutFile>) {
        for file in files {
            let judged = place.read(&file.path).and_then(|before| {
                let verdict = file.judge(before.as_deref(), set).map_err(|why| format!("{}: {why}", file.path))?;
                Ok((before, verdict))
            });
            match judged {
                Ok((_, LayoutFileChange::Keep(why))) => self.kept.push((file.path, why.to_owned())),
                Ok((before, LayoutFileChange::Write(after, detail))) => {
                    let differences = if before.is_some() { vec![detail.clone()] } else { Vec::new() };
                    let path = file.path;
                    let ours = OwnEntries::Absent;
                    self.changes.push(FileChange { path, before, after, executable: false, ours, detail, differences });
                }
                Err(problem) => self.problems.push(problem),
            }
        }
    }
}

enum PlannedChange {
    FileChange(FileChange),
    Kept,
}

impl RegistrationFile {
    /// The products that read the file.
    pub(super) fn titles(&self) -> String {
        let title =
            |(host, _): &(&'static str, Target)| dialect::by_name(host).map_or(*host, |found| found.support().title);
        let mut titles: Vec<&str> = self.targets.iter().map(title).collect();
        titles.dedup();
        titles.join(", ")
    }

    /// Whether any of ours is in the text.
    pub(crate) fn presence(&self, text: Option<&str>, place: &RegistrationRoot) -> Result<OwnEntries, RegisterError> {
        for (_, target) in &self.targets {
            if target.check(text, &place.command)? != Registered::Missing {
                return Ok(OwnEntries::Present);
            }
        }
        Ok(OwnEntries::Absent)
    }

    /// What the text says that it should not, over all hosts.
    pub(crate) fn differences(
        &self,
        text: Option<&str>,
        place: &RegistrationRoot,
    ) -> Result<Vec<String>, RegisterError> {
        let mut lines = Vec::new();
        for (_, target) in &self.targets {
            let found = match target.check(text, &place.command)? {
                Registered::Yes => Vec::new(),
                Registered::Missing => vec!["not registered".to_owned()],
                Registered::Differs(found) => found,
            };
            lines.extend(found);
        }
        lines.dedup();
        Ok(lines)
    }

    fn judge(&self, before: Option<String>, place: &RegistrationRoot) -> Result<PlannedChange, String> {
        let told = |error: RegisterError| format!("{}: {error}", self.path);
        let ours = self.presence(before.as_deref(), place).map_err(told)?;
        let mut after = before.clone();
        for (_, target) in &self.targets {
            after = Some(target.merge(after.as_deref(), &place.command).map_err(told)?);
        }
        let after = after.unwrap_or_default();
        if before.as_ref() == Some(&after) {
            return Ok(PlannedChange::Kept);
        }
        let differences = match &before {
            Some(text) => self.differences(Some(text), place).map_err(told)?,
            None => Vec::new(),
        };
        Ok(PlannedChange::FileChange(FileChange {
            path: self.path.clone(),
            before,
            after,
            executable: self.targets.iter().any(|(_, target)| target.executable),
            ours,
            detail: self.titles(),
            differences,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_two_hosts_read_is_edited_once() {
        let files = registrations(
            &["vscode-copilot", "claude-code", "copilot-cli"],
            Scope::Project,
            Layout::WithLegacy,
            McpServerPart::Left,
        );
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, [".github/hooks/dispatch.json", ".github/hooks.json", ".claude/settings.json"]);
        assert_eq!(files[0].targets.len(), 2);
        assert!(registrations(&["native"], Scope::Project, Layout::Current, McpServerPart::Left).is_empty());
    }
}
