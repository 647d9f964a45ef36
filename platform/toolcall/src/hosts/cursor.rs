//! The tools of Cursor.

use super::{Shape, Tool};
use crate::access::Access::{Delete, Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("Shell", ToolKind::Execute, Shape::Command),
    ("run_terminal_cmd", ToolKind::Execute, Shape::Command),
    ("Write", ToolKind::Write, Shape::Files(Write)),
    ("StrReplace", ToolKind::Write, Shape::Files(Write)),
    ("Edit", ToolKind::Write, Shape::Files(Write)),
    ("MultiEdit", ToolKind::Write, Shape::Files(Write)),
    ("Delete", ToolKind::Write, Shape::Files(Delete)),
    ("ApplyPatch", ToolKind::Write, Shape::Patch),
    ("EditNotebook", ToolKind::Write, Shape::Files(Write)),
    ("TabWrite", ToolKind::Write, Shape::Files(Write)),
    ("edit_file", ToolKind::Write, Shape::Files(Write)),
    ("search_replace", ToolKind::Write, Shape::Files(Write)),
    ("delete_file", ToolKind::Write, Shape::Files(Delete)),
    ("Read", ToolKind::Read, Shape::Files(Read)),
    ("TabRead", ToolKind::Read, Shape::Files(Read)),
    ("ReadLints", ToolKind::Read, Shape::Files(Read)),
    ("LS", ToolKind::Read, Shape::Files(Read)),
    ("read_file", ToolKind::Read, Shape::Files(Read)),
    ("list_dir", ToolKind::Read, Shape::Files(Read)),
    ("Grep", ToolKind::Search, Shape::Roots),
    ("Glob", ToolKind::Search, Shape::Roots),
    ("SemanticSearch", ToolKind::Search, Shape::Roots),
    ("WebSearch", ToolKind::Search, Shape::Nothing),
    ("grep_search", ToolKind::Search, Shape::Nothing),
    ("file_search", ToolKind::Search, Shape::Nothing),
    ("codebase_search", ToolKind::Search, Shape::Roots),
    ("WebFetch", ToolKind::Fetch, Shape::Urls),
    ("Task", ToolKind::Agent, Shape::Nothing),
    ("TodoWrite", ToolKind::Other, Shape::Nothing),
];
