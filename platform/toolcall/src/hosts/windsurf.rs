//! The tools of Windsurf Cascade, whose event names are its tool classes.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("write_code", ToolKind::Write, InputShape::Files(Write)),
    ("pre_write_code", ToolKind::Write, InputShape::Files(Write)),
    ("post_write_code", ToolKind::Write, InputShape::Files(Write)),
    ("code_action", ToolKind::Write, InputShape::Files(Write)),
    ("write_to_file", ToolKind::Write, InputShape::Files(Write)),
    ("replace_file_content", ToolKind::Write, InputShape::Files(Write)),
    ("run_command", ToolKind::Execute, InputShape::Command),
    ("pre_run_command", ToolKind::Execute, InputShape::Command),
    ("post_run_command", ToolKind::Execute, InputShape::Command),
    ("read_code", ToolKind::Read, InputShape::Files(Read)),
    ("pre_read_code", ToolKind::Read, InputShape::Files(Read)),
    ("post_read_code", ToolKind::Read, InputShape::Files(Read)),
    ("view_file", ToolKind::Read, InputShape::Files(Read)),
    ("list_dir", ToolKind::Read, InputShape::Files(Read)),
    ("grep_search", ToolKind::Search, InputShape::Roots),
    ("find_by_name", ToolKind::Search, InputShape::Roots),
    ("codebase_search", ToolKind::Search, InputShape::Roots),
    ("read_url_content", ToolKind::Fetch, InputShape::Urls),
    ("search_web", ToolKind::Search, InputShape::Nothing),
    ("mcp_tool_use", ToolKind::Mcp, InputShape::Nothing),
    ("pre_mcp_tool_use", ToolKind::Mcp, InputShape::Nothing),
    ("post_mcp_tool_use", ToolKind::Mcp, InputShape::Nothing),
];
