//! Small questions to a syntax tree.
//!
//! Pure.

use tree_sitter::Node;

use super::source::ShellSource;

/// The children of a node.
pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// The children that stand under one field name.
pub(super) fn field_children<'t>(node: Node<'t>, field: &str) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children_by_field_name(field, &mut cursor).collect()
}

/// The redirections of a statement, also those that the grammar gives no field name.
pub(super) fn redirects<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    children(node).into_iter().filter(|child| child.kind().ends_with("_redirect")).collect()
}

/// The node of one of these kinds that begins at an offset.
///
/// The grammar counts blanks before an expansion inside quotes as part of it.
pub(super) fn node_at<'t>(
    within: Node<'t>,
    source: &ShellSource<'_>,
    offset: usize,
    kinds: &[&str],
) -> Option<Node<'t>> {
    let mut cursor = within.walk();
    loop {
        let node = cursor.node();
        let starts_here = node.start_byte() <= offset && source.range(node.start_byte(), offset).trim().is_empty();
        if kinds.contains(&node.kind()) && starts_here {
            return Some(node);
        }
        cursor.goto_first_child_for_byte(offset)?;
    }
}

/// The topmost nodes of these kinds below a node.
pub(super) fn topmost<'t>(node: Node<'t>, kinds: &[&str]) -> Vec<Node<'t>> {
    let mut found = Vec::new();
    let mut cursor = node.walk();
    if !cursor.goto_first_child() {
        return found;
    }
    loop {
        let here = cursor.node();
        let wanted = kinds.contains(&here.kind());
        if wanted {
            found.push(here);
        }
        if (!wanted && cursor.goto_first_child()) || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() || cursor.node().id() == node.id() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}
