//! Fills in the texts of rules and keeps them within their bound together.
//!
//! Pure.

use crate::followup::FollowupRule;
use crate::prose::shorten;

/// The longest value that takes the place of a placeholder.
const VALUE_LIMIT_CHARS: usize = 200;
const NOTHING: &str = "none";
const ELLIPSIS: char = '…';

/// What placeholders stand for; empty for nothing.
pub(super) struct PlaceholderValues<'a> {
    pub(super) tool: &'a str,
    pub(super) path: &'a str,
    pub(super) command: &'a str,
    pub(super) intent: &'a str,
}

/// The reminders of one call.
pub(super) struct ChosenReminders<'r> {
    max_chars: usize,
    used_chars: usize,
    texts: Vec<String>,
    rules: Vec<&'r FollowupRule>,
}

impl<'r> ChosenReminders<'r> {
    /// None yet.
    pub(super) fn within(max_chars: usize) -> Self {
        Self { max_chars, used_chars: 0, texts: Vec::new(), rules: Vec::new() }
    }

    /// Adds a reminder if it fits. Half a reminder can say the opposite, so one that does not fit
    /// waits for the next call; only one that fits nowhere is cut.
    pub(super) fn add(&mut self, rule: &'r FollowupRule, values: &PlaceholderValues<'_>) {
        let text = filled(rule.inject.trim(), values);
        if text.is_empty() {
            return;
        }
        let between = usize::from(!self.texts.is_empty());
        let room = self.max_chars.saturating_sub(self.used_chars + between);
        let length = text.chars().count();
        let text = if length <= room {
            text
        } else if length > self.max_chars && self.texts.is_empty() && room > 0 {
            text.chars().take(room - 1).chain([ELLIPSIS]).collect()
        } else {
            return;
        };
        self.used_chars += between + text.chars().count();
        self.texts.push(text);
        self.rules.push(rule);
    }

    /// Whether there is no room for even one more character.
    pub(super) fn is_full(&self) -> bool {
        self.used_chars + usize::from(!self.texts.is_empty()) >= self.max_chars
    }

    /// The rules whose reminders are given.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'r FollowupRule> + '_ {
        self.rules.iter().copied()
    }

    /// The reminders as one text.
    pub(super) fn text(&self) -> Option<String> {
        (!self.texts.is_empty()).then(|| self.texts.join("\n"))
    }
}

/// Fills in each placeholder once; a value that looks like a placeholder stays as it is.
fn filled(template: &str, values: &PlaceholderValues<'_>) -> String {
    let named =
        [("{tool}", values.tool), ("{path}", values.path), ("{command}", values.command), ("{intent}", values.intent)];
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        match named.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                let value = shorten(value, VALUE_LIMIT_CHARS);
                out.push_str(if value.is_empty() { NOTHING } else { &value });
                rest = &rest[name.len()..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::followup::{FollowupCondition, ReminderFrequency};
    use proptest::prelude::*;

    fn rule(inject: &str) -> FollowupRule {
        FollowupRule {
            id: "r".to_owned(),
            when: FollowupCondition::default(),
            inject: inject.to_owned(),
            once: ReminderFrequency::Always,
            priority: 0,
        }
    }

    const VALUES: PlaceholderValues<'_> =
        PlaceholderValues { tool: "Bash", path: "src/{tool}.rs", command: "a\n b", intent: "" };

    #[test]
    fn placeholders_are_filled_in_once() {
        let table = [
            ("{tool}: {command} in {path} for {intent}", "Bash: a b in src/{tool}.rs for none"),
            ("{} {x} {{tool}} {tool", "{} {x} {Bash} {tool"),
            ("plain", "plain"),
        ];
        for (template, expected) in table {
            assert_eq!(filled(template, &VALUES), expected);
        }
    }

    #[test]
    fn what_does_not_fit_waits_and_what_never_fits_is_cut() {
        let (long, short, next, last) = (rule("123456789012"), rule("1234"), rule("12345"), rule("x"));
        let mut chosen = ChosenReminders::within(10);
        chosen.add(&long, &VALUES);
        assert_eq!(chosen.text().as_deref(), Some("123456789…"));
        assert!(chosen.is_full());

        let mut chosen = ChosenReminders::within(10);
        chosen.add(&short, &VALUES);
        chosen.add(&long, &VALUES);
        chosen.add(&next, &VALUES);
        chosen.add(&last, &VALUES);
        assert_eq!(chosen.text().as_deref(), Some("1234\n12345"));
        assert_eq!(chosen.rules().count(), 2);

        let mut chosen = ChosenReminders::within(0);
        chosen.add(&short, &VALUES);
        assert_eq!(chosen.text(), None);
        assert!(chosen.is_full());
    }

    proptest! {
        #[test]
        fn the_bound_holds_whatever_the_rules_and_values_are(
            texts in proptest::collection::vec("[a-zé{}]{0,30}|\\{command\\}|\\{path\\} \\{tool\\}", 0..8),
            command in "\\PC{0,400}",
            max_chars in 0usize..60,
        ) {
            let rules: Vec<FollowupRule> = texts.iter().map(|text| rule(text)).collect();
            let mut chosen = ChosenReminders::within(max_chars);
            let values = PlaceholderValues { tool: "T", path: "é/x", command: &command, intent: "i" };
            for rule in &rules {
                chosen.add(rule, &values);
            }
            prop_assert!(chosen.text().unwrap_or_default().chars().count() <= max_chars);
        }
    }
}
