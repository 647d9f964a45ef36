//! Selects and formats what an agent is told about its intent, within a token limit: only this intent, and only files
//! in its scope.
//!
//! Pure.

use dispatch_glob::Glob;
use serde::Serialize;

use crate::intent::IntentSpec;
use crate::trace_entry::{ScopeValidation, TraceEntry};

/// The token limit of the text.
pub(crate) const MAX_TOKENS: usize = 4_000;
/// The most entries in the text.
pub(crate) const MAX_ENTRIES: usize = 20;
/// The length of a shortened text.
const SHORT_CHARS: usize = 300;
/// A longer text exceeds every token limit and is cut before its tokens are counted.
const MAX_COUNTED_BYTES: usize = 64 * 1024;
const MARKER: &str = "[shortened; the rest is in .orchestration/active_intents.yaml]";

/// A file that an intent changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelatedFile {
    /// From the workspace's root.
    pub file_path: String,
    /// The intent that changed it last.
    pub intent_id: String,
    /// Its hash after that change; `None` if the file was removed.
    pub last_hash: Option<String>,
    /// The time of that change.
    pub last_modified: String,
}

impl RelatedFile {
    /// The file of an entry, which is its newest.
    #[must_use]
    pub fn of(entry: &TraceEntry) -> Option<Self> {
        let file = entry.file.as_ref()?;
        Some(Self {
            file_path: file.relative_path.clone(),
            intent_id: entry.intent_id.clone(),
            last_hash: file.post_hash.clone(),
            last_modified: entry.timestamp.clone(),
        })
    }
}

/// How much was left out because of the token limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OmittedContext {
    /// Recent entries.
    pub entries: usize,
    /// Related files.
    pub files: usize,
    /// Acceptance criteria.
    pub criteria: usize,
    /// Constraints.
    pub constraints: usize,
    /// Whether texts were shortened.
    pub shortened: bool,
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IntentContext {
    /// The text for a prompt.
    pub text: String,
    /// Its number of tokens.
    pub tokens: usize,
    /// The files in the text.
    pub related_files: Vec<RelatedFile>,
    /// The entries in the text, newest first.
    pub recent_entries: Vec<TraceEntry>,
    /// What was left out.
    pub omitted: OmittedContext,
}

/// Selects and formats the text. `entries` are newest first; `count` counts tokens.
#[must_use]
pub(crate) fn curate(
    intent: &IntentSpec,
    files: Vec<RelatedFile>,
    entries: Vec<TraceEntry>,
    count: &dyn Fn(&str) -> usize,
) -> IntentContext {
    let globs: Vec<Glob> = intent.owned_scope.iter().filter_map(|glob| Glob::new(glob).ok()).collect();
    let in_scope = |path: &str| globs.iter().any(|glob| glob.is_match(path));
    let files: Vec<_> = files.into_iter().filter(|file| in_scope(&file.file_path)).collect();
    let mine = entries.into_iter().filter(|entry| entry.intent_id == intent.id);
    let entries: Vec<_> = mine.take(MAX_ENTRIES).collect();
    let draft = ContextDraft { intent, files: &files, entries: &entries };
    let (portion, text) = draft.fit(count);
    let omitted = OmittedContext {
        entries: entries.len() - portion.entries,
        files: files.len() - portion.files,
        criteria: intent.acceptance_criteria.len() - portion.criteria,
        constraints: intent.constraints.len() - portion.constraints,
        shortened: portion.max_chars != usize::MAX || text.ends_with(MARKER),
    };
    let tokens = count(&text);
    let related_files = files.into_iter().take(portion.files).collect();
    let recent_entries = entries.into_iter().take(portion.entries).collect();
    IntentContext { text, tokens, related_files, recent_entries, omitted }
}

/// How much of each part is included.
#[derive(Debug, Clone, Copy)]
struct ContextPortion {
    entries: usize,
    files: usize,
    criteria: usize,
    constraints: usize,
    /// The limit of each text.
    max_chars: usize,
}

struct ContextDraft<'a> {
    intent: &'a IntentSpec,
    files: &'a [RelatedFile],
    entries: &'a [TraceEntry],
}

impl ContextDraft<'_> {
    /// The largest portion that fits. Parts are dropped in this order: entries, files, long texts, criteria, constraints.
    fn fit(&self, count: &dyn Fn(&str) -> usize) -> (ContextPortion, String) {
        let mut portion = ContextPortion {
            entries: self.entries.len(),
            files: self.files.len(),
            criteria: self.intent.acceptance_criteria.len(),
            constraints: self.intent.constraints.len(),
            max_chars: usize::MAX,
        };
        let fits = |portion: ContextPortion| {
            let text = self.format(portion);
            (text.len() <= MAX_COUNTED_BYTES && count(&text) <= MAX_TOKENS).then_some((portion, text))
        };
        let steps: [fn(&mut ContextPortion, usize); 5] = [
            |portion, kept| portion.entries = kept,
            |portion, kept| portion.files = kept,
            |portion, _| portion.max_chars = SHORT_CHARS,
            |portion, kept| portion.criteria = kept,
            |portion, kept| portion.constraints = kept,
        ];
        if let Some(found) = fits(portion) {
            return found;
        }
        let most = [portion.entries, portion.files, 0, portion.criteria, portion.constraints];
        for (set, most) in steps.into_iter().zip(most) {
            let with = |kept: usize| {
                let mut tried = portion;
                set(&mut tried, kept);
                tried
            };
            if let Some(found) = largest(most, |kept| fits(with(kept))) {
                return found;
            }
            set(&mut portion, 0);
        }
        (portion, cut(&self.format(portion), count))
    }

    fn format(&self, portion: ContextPortion) -> String {
        let intent = self.intent;
        let short = |text: &str| shorten(text, portion.max_chars);
        let mut lines = vec![
            format!("# Active intent {}: {}", intent.id, short(&intent.name)),
            format!("Status: {}{}", intent.status.as_str(), intent.kind.map_or("", |kind| kind.in_words())),
            "You may change only files that match one of these globs (relative to the workspace root):".to_owned(),
        ];
        lines.extend(intent.owned_scope.iter().map(|glob| format!("- {}", short(glob))));
        let mut list = |title: &str, items: Vec<String>, kept: usize, where_else: &str| {
            if items.is_empty() {
                return;
            }
            lines.push(format!("\n## {title}"));
            let left = items.len() - kept.min(items.len());
            lines.extend(items.into_iter().take(kept));
            if left > 0 {
                lines.push(format!("- [{left} more omitted{where_else}]"));
            }
        };
        let texts = |texts: &[String]| texts.iter().map(|text| format!("- {}", short(text))).collect::<Vec<_>>();
        let in_file = "; see .orchestration/active_intents.yaml";
        list("Constraints", texts(&intent.constraints), portion.constraints, in_file);
        list("Acceptance criteria", texts(&intent.acceptance_criteria), portion.criteria, in_file);
        let in_ledger = "; `dispatch trace log` shows them";
        list("Files changed so far", self.files.iter().map(file_line).collect(), portion.files, in_ledger);
        list("Recent changes, newest first", self.entries.iter().map(entry_line).collect(), portion.entries, in_ledger);
        lines.join("\n")
    }
}

/// The result for the largest number up to `most` that has one. Assumes that smaller numbers have one too, so the
/// search is binary.
fn largest<T>(most: usize, find: impl Fn(usize) -> Option<T>) -> Option<T> {
    let mut best = find(0)?;
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match find(middle) {
            Some(found) => (best, low) = (found, middle),
            None => high = middle - 1,
        }
    }
    Some(best)
}

/// The beginning of a text that fits together with the marker.
fn cut(text: &str, count: &dyn Fn(&str) -> usize) -> String {
    let most = text.floor_char_boundary(MAX_COUNTED_BYTES);
    let found = largest(most, |bytes| {
        let head = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default();
        let text = format!("{head}\n{MARKER}");
        (count(&text) <= MAX_TOKENS).then_some(text)
    });
    found.unwrap_or_default()
}

fn file_line(file: &RelatedFile) -> String {
    let state = if file.last_hash.is_some() { "changed" } else { "removed" };
    format!("- {} ({state} {})", shorten(&file.file_path, SHORT_CHARS), shorten(&file.last_modified, SHORT_CHARS))
}

fn entry_line(entry: &TraceEntry) -> String {
    let class = serde_json::to_value(entry.mutation_class).unwrap_or_default();
    let scope = if entry.scope_validation == ScopeValidation::Fail { ", OUT OF SCOPE" } else { "" };
    let failed = if entry.success { "" } else { ", failed" };
    format!(
        "- {} {} {} by {} in session {}{scope}{failed}",
        shorten(&entry.timestamp, SHORT_CHARS),
        class.as_str().unwrap_or_default(),
        shorten(entry.path().unwrap_or("(files not determined)"), SHORT_CHARS),
        shorten(&entry.tool_name, SHORT_CHARS),
        shorten(&entry.session_id, SHORT_CHARS),
    )
}

/// One line of limited length without control characters, so that it cannot imitate the structure of the prompt.
fn shorten(text: &str, max_chars: usize) -> String {
    let visible = |character: char| if character.is_control() { ' ' } else { character };
    // A text that is too long for any limit need not be copied whole.
    let mut short: String = text.chars().take(max_chars.min(MAX_COUNTED_BYTES)).map(visible).collect();
    if short.len() < text.len() {
        short.push_str(" […]");
    }
    short
}

#[cfg(test)]
mod tests;
