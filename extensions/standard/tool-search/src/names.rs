//! `find_files`: files by a pattern of their names.

use dispatch_contracts::tool::{ToolContext, ToolError, ToolSpec, read_arguments};
use dispatch_os::Confined;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::FIND_FILES;
use crate::report::SearchReport;
use crate::stop_check::StopCheck;
use crate::walk::{PathFilter, SearchStart};

const DEFAULT_RESULTS: usize = 200;
const MAX_RESULTS: usize = 2_000;

pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: FIND_FILES.to_owned(),
        description: "Finds files of the workspace by name, sorted. The pattern is a glob: `*.rs` (in any folder), \
                      `src/**/test_*.py`, `{a,b}.json`. What .gitignore names is left out, and so are hidden files unless the \
                      pattern names them (`.github/**`)."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The glob."},
                "path": {"type": "string", "description": "The folder to look in. Default: the working folder."},
                "max_results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "Default: 200."}
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
        concurrency_safe: true,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindFilesArguments {
    pattern: String,
    path: Option<String>,
    max_results: Option<usize>,
}

pub(crate) fn run(
    workspace: Confined,
    arguments: Map<String, Value>,
    context: &ToolContext,
) -> Result<String, ToolError> {
    let arguments: FindFilesArguments = read_arguments(arguments)?;
    let pattern = arguments.pattern.trim();
    if pattern.is_empty() || pattern.starts_with('!') {
        return Err(ToolError("pattern must say which files to find, for example `*.rs`.".to_owned()));
    }
    let start = SearchStart::find(&workspace, arguments.path.as_deref())?;
    let chosen = PathFilter::new(&start.path, Some(pattern))?;
    let mut report = SearchReport::new(arguments.max_results.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS));
    let stop = StopCheck::start(context);
    let mut opener = workspace.opener();
    for entry in start.walk(Some(pattern)).flatten() {
        if !report.goes_on(stop.reason()) {
            break;
        }
        let is_found = entry.file_type().is_some_and(|kind| !kind.is_dir()) && chosen.holds(entry.path());
        if is_found && opener.holds(entry.path()) && !report.result(&workspace.shown(entry.path()).to_string_lossy()) {
            break;
        }
    }
    if report.results() == 0 && report.stop.is_none() {
        return Ok(format!("No file matches `{pattern}`. Hidden and ignored files are left out."));
    }
    Ok(report.finish("files"))
}
