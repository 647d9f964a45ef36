//! The tools of Goose's developer extension.
//!
//! Pure.

use super::{HostTool, InputShape};
use crate::access::ToolKind;

pub(super) const TOOLS: &[HostTool] = &[
    ("developer__shell", ToolKind::Execute, InputShape::Command),
    ("developer__text_editor", ToolKind::Write, InputShape::Editor),
];
