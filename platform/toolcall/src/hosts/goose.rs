//! The tools of Goose: by plain names since 1.5x, before that those of its developer extension.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::Access::{Read, Write};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("shell", ToolKind::Execute, InputShape::Command),
    ("write", ToolKind::Write, InputShape::Files(Write)),
    ("edit", ToolKind::Write, InputShape::Files(Write)),
    ("tree", ToolKind::Read, InputShape::Files(Read)),
    ("analyze", ToolKind::Read, InputShape::Files(Read)),
    ("load_skill", ToolKind::Other, InputShape::Nothing),
    ("delegate", ToolKind::Agent, InputShape::Nothing),
    ("developer__shell", ToolKind::Execute, InputShape::Command),
    ("developer__text_editor", ToolKind::Write, InputShape::Editor),
];
