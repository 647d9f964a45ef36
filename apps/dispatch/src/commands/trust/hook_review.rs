//! What an approval of hooks approves, and the difference to what was approved before, as text.

use crate::plain::lines;
use crate::text_diff::{bounded, diff};
use ext_workspace_hooks::contract::{HookReview, ReviewState, ReviewedText};

/// One block for each hook, beginning with a new line.
pub(super) fn text(reviews: &[HookReview]) -> String {
    reviews.iter().flat_map(block).map(|line| format!("\n{line}")).collect()
}

fn block(review: &HookReview) -> Vec<String> {
    let state = match review.state {
        ReviewState::New => "new",
        ReviewState::Changed => "changed",
        ReviewState::Same => "as approved before",
        ReviewState::Removed => "removed",
        ReviewState::TooLarge => "cannot be approved: its command names too many files",
    };
    let mut block = vec![format!("  hook `{}`: {state}", plain(&review.hook_id))];
    if review.state == ReviewState::Same {
        block.extend(review.files.iter().map(|file| format!("    with {}", plain(&file.name))));
        return block;
    }
    block.extend(difference(&review.hook));
    for file in &review.files {
        block.push(format!("    with {}{}", plain(&file.name), remark(file)));
        block.extend(difference(file));
    }
    block
}

fn difference(text: &ReviewedText) -> Vec<String> {
    if !text.differs {
        return Vec::new();
    }
    let (before, after) = (text.before.as_deref().unwrap_or_default(), text.after.as_deref().unwrap_or_default());
    bounded(diff(before, after)).into_iter().map(|line| format!("    {line}")).collect()
}

fn remark(file: &ReviewedText) -> &'static str {
    match (&file.before, &file.after) {
        _ if !file.differs => ", unchanged",
        (None, None) => ", changed; it is too large or no text, so it is not shown",
        (Some(_), None) => ", gone",
        _ => ":",
    }
}

/// A name with nothing that a terminal would obey.
fn plain(name: &str) -> String {
    lines(name, 1).into_iter().next().unwrap_or_default()
}
