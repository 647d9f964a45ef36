//! The tools of Kiro, under their names and their short aliases.

use super::{Shape, Tool};
use crate::access::Access::Read;
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("execute_bash", ToolKind::Execute, Shape::Command),
    ("executeBash", ToolKind::Execute, Shape::Command),
    ("shell", ToolKind::Execute, Shape::Command),
    ("execute_cmd", ToolKind::Execute, Shape::WindowsCommand),
    ("use_aws", ToolKind::Execute, Shape::Nothing),
    ("aws", ToolKind::Execute, Shape::Nothing),
    ("fs_write", ToolKind::Write, Shape::Editor),
    ("fsWrite", ToolKind::Write, Shape::Editor),
    ("write", ToolKind::Write, Shape::Editor),
    ("fs_read", ToolKind::Read, Shape::Files(Read)),
    ("fsRead", ToolKind::Read, Shape::Files(Read)),
    ("read", ToolKind::Read, Shape::Files(Read)),
    ("grep", ToolKind::Search, Shape::Roots),
    ("glob", ToolKind::Search, Shape::Roots),
    ("web_search", ToolKind::Search, Shape::Nothing),
    ("web_fetch", ToolKind::Fetch, Shape::Urls),
];
