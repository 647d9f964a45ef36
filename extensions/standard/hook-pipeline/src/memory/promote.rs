//! Makes a followup rule of a candidate, and takes it back.
//!
//! Pure.

use serde_json::{Value, json};

use super::MemoryError;
use super::candidate::{CandidateKind, MemoryCandidate};
use crate::followup::{FollowupCondition, FollowupRule, NameList, ReminderFrequency};

/// Placeholders of rules; in the text of a candidate they are only text.
const PLACEHOLDERS: [&str; 4] = ["tool", "path", "command", "intent"];

/// What became of the file of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promotion {
    /// The new content of the file.
    Added(String),
    /// The rule was there already.
    AlreadyThere,
}

/// The rule that a candidate becomes; it has the candidate's id.
#[must_use]
pub(super) fn rule_for(candidate: &MemoryCandidate) -> FollowupRule {
    let trigger = &candidate.trigger;
    let names = |list: &[String]| (!list.is_empty()).then(|| list.iter().cloned().collect::<NameList>());
    let (event, kinds, once): (_, Option<&[&str]>, _) = match candidate.kind {
        CandidateKind::Preference => ("PreToolUse", Some(&["write", "execute"]), ReminderFrequency::Session),
        CandidateKind::Correction => ("PreToolUse", Some(&["execute"]), ReminderFrequency::Turn),
        CandidateKind::Hazard => ("PreToolUse", None, ReminderFrequency::Session),
        CandidateKind::Relation => ("PostToolUse", Some(&["write", "execute"]), ReminderFrequency::Turn),
    };
    let when = FollowupCondition {
        event: event.into(),
        tools: names(&trigger.tools),
        kinds: kinds.map(|kinds| kinds.iter().copied().collect()),
        paths: names(&trigger.paths),
        command: trigger.command.clone(),
        ..FollowupCondition::default()
    };
    let inject = format!("{}: {}", label(candidate.kind), without_placeholders(&candidate.text));
    FollowupRule { id: candidate.id.clone(), when, inject, once, priority: priority(candidate.score) }
}

/// Adds the rule of a candidate to the text of `followup-rules.json`, which may not exist yet.
///
/// # Errors
/// When the text cannot be kept as it is: it is not JSON, has no list of rules, or has another rule of this name.
pub fn promote(rules_text: Option<&str>, candidate: &MemoryCandidate) -> Result<Promotion, MemoryError> {
    let mut file = read(rules_text)?;
    let rule = serde_json::to_value(rule_for(candidate)).map_err(MemoryError::RulesNotJson)?;
    let rules = rules_of(&mut file)?;
    match rules.iter().find(|known| known.get("id") == rule.get("id")) {
        Some(known) if known.get("inject") == rule.get("inject") => return Ok(Promotion::AlreadyThere),
        Some(_) => return Err(MemoryError::RuleExists(candidate.id.clone())),
        None => rules.push(rule),
    }
    Ok(Promotion::Added(write(&file)))
}

/// The text of `followup-rules.json` without the rule of this id; nothing if it has none.
///
/// # Errors
/// When the text is not one that rules can be taken out of.
pub fn withdraw(rules_text: &str, id: &str) -> Result<Option<String>, MemoryError> {
    let mut file = read(Some(rules_text))?;
    let rules = rules_of(&mut file)?;
    let before = rules.len();
    rules.retain(|rule| rule.get("id").and_then(Value::as_str) != Some(id));
    let changed = rules.len() < before;
    Ok(changed.then(|| write(&file)))
}

fn read(text: Option<&str>) -> Result<Value, MemoryError> {
    let text = text.map(|text| text.trim_start_matches('\u{feff}')).filter(|text| !text.trim().is_empty());
    text.map_or_else(|| Ok(json!({"rules": []})), |text| serde_json::from_str(text).map_err(MemoryError::RulesNotJson))
}

fn rules_of(file: &mut Value) -> Result<&mut Vec<Value>, MemoryError> {
    let fields = file.as_object_mut().ok_or(MemoryError::RulesShape("it is not an object"))?;
    let rules = fields.entry("rules").or_insert_with(|| json!([]));
    rules.as_array_mut().ok_or(MemoryError::RulesShape("`rules` is not a list"))
}

fn write(file: &Value) -> String {
    serde_json::to_string_pretty(file).unwrap_or_default() + "\n"
}

fn label(kind: CandidateKind) -> &'static str {
    match kind {
        CandidateKind::Correction => "Learned earlier",
        CandidateKind::Preference => "The user's preference",
        CandidateKind::Hazard => "Mind",
        CandidateKind::Relation => "Seen earlier",
    }
}

fn without_placeholders(text: &str) -> String {
    let spaced = |text: String, name: &&str| text.replace(&format!("{{{name}}}"), &format!("{{ {name} }}"));
    PLACEHOLDERS.iter().fold(text.to_owned(), spaced)
}

/// The score in whole percent.
fn priority(score: f64) -> i32 {
    (0..=100).rev().find(|percent| f64::from(*percent) <= score * 100.0).unwrap_or(0)
}
