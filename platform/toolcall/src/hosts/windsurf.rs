//! The tools of Windsurf Cascade, whose event names are its tool classes.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("write_code", ToolKind::Write, Shape::Files(Write)),
    ("pre_write_code", ToolKind::Write, Shape::Files(Write)),
    ("post_write_code", ToolKind::Write, Shape::Files(Write)),
    ("code_action", ToolKind::Write, Shape::Files(Write)),
    ("write_to_file", ToolKind::Write, Shape::Files(Write)),
    ("replace_file_content", ToolKind::Write, Shape::Files(Write)),
    ("run_command", ToolKind::Execute, Shape::Command),
    ("pre_run_command", ToolKind::Execute, Shape::Command),
    ("post_run_command", ToolKind::Execute, Shape::Command),
    ("read_code", ToolKind::Read, Shape::Files(Read)),
    ("pre_read_code", ToolKind::Read, Shape::Files(Read)),
    ("post_read_code", ToolKind::Read, Shape::Files(Read)),
    ("view_file", ToolKind::Read, Shape::Files(Read)),
    ("list_dir", ToolKind::Read, Shape::Files(Read)),
    ("grep_search", ToolKind::Search, Shape::Roots),
    ("find_by_name", ToolKind::Search, Shape::Roots),
    ("codebase_search", ToolKind::Search, Shape::Roots),
    ("read_url_content", ToolKind::Fetch, Shape::Urls),
    ("search_web", ToolKind::Search, Shape::Nothing),
    ("mcp_tool_use", ToolKind::Mcp, Shape::Nothing),
    ("pre_mcp_tool_use", ToolKind::Mcp, Shape::Nothing),
    ("post_mcp_tool_use", ToolKind::Mcp, Shape::Nothing),
];
