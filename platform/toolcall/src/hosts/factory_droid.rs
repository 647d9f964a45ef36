//! The tools of Factory Droid.

use super::{Shape, Tool};
use crate::access::Access::{Create, Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("Execute", ToolKind::Execute, Shape::Command),
    ("Create", ToolKind::Write, Shape::Files(Create)),
    ("Edit", ToolKind::Write, Shape::Files(Write)),
    ("MultiEdit", ToolKind::Write, Shape::Files(Write)),
    ("ApplyPatch", ToolKind::Write, Shape::Patch),
    ("Read", ToolKind::Read, Shape::Files(Read)),
    ("LS", ToolKind::Read, Shape::Files(Read)),
    ("Grep", ToolKind::Search, Shape::Roots),
    ("Glob", ToolKind::Search, Shape::Roots),
    ("WebSearch", ToolKind::Search, Shape::Nothing),
    ("FetchUrl", ToolKind::Fetch, Shape::Urls),
    ("Task", ToolKind::Agent, Shape::Nothing),
    ("TodoWrite", ToolKind::Other, Shape::Nothing),
];
