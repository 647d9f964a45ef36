//! The tools of Goose's developer extension.

use super::{Shape, Tool};
use crate::access::ToolKind;

pub(super) const TOOLS: &[Tool] = &[
    ("developer__shell", ToolKind::Execute, Shape::Command),
    ("developer__text_editor", ToolKind::Write, Shape::Editor),
];
