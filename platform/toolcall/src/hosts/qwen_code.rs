//! The tools of Qwen Code: those of Gemini CLI, and its own.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("edit", ToolKind::Write, InputShape::Files(Write)),
    ("write_file", ToolKind::Write, InputShape::Files(Write)),
    ("replace", ToolKind::Write, InputShape::Files(Write)),
    ("run_shell_command", ToolKind::Execute, InputShape::Command),
    ("read_file", ToolKind::Read, InputShape::Files(Read)),
    ("read_many_files", ToolKind::Read, InputShape::Files(Read)),
    ("list_directory", ToolKind::Read, InputShape::Files(Read)),
    ("lsp", ToolKind::Read, InputShape::Files(Read)),
    ("glob", ToolKind::Search, InputShape::Roots),
    ("grep_search", ToolKind::Search, InputShape::Roots),
    ("search_file_content", ToolKind::Search, InputShape::Roots),
    ("web_search", ToolKind::Search, InputShape::Nothing),
    ("web_fetch", ToolKind::Fetch, InputShape::Urls),
    ("task", ToolKind::Agent, InputShape::Nothing),
    ("agent", ToolKind::Agent, InputShape::Nothing),
    ("todo_write", ToolKind::Other, InputShape::Nothing),
    ("save_memory", ToolKind::Other, InputShape::Nothing),
    ("skill", ToolKind::Other, InputShape::Nothing),
    ("exit_plan_mode", ToolKind::Other, InputShape::Nothing),
    ("ask_user_question", ToolKind::Other, InputShape::Nothing),
];
