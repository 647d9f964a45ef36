//! The list itself: what may be in it and how it is shown.

use serde::{Deserialize, Serialize};

pub(crate) const MAX_ITEMS: usize = 100;
pub(crate) const MAX_TEXT_CHARACTERS: usize = 500;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    InProgress,
    Done,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) status: Status,
}

/// What is wrong with a list, in words for the model.
pub(crate) fn problem(items: &[Item]) -> Option<String> {
    if items.len() > MAX_ITEMS {
        return Some(format!("the list has {} items, and the limit is {MAX_ITEMS}", items.len()));
    }
    let wrong = |item: &Item| item.text.trim().is_empty() || item.text.chars().count() > MAX_TEXT_CHARACTERS;
    let number = items.iter().position(wrong)? + 1;
    Some(format!("the text of item {number} is empty or longer than {MAX_TEXT_CHARACTERS} characters"))
}

/// The list in a few lines.
pub(crate) fn show(items: &[Item]) -> String {
    if items.is_empty() {
        return "The list is empty.".to_owned();
    }
    let count = |status| items.iter().filter(|item| item.status == status).count();
    let lines: String = items.iter().map(|item| format!("{} {}\n", mark(item.status), one_line(&item.text))).collect();
    format!(
        "{lines}{} done, {} in progress, {} pending.",
        count(Status::Done),
        count(Status::InProgress),
        count(Status::Pending)
    )
}

fn mark(status: Status) -> &'static str {
    match status {
        Status::Pending => "[ ]",
        Status::InProgress => "[>]",
        Status::Done => "[x]",
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str, status: Status) -> Item {
        Item { text: text.to_owned(), status }
    }

    #[test]
    fn a_list_is_shown_line_by_line() {
        let items = [item("a\nb", Status::Done), item("c", Status::InProgress), item("d", Status::Pending)];
        assert_eq!(show(&items), "[x] a b\n[>] c\n[ ] d\n1 done, 1 in progress, 1 pending.");
        assert_eq!(show(&[]), "The list is empty.");
    }

    #[test]
    fn what_cannot_be_in_a_list_is_named() {
        assert_eq!(problem(&[item("a", Status::Done)]), None);
        assert!(problem(&[item("a", Status::Done), item(" ", Status::Done)]).unwrap().contains("item 2"));
        assert!(problem(&[item(&"x".repeat(501), Status::Done)]).unwrap().contains("item 1"));
        assert!(problem(&vec![item("a", Status::Done); 101]).unwrap().contains("101 items"));
    }
}
