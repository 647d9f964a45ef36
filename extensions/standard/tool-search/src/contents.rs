//! `search_files`: lines of files that match a regular expression.

use std::path::Path;

use dispatch_contracts::tool::{ToolContext, ToolError, ToolSpec, read_arguments};
use dispatch_os::Confined;
use dispatch_os::files::{self, File};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::SEARCH_FILES;
use crate::report::SearchReport;
use crate::stop_check::StopCheck;
use crate::walk::{PathFilter, SearchStart};

const DEFAULT_RESULTS: usize = 100;
const MAX_RESULTS: usize = 1_000;
const MAX_CONTEXT: usize = 20;
/// Characters shown of one line.
const MAX_LINE_CHARACTERS: usize = 300;
/// Files larger than this are left out and told.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// A line that needs more memory than this ends the search of its file.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
/// The compiled pattern may not need more memory than this.
const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;

pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: SEARCH_FILES.to_owned(),
        description: "Searches the contents of the workspace's files with a regular expression (Rust syntax: no look-around \
                      and no back-references; a line at a time). Shows `path:line: text`. Hidden files, binary files and \
                      what .gitignore names are left out."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression. Escape ( ) [ ] { } . * + ? | \\ to mean them literally."},
                "path": {"type": "string", "description": "The folder or file to search in. Default: the working folder."},
                "glob": {"type": "string", "description": "Only files with such names, for example `*.rs` or `src/**/*.ts`; with `!` in front, all others."},
                "case": {"type": "string", "enum": ["sensitive", "insensitive", "smart"], "description": "smart is insensitive unless the pattern has a capital letter. Default: sensitive."},
                "context": {"type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines to show before and behind each match. Default: 0."},
                "max_results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "Matching lines to show. Default: 100."}
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
        concurrency_safe: true,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchContentsArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    case: LetterCase,
    #[serde(default)]
    context: usize,
    max_results: Option<usize>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum LetterCase {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

pub(crate) fn run(
    workspace: Confined,
    arguments: Map<String, Value>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let arguments: SearchContentsArguments = read_arguments(arguments)?;
    let matcher = compile(&arguments.pattern, arguments.case)?;
    let start = SearchStart::find(&workspace, arguments.path.as_deref())?;
    let folder =
        if files::is_dir(&start.path) { start.path.as_path() } else { start.path.parent().unwrap_or(&start.path) };
    let chosen = PathFilter::new(folder, arguments.glob.as_deref())?;
    let around = arguments.context.min(MAX_CONTEXT);
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(around)
        .after_context(around)
        .heap_limit(Some(MAX_LINE_BYTES))
        .build();
    let mut report = SearchReport::new(arguments.max_results.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS));
    let stop = StopCheck::start(context);
    let mut skipped = Vec::new();
    let mut opener = workspace.opener();
    for entry in start.walk(arguments.glob.as_deref()).flatten() {
        if !report.goes_on(stop.reason()) {
            break;
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) || !chosen.holds(entry.path()) {
            continue;
        }
        let Ok(file) = opener.open(entry.path()) else {
            continue;
        };
        let shown = workspace.shown(entry.path());
        if !search(&mut searcher, &matcher, &file, shown, &mut report, &stop) {
            skipped.push(shown.display().to_string());
        }
    }
    Ok(finish(report, &arguments.pattern, &skipped))
}

fn compile(pattern: &str, case: LetterCase) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .line_terminator(Some(b'\n'))
        .case_insensitive(case == LetterCase::Insensitive)
        .case_smart(case == LetterCase::Smart)
        .size_limit(MAX_PATTERN_BYTES);
    builder.build(pattern).map_err(|error| {
        ToolError(format!(
            "The regular expression is not valid: {error}\nTo search for the text itself, put a backslash before ( ) [ ] {{ }} . * + ? | ^ $ and \\. Look-around and back-references are not supported."
        ))
    })
}

/// Searches one file; false if it could not be searched to its end.
fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    file: &File,
    shown: &Path,
    report: &mut SearchReport,
    stop: &StopCheck<'_>,
) -> bool {
    if file.metadata().is_ok_and(|found| found.len() > MAX_FILE_BYTES) {
        return false;
    }
    let path = shown.to_string_lossy();
    searcher
        .search_reader(matcher, file, MatchedLines { path: &path, report, stop, matches: 0, is_binary: false })
        .is_ok()
}

struct MatchedLines<'a> {
    path: &'a str,
    report: &'a mut SearchReport,
    stop: &'a StopCheck<'a>,
    matches: usize,
    is_binary: bool,
}

impl Sink for MatchedLines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        let line = format!("{}:{}: {}", self.path, found.line_number().unwrap_or_default(), text_of(found.bytes()));
        Ok(self.report.result(&line) && self.report.goes_on(self.stop.reason()))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Self::Error> {
        debug_assert!(*found.kind() != SinkContextKind::Other, "lines far from a match are not asked for");
        let line = format!("{}-{}- {}", self.path, found.line_number().unwrap_or_default(), text_of(found.bytes()));
        Ok(self.report.line(&line))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        Ok(self.report.line("--"))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> Result<(), Self::Error> {
        if self.is_binary && self.matches > 0 {
            self.report.line(&format!("{}: [binary from here on, not searched further]", self.path));
        }
        Ok(())
    }
}

fn text_of(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(line);
    let line = line.trim_end_matches(['\n', '\r']);
    match line.char_indices().nth(MAX_LINE_CHARACTERS) {
        None => line.to_owned(),
        Some((end, _)) => format!("{} [...]", line.get(..end).unwrap_or_default()),
    }
}

fn finish(report: SearchReport, pattern: &str, skipped: &[String]) -> String {
    let mut text = if report.results() == 0 && report.stop.is_none() {
        format!("Nothing matches `{pattern}`. Hidden, ignored and binary files are left out.")
    } else {
        report.finish("matching lines")
    };
    if !skipped.is_empty() {
        let some: Vec<&str> = skipped.iter().take(5).map(String::as_str).collect();
        text.push_str(&format!(
            "\n[{} files are too large or could not be read, such as {}.]",
            skipped.len(),
            some.join(", ")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_pattern_is_explained() {
        for pattern in ["(", "a{99999}{99999}", "(?=x)", "\\1", "a\nb"] {
            let error = compile(pattern, LetterCase::Sensitive).unwrap_err().0;
            assert!(error.contains("not valid") && error.contains("backslash"), "{pattern}: {error}");
        }
        assert!(compile("", LetterCase::Smart).is_ok());
    }

    #[test]
    fn lines_are_cut_and_always_text() {
        assert_eq!(text_of(b"a\xffb\r\n"), "a\u{fffd}b");
        assert!(text_of("\u{e9}".repeat(1_000).as_bytes()).ends_with("\u{e9} [...]"));
    }
}
