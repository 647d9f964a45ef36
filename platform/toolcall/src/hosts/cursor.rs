//! The tools of Cursor.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Delete, Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("Shell", ToolKind::Execute, InputShape::Command),
    ("run_terminal_cmd", ToolKind::Execute, InputShape::Command),
    ("Write", ToolKind::Write, InputShape::Files(Write)),
    ("StrReplace", ToolKind::Write, InputShape::Files(Write)),
    ("Edit", ToolKind::Write, InputShape::Files(Write)),
    ("MultiEdit", ToolKind::Write, InputShape::Files(Write)),
    ("Delete", ToolKind::Write, InputShape::Files(Delete)),
    ("ApplyPatch", ToolKind::Write, InputShape::Patch),
    ("EditNotebook", ToolKind::Write, InputShape::Files(Write)),
    ("TabWrite", ToolKind::Write, InputShape::Files(Write)),
    ("edit_file", ToolKind::Write, InputShape::Files(Write)),
    ("search_replace", ToolKind::Write, InputShape::Files(Write)),
    ("delete_file", ToolKind::Write, InputShape::Files(Delete)),
    ("Read", ToolKind::Read, InputShape::Files(Read)),
    ("TabRead", ToolKind::Read, InputShape::Files(Read)),
    ("ReadLints", ToolKind::Read, InputShape::Files(Read)),
    ("LS", ToolKind::Read, InputShape::Files(Read)),
    ("read_file", ToolKind::Read, InputShape::Files(Read)),
    ("list_dir", ToolKind::Read, InputShape::Files(Read)),
    ("Grep", ToolKind::Search, InputShape::Roots),
    ("Glob", ToolKind::Search, InputShape::Roots),
    ("SemanticSearch", ToolKind::Search, InputShape::Roots),
    ("WebSearch", ToolKind::Search, InputShape::Nothing),
    ("grep_search", ToolKind::Search, InputShape::Nothing),
    ("file_search", ToolKind::Search, InputShape::Nothing),
    ("codebase_search", ToolKind::Search, InputShape::Roots),
    ("WebFetch", ToolKind::Fetch, InputShape::Urls),
    ("Task", ToolKind::Agent, InputShape::Nothing),
    ("TodoWrite", ToolKind::Other, InputShape::Nothing),
];
