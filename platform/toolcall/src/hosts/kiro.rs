//! The tools of Kiro, under their names and their short aliases.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::Read;
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("execute_bash", ToolKind::Execute, InputShape::Command),
    ("executeBash", ToolKind::Execute, InputShape::Command),
    ("shell", ToolKind::Execute, InputShape::Command),
    ("execute_cmd", ToolKind::Execute, InputShape::WindowsCommand),
    ("use_aws", ToolKind::Execute, InputShape::Nothing),
    ("aws", ToolKind::Execute, InputShape::Nothing),
    ("fs_write", ToolKind::Write, InputShape::Editor),
    ("fsWrite", ToolKind::Write, InputShape::Editor),
    ("write", ToolKind::Write, InputShape::Editor),
    ("fs_read", ToolKind::Read, InputShape::Files(Read)),
    ("fsRead", ToolKind::Read, InputShape::Files(Read)),
    ("read", ToolKind::Read, InputShape::Files(Read)),
    ("grep", ToolKind::Search, InputShape::Roots),
    ("glob", ToolKind::Search, InputShape::Roots),
    ("web_search", ToolKind::Search, InputShape::Nothing),
    ("web_fetch", ToolKind::Fetch, InputShape::Urls),
];
