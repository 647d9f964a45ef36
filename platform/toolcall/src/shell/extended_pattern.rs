//! `!(a)`, `@(a|b)`, `+(a)` and `?(a)` inside a path: patterns that the grammar does not know.
//!
//! Pure.

use std::borrow::Cow;

/// Longer groups are left as they are.
const MAX_GROUP_BYTES: usize = 256;

/// The text with `*` for each of these groups that stands behind a `/` or a `.` outside quotes; anywhere else the same
/// letters may be arithmetic, or a command that is negated.
pub(super) fn widened(text: &str) -> Cow<'_, str> {
    if !["/!(", "/@(", "/+(", "/?(", ".!(", ".@("].iter().any(|group| text.contains(group)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            _ => {}
        }
        let group = (quote.is_none() && matches!(c, '!' | '@' | '+' | '?') && matches!(before, '/' | '.'))
            .then(|| group_length(after))
            .flatten();
        rest = match group {
            Some(length) => {
                out.push('*');
                before = '*';
                after.get(length..).unwrap_or_default()
            }
            None => {
                out.push(c);
                before = c;
                after
            }
        };
    }
    Cow::Owned(out)
}

/// The length of a group in parentheses at the beginning of a text.
fn group_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('(')?;
    let end = inner.find(')').filter(|end| *end <= MAX_GROUP_BYTES)?;
    let plain = inner.get(..end)?.chars().all(|c| !c.is_whitespace() && !"()$`;&<>".contains(c));
    plain.then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use super::widened;

    #[test]
    fn groups_in_paths_become_stars() {
        let table = [
            ("rm -rf ~/!(x)", "rm -rf ~/*"),
            ("rm -rf /@(home|etc)/x", "rm -rf /*/x"),
            ("rm -rf .@(ai|x)", "rm -rf .*"),
            ("echo '/!(x)'", "echo '/!(x)'"),
            ("rm -rf !(src)", "rm -rf !(src)"),
            ("echo $((4/+(2)))", "echo $((4/*))"),
            ("ls /!(a b)", "ls /!(a b)"),
        ];
        for (text, expected) in table {
            assert_eq!(widened(text), expected, "{text}");
        }
    }
}
