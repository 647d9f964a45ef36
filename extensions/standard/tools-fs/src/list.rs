//! `list_files`: what is in a folder, as deep as asked, without what git ignores.

use std::path::{Path, PathBuf};

use dispatch_contracts::tool::{Effect, Resources, ToolContext, ToolError, ToolOutput, read_arguments};
use ignore::{DirEntry, WalkBuilder};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::LIST_FILES;
use crate::file_workspace::FileWorkspace;
use crate::tool::FileToolDefinition;
use crate::tool_errors::explain;

const DEFAULT_DEPTH: usize = 2;
const MAX_DEPTH: usize = 20;
const MAX_ENTRIES: usize = 1_000;
const MAX_SHOWN_BYTES: usize = 40 * 1024;

pub(crate) const DEFINITION: FileToolDefinition = FileToolDefinition {
    name: LIST_FILES,
    description: "Lists files and folders of the workspace, sorted, folders with a slash at the end. Leaves out what \
                  .gitignore names and the .git folder. To find files by name anywhere, use find_files.",
    parameters,
    touches: |_, _| Resources::Keys(Vec::new()),
    run,
    effect: Effect::Looks,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The folder, relative to the working folder or absolute. Default: the working folder."},
            "depth": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH, "description": "How many levels to show. Default: 2."}
        },
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListFilesArguments {
    path: Option<String>,
    depth: Option<usize>,
}

fn run(files: &FileWorkspace, arguments: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let arguments: ListFilesArguments = read_arguments(arguments)?;
    let path = PathBuf::from(arguments.path.unwrap_or_else(|| ".".to_owned()));
    let confined = files.workspace(context)?;
    let spot = confined.locate(&path).map_err(|error| explain(&error, &path))?;
    let opened = spot.open().map_err(|error| explain(&error, &path))?;
    if !opened.metadata().is_ok_and(|found| found.is_dir()) {
        return Err(ToolError(format!("{} is a file. Use read_file to see it.", path.display())));
    }
    let depth = arguments.depth.unwrap_or(DEFAULT_DEPTH).clamp(1, MAX_DEPTH);
    let mut opener = confined.opener();
    let mut listing = FolderListing::default();
    for entry in walk(spot.path(), depth).flatten().filter(|entry| entry.depth() > 0) {
        if context.cancelled() {
            return Err(ToolError("The listing was cancelled.".to_owned()));
        }
        // The walk goes by path; a link to another place could have appeared in between.
        if opener.holds(entry.path()) && !listing.add(&entry, spot.path()) {
            break;
        }
    }
    Ok(ToolOutput::text(listing.finish(&path, depth)))
}

fn walk(folder: &Path, depth: usize) -> ignore::Walk {
    WalkBuilder::new(folder)
        .max_depth(Some(depth))
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
}

#[derive(Default)]
struct FolderListing {
    text: String,
    entries: usize,
    is_cut: bool,
    has_strange_names: bool,
}

impl FolderListing {
    /// Says whether there is room for more.
    fn add(&mut self, entry: &DirEntry, folder: &Path) -> bool {
        if self.entries >= MAX_ENTRIES || self.text.len() > MAX_SHOWN_BYTES {
            self.is_cut = true;
            return false;
        }
        let below = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        self.has_strange_names |= below.to_str().is_none();
        self.text.push_str(&below.to_string_lossy());
        match entry.file_type() {
            Some(kind) if kind.is_dir() => self.text.push('/'),
            Some(kind) if kind.is_symlink() => {
                let target = dispatch_os::files::read_link(entry.path()).unwrap_or_default();
                self.text.push_str(&format!(" -> {}", target.display()));
            }
            _ => {}
        }
        self.text.push('\n');
        self.entries += 1;
        true
    }

    fn finish(mut self, path: &Path, depth: usize) -> String {
        if self.entries == 0 {
            return format!("[{} holds nothing, or only what .gitignore leaves out.]", path.display());
        }
        if self.is_cut {
            let entries = self.entries;
            self.text
                .push_str(&format!("[Only the first {entries} entries; name a folder below or a smaller depth.]\n"));
        } else {
            self.text.push_str(&format!("[{} entries, {depth} levels deep.]\n", self.entries));
        }
        if self.has_strange_names {
            self.text
                .push_str("[A name that is not UTF-8 is shown with \u{fffd} and can only be used in the shell.]\n");
        }
        self.text
    }
}
