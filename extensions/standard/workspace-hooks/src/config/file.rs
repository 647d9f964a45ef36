//! One file of hooks: its text becomes hooks, or problems that name their place.
//!
//! Pure.

#[cfg(test)]
mod tests;

use super::fields::{ConfigObject, Located};
use super::findings::Findings;
use super::hook;
use super::json::{JsonNode, read, shown};
use super::limits::{MAX_FILE_BYTES, MAX_HOOKS};
use super::secret_patterns::SecretPatternChecks;
use super::{format, migrate};
use crate::contract::{Hook, HookLimits, Problem};
use crate::timetable::CheckedTimetables;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a file is read against.
pub(crate) struct ParseContext<'a> {
    /// The workspace, absolute.
    pub(crate) workspace: &'a Path,
    /// The folder without links; none if it does not exist.
    pub(crate) folder: &'a dyn Fn(&Path) -> Option<PathBuf>,
    /// Ids that the hooks of another file have.
    pub(crate) taken: &'a BTreeSet<String>,
    /// Patterns of secrets that count beside those of the file.
    pub(crate) secret_patterns: &'a [String],
}

/// What the hooks of a file have in common while it is read.
#[derive(Default)]
pub(crate) struct SharedChecks {
    pub(crate) secret_patterns: Vec<String>,
    pub(crate) regexes: SecretPatternChecks,
    pub(crate) timetables: CheckedTimetables,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ParsedHookFile {
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
pub(crate) fn parse(file: &str, bytes: &[u8], around: &ParseContext<'_>) -> ParsedHookFile {
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
            let message = if wide { "the file is UTF-16, expected UTF-8" } else { "invalid UTF-8" };
            findings.add_hinted(error.valid_up_to(), "", "encoding", message, "save it as UTF-8");
            let problems = findings.placed(file, valid.unwrap_or_default());
            return ParsedHookFile { problems, ..ParsedHookFile::default() };
        }
    };
    if findings.total() > 0 {
        return ParsedHookFile { problems: findings.placed(file, text), ..ParsedHookFile::default() };
    }
    let (root, flaws) = read(text);
    flaws.into_iter().for_each(|flaw| findings.add_flaw(flaw));
    let mut contents = root.map(|root| document(root, around, &mut findings)).unwrap_or_default();
    contents.problems = findings.placed(file, text);
    contents
}

fn document(mut root: JsonNode, around: &ParseContext<'_>, findings: &mut Findings) -> ParsedHookFile {
    let Some(version) = migrate::version(&root, findings) else { return ParsedHookFile::default() };
    migrate::migrate(&mut root, version);
    let Some(top) = Located::of(&root, String::new()).object(findings) else { return ParsedHookFile::default() };
    top.refuse_unknown(&format::FILE.names(), findings);
    let mut shared = SharedChecks::default();
    shared.secret_patterns = shared.regexes.read(&top, around.secret_patterns.len(), findings);
    let limits = limits(&top, findings);
    let mut contents = hooks(&top, around, &mut shared, findings);
    contents.limits = limits;
    contents.secret_patterns = shared.secret_patterns;
    contents
}

fn limits(top: &ConfigObject<'_>, findings: &mut Findings) -> Option<HookLimits> {
    let limits = top.object(&format::LIMITS, findings)?;
    Some(HookLimits {
        concurrency: limits.small_or_default(&format::ALL_CONCURRENCY, findings),
        queued: limits.small_or_default(&format::QUEUED, findings),
    })
}

fn hooks(
    top: &ConfigObject<'_>,
    around: &ParseContext<'_>,
    shared: &mut SharedChecks,
    findings: &mut Findings,
) -> ParsedHookFile {
    let Some(found) = top.get("hooks") else {
        top.missing(findings, "hooks", "write \"hooks\": [] if there are none");
        return ParsedHookFile::default();
    };
    let (at, pointer) = (found.at, found.pointer.clone());
    let Some(items) = found.list(findings) else { return ParsedHookFile::default() };
    let written = items.len();
    if written > MAX_HOOKS {
        findings.add(at, &pointer, "too-large", format!("{written} hooks, more than the limit of {MAX_HOOKS}"));
        return ParsedHookFile { written, ..ParsedHookFile::default() };
    }
    let mut seen = BTreeMap::new();
    let mut hooks = Vec::new();
    for item in items {
        let Some(object) = item.object(findings) else { continue };
        let read = hook::read(&object, around, shared, findings);
        let unique = unique_id(&object, around, &mut seen, findings);
        hooks.extend(read.filter(|_| unique));
    }
    ParsedHookFile { hooks, written, ..ParsedHookFile::default() }
}

/// Whether no hook before has the same id; also for hooks that are wrong otherwise.
fn unique_id<'a>(
    hook: &ConfigObject<'a>,
    around: &ParseContext<'_>,
    seen: &mut BTreeMap<&'a str, String>,
    findings: &mut Findings,
) -> bool {
    let id = hook.get("id").and_then(|found| found.text(&mut Findings::default()));
    let Some(id) = id else { return true };
    let first = match seen.get(id.value) {
        Some(first) => format!("duplicate id `{}`, also used by {first}", shown(id.value)),
        None if around.taken.contains(id.value) => {
            format!("duplicate id `{}`, also used in the global file", shown(id.value))
        }
        None => {
            seen.insert(id.value, hook.pointer.clone());
            return true;
        }
    };
    id.wrong_hinted(findings, "duplicate-id", first, "give each hook a unique id");
    false
}
