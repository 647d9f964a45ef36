//! The tools of Crush.

use super::{Shape, Tool};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("bash", ToolKind::Execute, Shape::Command),
    ("edit", ToolKind::Write, Shape::Files(Write)),
    ("write", ToolKind::Write, Shape::Files(Write)),
    ("multiedit", ToolKind::Write, Shape::Files(Write)),
    ("download", ToolKind::Write, Shape::Download),
    ("view", ToolKind::Read, Shape::Files(Read)),
    ("ls", ToolKind::Read, Shape::Files(Read)),
    ("grep", ToolKind::Search, Shape::Roots),
    ("glob", ToolKind::Search, Shape::Roots),
    ("fetch", ToolKind::Fetch, Shape::Urls),
    ("agent", ToolKind::Agent, Shape::Nothing),
];
