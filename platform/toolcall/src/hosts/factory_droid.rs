//! The tools of Factory Droid.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Create, Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("Execute", ToolKind::Execute, InputShape::Command),
    ("Create", ToolKind::Write, InputShape::Files(Create)),
    ("Edit", ToolKind::Write, InputShape::Files(Write)),
    ("MultiEdit", ToolKind::Write, InputShape::Files(Write)),
    ("ApplyPatch", ToolKind::Write, InputShape::Patch),
    ("Read", ToolKind::Read, InputShape::Files(Read)),
    ("LS", ToolKind::Read, InputShape::Files(Read)),
    ("Grep", ToolKind::Search, InputShape::Roots),
    ("Glob", ToolKind::Search, InputShape::Roots),
    ("WebSearch", ToolKind::Search, InputShape::Nothing),
    ("FetchUrl", ToolKind::Fetch, InputShape::Urls),
    ("Task", ToolKind::Agent, InputShape::Nothing),
    ("TodoWrite", ToolKind::Other, InputShape::Nothing),
];
