//! The tools of Crush.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("bash", ToolKind::Execute, InputShape::Command),
    ("edit", ToolKind::Write, InputShape::Files(Write)),
    ("write", ToolKind::Write, InputShape::Files(Write)),
    ("multiedit", ToolKind::Write, InputShape::Files(Write)),
    ("download", ToolKind::Write, InputShape::Download),
    ("view", ToolKind::Read, InputShape::Files(Read)),
    ("ls", ToolKind::Read, InputShape::Files(Read)),
    ("grep", ToolKind::Search, InputShape::Roots),
    ("glob", ToolKind::Search, InputShape::Roots),
    ("fetch", ToolKind::Fetch, InputShape::Urls),
    ("agent", ToolKind::Agent, InputShape::Nothing),
];
