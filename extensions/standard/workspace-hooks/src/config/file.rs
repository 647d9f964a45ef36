//! One file of hooks: its text becomes hooks, or problems that name their place.

#[cfg(test)]
mod tests;

use super::fields::{Found, Object};
use super::findings::Findings;
use super::hook;
use super::json::{Node, read, shown};
use super::limits::{CONCURRENCY, MAX_FILE_BYTES, MAX_HOOKS, QUEUED};
use super::migrate;
use super::regexes::Regexes;
use crate::contract::{Hook, HookLimits, Problem};
use crate::timetable::Judged;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The keys of the file.
pub(crate) const KEYS: &[&str] = &["$schema", "schemaVersion", "hooks", "limits", "secretPatterns"];

/// What a file is read against.
pub(crate) struct Surroundings<'a> {
    /// The workspace, absolute.
    pub(crate) workspace: &'a Path,
    /// Where a folder really is; none if there is none.
    pub(crate) folder: &'a dyn Fn(&Path) -> Option<PathBuf>,
    /// Ids that the hooks of another file have.
    pub(crate) taken: &'a BTreeSet<String>,
    /// Patterns of secrets that count beside those of the file.
    pub(crate) secret_patterns: &'a [String],
}

/// What the hooks of a file have in common while it is read.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) secret_patterns: Vec<String>,
    pub(crate) regexes: Regexes,
    pub(crate) timetables: Judged,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    /// The hooks that keep every rule, in order.
    pub(crate) hooks: Vec<Hook>,
    /// How many are written down.
    pub(crate) written: usize,
    /// The limits, if it sets any.
    pub(crate) limits: Option<HookLimits>,
    /// The patterns of secrets of all its hooks.
    pub(crate) secret_patterns: Vec<String>,
    /// What is wrong with it.
    pub(crate) problems: Vec<Problem>,
}

/// Reads the bytes of a file; `file` is how problems call it.
pub(crate) fn parse(file: &str, bytes: &[u8], around: &Surroundings<'_>) -> Contents {
    let mut findings = Findings::default();
    let text = match std::str::from_utf8(bytes) {
        _ if bytes.len() as u64 > MAX_FILE_BYTES => {
            findings.add(0, "", "too-large", format!("the file is larger than {MAX_FILE_BYTES} bytes"));
            ""
        }
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok());
            let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
            let message = if wide { "the file is UTF-16" } else { "the file is not UTF-8 from here on" };
            findings.add_hinted(error.valid_up_to(), "", "encoding", message, "save it as UTF-8");
            let problems = findings.placed(file, valid.unwrap_or_default());
            return Contents { problems, ..Contents::default() };
        }
    };
    if findings.total() > 0 {
        return Contents { problems: findings.placed(file, text), ..Contents::default() };
    }
    let (root, flaws) = read(text);
    flaws.into_iter().for_each(|flaw| findings.add_flaw(flaw));
    let mut contents = root.map(|root| document(root, around, &mut findings)).unwrap_or_default();
    contents.problems = findings.placed(file, text);
    contents
}

fn document(mut root: Node, around: &Surroundings<'_>, findings: &mut Findings) -> Contents {
    let Some(version) = migrate::version(&root, findings) else { return Contents::default() };
    migrate::migrate(&mut root, version);
    let Some(top) = Found::of(&root, String::new()).object(findings) else { return Contents::default() };
    top.refuse_unknown(KEYS, findings);
    let mut shared = Shared::default();
    shared.secret_patterns = shared.regexes.read(&top, around.secret_patterns.len(), findings);
    let limits = limits(&top, findings);
    let mut contents = hooks(&top, around, &mut shared, findings);
    contents.limits = limits;
    contents.secret_patterns = shared.secret_patterns;
    contents
}

fn limits(top: &Object<'_>, findings: &mut Findings) -> Option<HookLimits> {
    let limits = top.object("limits", findings)?;
    limits.refuse_unknown(&["concurrency", "queued"], findings);
    let defaults = HookLimits::default();
    let mut read = |key, range| {
        let value = limits.whole_in(key, range, "range", findings);
        value.and_then(|value| u32::try_from(value).ok())
    };
    Some(HookLimits {
        concurrency: read("concurrency", &CONCURRENCY).unwrap_or(defaults.concurrency),
        queued: read("queued", &QUEUED).unwrap_or(defaults.queued),
    })
}

fn hooks(top: &Object<'_>, around: &Surroundings<'_>, shared: &mut Shared, findings: &mut Findings) -> Contents {
    let Some(found) = top.get("hooks") else {
        top.missing(findings, "hooks", "write \"hooks\": [] if there are none");
        return Contents::default();
    };
    let (at, pointer) = (found.at, found.pointer.clone());
    let Some(items) = found.list(findings) else { return Contents::default() };
    let written = items.len();
    if written > MAX_HOOKS {
        findings.add(at, &pointer, "too-large", format!("there are {written} hooks; {MAX_HOOKS} are the most"));
        return Contents { written, ..Contents::default() };
    }
    let mut seen = BTreeMap::new();
    let mut hooks = Vec::new();
    for item in items {
        let Some(object) = item.object(findings) else { continue };
        let read = hook::read(&object, around, shared, findings);
        let unique = unique_id(&object, around, &mut seen, findings);
        hooks.extend(read.filter(|_| unique));
    }
    Contents { hooks, written, ..Contents::default() }
}

/// Whether no hook before has the same id; also for hooks that are wrong otherwise.
fn unique_id<'a>(
    hook: &Object<'a>,
    around: &Surroundings<'_>,
    seen: &mut BTreeMap<&'a str, String>,
    findings: &mut Findings,
) -> bool {
    let id = hook.get("id").and_then(|found| found.text(&mut Findings::default()));
    let Some(id) = id else { return true };
    let first = match seen.get(id.value) {
        Some(first) => format!("the hook {first} has the id `{}` too", shown(id.value)),
        None if around.taken.contains(id.value) => {
            format!("a hook of the global file has the id `{}` too", shown(id.value))
        }
        None => {
            seen.insert(id.value, hook.pointer.clone());
            return true;
        }
    };
    id.wrong_hinted(findings, "duplicate-id", first, "give every hook an id of its own");
    false
}
