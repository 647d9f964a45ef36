//! Which texts may be the label of a session: what is safe in a path, a URL, a shell and a log.
//!
//! Pure.

use super::ConversationError;

/// The longest label.
pub const MAX_LABEL_BYTES: usize = 128;

const SHOWN_CHARS: usize = 40;

/// Says what is wrong with a label, and what would be right.
pub fn check_label(label: &str) -> Result<(), ConversationError> {
    let problem = if label.is_empty() {
        "it is empty; name it after its purpose, like `main` or `review:42`"
    } else if label.len() > MAX_LABEL_BYTES {
        "it is longer than 128 characters; use a short name, and `title` for the rest"
    } else if label.starts_with('.') {
        "it starts with a dot; start with a letter or a digit"
    } else if !label.bytes().all(allowed) {
        "it has other characters than letters, digits and . _ : @ / -; replace them with `-`"
    } else {
        return Ok(());
    };
    let shown = label.chars().take(SHOWN_CHARS).map(|shown| if shown.is_control() { '?' } else { shown });
    Err(ConversationError::BadLabel { label: shown.collect(), problem })
}

fn allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._:@/-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_words_that_are_safe_everywhere() {
        let long = "a".repeat(MAX_LABEL_BYTES);
        for good in ["main", "telegram:dm:1234", "a", "user@host/x.y_z-1", "-x", long.as_str()] {
            assert_eq!(check_label(good), Ok(()), "{good}");
        }
        let longer = "a".repeat(MAX_LABEL_BYTES + 1);
        for (bad, hint) in [
            ("", "it is empty"),
            (".hidden", "starts with a dot"),
            ("..", "starts with a dot"),
            ("two words", "other characters"),
            ("caf\u{e9}", "other characters"),
            ("a\nb", "other characters"),
            ("a\0", "other characters"),
            (longer.as_str(), "longer than 128"),
        ] {
            let said = check_label(bad).unwrap_err().to_string();
            assert!(said.contains(hint), "{bad:?}: {said}");
            assert!(!said.contains(['\n', '\0']) && said.len() < 250, "{said:?}");
        }
    }
}
