//! What starts a hook: trigger, files, the repository that may, the time table.
//!
//! Pure.

use crate::config::fields::{ConfigObject, Located};
use crate::config::file::{ParseContext, SharedChecks};
use crate::config::findings::Findings;
use crate::config::json::JsonValue;
use crate::config::{format, trigger};
use crate::contract::Trigger;
use crate::timetable;
use dispatch_glob::Glob;
use std::path::Path;

/// What starts a hook.
pub(super) struct TriggerFields {
    pub(super) trigger: Option<Trigger>,
    pub(super) pattern: Vec<String>,
    pub(super) allow_git: bool,
    /// As it is written.
    pub(super) repo_root_text: Option<String>,
    /// Where it leads.
    pub(super) repo_root: Option<String>,
    pub(super) schedule: Option<String>,
}

pub(super) fn read(
    hook: &ConfigObject<'_>,
    around: &ParseContext<'_>,
    shared: &mut SharedChecks,
    findings: &mut Findings,
) -> TriggerFields {
    let trigger = match hook.get("trigger") {
        Some(found) => found.text(findings).and_then(|word| trigger::read(&word, findings)),
        None => {
            hook.missing(findings, "trigger", "say what starts the hook, for example \"onDidSaveTextDocument\"");
            None
        }
    };
    let allow_git = hook.flag(&format::ALLOW_GIT, findings);
    let repo_root = hook.text(&format::REPO_ROOT, findings);
    if trigger.as_ref().is_some_and(Trigger::is_of_git) {
        git_safety(hook, allow_git, findings);
    }
    let resolved = repo_root.as_ref().and_then(|root| resolve(root, around, findings));
    TriggerFields {
        schedule: schedule(hook, trigger.as_ref(), shared, findings),
        trigger,
        pattern: patterns(hook, findings),
        allow_git: allow_git.unwrap_or(format::ALLOW_GIT.default),
        repo_root_text: repo_root.map(|root| root.value.to_owned()),
        repo_root: resolved,
    }
}

/// Git starts nothing that does not say so in two places.
fn git_safety(hook: &ConfigObject<'_>, allow_git: Option<bool>, findings: &mut Findings) {
    if allow_git != Some(true) {
        let at = hook.get("allowGit").or_else(|| hook.get("trigger"));
        let (at, pointer) = at.map_or((hook.at, hook.pointer.clone()), |found| (found.at, found.pointer));
        let hint = "write \"allowGit\": true if git may start it";
        findings.add_hinted(at, &pointer, "git-safety", "a hook started by git needs `allowGit: true`", hint);
    }
    if hook.get("repoRoot").is_none() {
        let at = hook.get("trigger");
        let (at, pointer) = at.map_or((hook.at, hook.pointer.clone()), |found| (found.at, found.pointer));
        let hint = "write \"repoRoot\": \".\" if the workspace is the repository";
        findings.add_hinted(at, &pointer, "git-safety", "a hook started by git needs `repoRoot`", hint);
    }
}

fn resolve(root: &Located<&str>, around: &ParseContext<'_>, findings: &mut Findings) -> Option<String> {
    const HINT: &str = "name an existing folder, absolute or relative to the workspace";
    if root.value.is_empty() || root.value.contains('\0') {
        root.wrong_hinted(findings, "git-safety", "invalid `repoRoot`", HINT);
        return None;
    }
    let folder = (around.folder)(&around.workspace.join(Path::new(root.value)));
    let text = folder.and_then(|folder| folder.into_os_string().into_string().ok());
    if text.is_none() {
        root.wrong_hinted(findings, "git-safety", "`repoRoot` is not a folder", HINT);
    }
    text
}

/// One glob or a list of them.
fn patterns(hook: &ConfigObject<'_>, findings: &mut Findings) -> Vec<String> {
    let Some(found) = hook.get("pattern") else { return Vec::new() };
    let texts = match &found.value.json {
        JsonValue::Text(text) => vec![found.map(|_| text.as_str())],
        JsonValue::List(_) => hook.texts(&format::PATTERN.list, findings).unwrap_or_default(),
        _ => {
            let message = format!("expected a glob or a list of globs, found {}", found.value.kind());
            found.wrong(findings, "type", message);
            return Vec::new();
        }
    };
    texts.iter().filter_map(|text| pattern(text, findings)).collect()
}

fn pattern(text: &Located<&str>, findings: &mut Findings) -> Option<String> {
    let (sign, path) = match text.value.strip_prefix('!') {
        Some(path) => ("!", path),
        None => ("", text.value),
    };
    let path = path.strip_prefix("./").unwrap_or(path);
    match Glob::new(path) {
        Err(error) => text.wrong(findings, "glob", error.to_string()),
        Ok(glob) if glob.matches_nothing() => {
            text.wrong_hinted(findings, "glob", "the glob matches no file", "write `**` for every file");
        }
        Ok(glob) if glob.leaves_its_folder() => {
            let hint = "globs are relative to the workspace and stay in it";
            text.wrong_hinted(findings, "glob", "the glob leaves the workspace", hint);
        }
        Ok(_) => return Some(format!("{sign}{path}")),
    }
    None
}

/// The time table, with its zone in front if it has one.
fn schedule(
    hook: &ConfigObject<'_>,
    trigger: Option<&Trigger>,
    shared: &mut SharedChecks,
    findings: &mut Findings,
) -> Option<String> {
    let wanted = trigger == Some(&Trigger::Schedule);
    let found = hook.text(&format::SCHEDULE, findings);
    let zone = hook.text(&format::TIMEZONE, findings);
    if wanted && hook.get("schedule").is_none() {
        hook.missing(findings, "schedule", "write when it runs, for example \"0 9 * * 1-5\"");
    }
    for stray in [&found, &zone].into_iter().flatten().filter(|_| !wanted && trigger.is_some()) {
        let hint = "remove it, or set the trigger to \"schedule\"";
        stray.wrong_hinted(findings, "schedule", "`schedule` and `timezone` are only for the trigger `schedule`", hint);
    }
    let found = found?;
    let text = timetable::text(found.value, zone.as_ref().map(|zone| zone.value));
    match shared.timetables.check(&text) {
        Ok(()) => Some(text),
        Err(error) => {
            let at = if error.is_of_zone() { zone.as_ref().unwrap_or(&found) } else { &found };
            at.wrong_hinted(findings, "schedule", error.to_string(), error.hint());
            None
        }
    }
}
