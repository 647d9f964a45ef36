//! The list itself: what may be in it and how it is shown.
//!
//! Pure.

use serde::{Deserialize, Serialize};

pub(crate) const MAX_ITEMS: usize = 100;
pub(crate) const MAX_TEXT_CHARACTERS: usize = 500;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TodoStatus {
    Pending,
    InProgress,
    Done,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoItem {
    pub(crate) text: String,
    pub(crate) status: TodoStatus,
}

/// What is wrong with a list, in words for the model.
pub(crate) fn problem(items: &[TodoItem]) -> Option<String> {
    if items.len() > MAX_ITEMS {
        return Some(format!("the list has {} items, and the limit is {MAX_ITEMS}", items.len()));
    }
    let wrong = |item: &TodoItem| item.text.trim().is_empty() || item.text.chars().count() > MAX_TEXT_CHARACTERS;
    let number = items.iter().position(wrong)? + 1;
    Some(format!("the text of item {number} is empty or longer than {MAX_TEXT_CHARACTERS} characters"))
}

/// The list in a few lines.
pub(crate) fn show(items: &[TodoItem]) -> String {
    if items.is_empty() {
        return "The list is empty.".to_owned();
    }
    let count = |status| items.iter().filter(|item| item.status == status).count();
    let lines: String = items.iter().map(|item| format!("{} {}\n", mark(item.status), one_line(&item.text))).collect();
    format!(
        "{lines}{} done, {} in progress, {} pending.",
        count(TodoStatus::Done),
        count(TodoStatus::InProgress),
        count(TodoStatus::Pending)
    )
}

fn mark(status: TodoStatus) -> &'static str {
    match status {
        TodoStatus::Pending => "[ ]",
        TodoStatus::InProgress => "[>]",
        TodoStatus::Done => "[x]",
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str, status: TodoStatus) -> TodoItem {
        TodoItem { text: text.to_owned(), status }
    }

    #[test]
    fn a_list_is_shown_line_by_line() {
        let items = [item("a\nb", TodoStatus::Done), item("c", TodoStatus::InProgress), item("d", TodoStatus::Pending)];
        assert_eq!(show(&items), "[x] a b\n[>] c\n[ ] d\n1 done, 1 in progress, 1 pending.");
        assert_eq!(show(&[]), "The list is empty.");
    }

    #[test]
    fn what_cannot_be_in_a_list_is_named() {
        assert_eq!(problem(&[item("a", TodoStatus::Done)]), None);
        assert!(problem(&[item("a", TodoStatus::Done), item(" ", TodoStatus::Done)]).unwrap().contains("item 2"));
        assert!(problem(&[item(&"x".repeat(501), TodoStatus::Done)]).unwrap().contains("item 1"));
        assert!(problem(&vec![item("a", TodoStatus::Done); 101]).unwrap().contains("101 items"));
    }
}
