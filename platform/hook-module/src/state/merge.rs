//! Merges a patch into a state so that no writer, however late, takes anything back.

use serde_json::{Map, Value};

use super::SessionState;
use crate::context::work_number;
use crate::phase::Phase;

const MAX_DEPTH: usize = 8;

/// Why part of a patch was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchProblem {
    /// The patch is not an object.
    #[error("the state patch is not an object")]
    NotAnObject,
    /// A list: two writers could not both be right.
    #[error("the state patch has a list at `{0}`; state holds pointers only")]
    List(String),
    /// A value of the wrong type for a field with a rule.
    #[error("the state patch has a value of the wrong type at `{0}`")]
    WrongType(String),
    /// The patch is nested too deeply.
    #[error("the state patch is nested too deeply at `{0}`")]
    TooDeep(String),
}

/// Applies a merge patch. Fields with a rule follow it; others are overwritten; `null` removes them.
///
/// What cannot be applied is left out and told, so that one bad field does not lose the others.
#[must_use]
pub fn merge(state: &SessionState, patch: &Value) -> (SessionState, Vec<PatchProblem>) {
    let mut problems = Vec::new();
    let mut next = state.0.clone();
    let Some(patch) = patch.as_object() else {
        return (state.clone(), vec![PatchProblem::NotAnObject]);
    };
    for (section, value) in patch {
        match (section.as_str(), value) {
            ("core", Value::Object(fields)) => merge_core(section_of(&mut next, "core"), fields, &mut problems),
            ("core", _) => problems.push(PatchProblem::WrongType("core".to_owned())),
            _ => apply(&mut next, section, value, section, 0, &mut problems),
        }
    }
    (SessionState(next), problems)
}

fn section_of<'a>(state: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let slot = state.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(fields) => fields,
        _ => unreachable!("it was made an object just now"),
    }
}

fn merge_core(core: &mut Map<String, Value>, patch: &Map<String, Value>, problems: &mut Vec<PatchProblem>) {
    merge_work(core, patch, problems);
    for (key, value) in patch {
        let path = format!("core.{key}");
        match (key.as_str(), value) {
            ("workId" | "phase" | "phaseTs", _) => {}
            ("sessionId", Value::String(_)) => {
                core.entry(key.as_str()).or_insert_with(|| value.clone());
            }
            ("lastTurnId" | "lastEventOffset", Value::Number(number)) if number.is_u64() => {
                set_max(core, key, value);
            }
            ("sessionId" | "lastTurnId" | "lastEventOffset", _) => problems.push(PatchProblem::WrongType(path)),
            ("agents", Value::Object(agents)) => {
                let known = section_of(core, "agents");
                for (agent, id) in agents.iter().filter(|(_, id)| id.is_string()) {
                    known.entry(agent.as_str()).or_insert_with(|| id.clone());
                }
            }
            _ => apply(core, key, value, &path, 1, problems),
        }
    }
}

/// Work and phase belong together: newer work brings its own phase, the same work only moves on.
fn merge_work(core: &mut Map<String, Value>, patch: &Map<String, Value>, problems: &mut Vec<PatchProblem>) {
    let turn = |fields: &Map<String, Value>| fields.get("lastTurnId").and_then(Value::as_u64);
    let work = |fields: &Map<String, Value>| fields.get("workId").and_then(Value::as_str).map(str::to_owned);
    let phase_of = |fields: &Map<String, Value>| fields.get("phase").and_then(Value::as_str).and_then(Phase::named);
    if patch.get("workId").is_some_and(|id| id.as_str().and_then(work_number).is_none()) {
        problems.push(PatchProblem::WrongType("core.workId".to_owned()));
        return;
    }
    if patch.contains_key("phase") && phase_of(patch).is_none() {
        problems.push(PatchProblem::WrongType("core.phase".to_owned()));
        return;
    }
    let (old_turn, new_turn) = (turn(core), turn(patch));
    let (old_work, new_work) = (work(core), work(patch));
    let same_work = new_work.is_none() || old_work.is_none() || new_work == old_work;
    if same_work {
        if let (None, Some(id)) = (&old_work, new_work) {
            core.insert("workId".to_owned(), Value::String(id));
        }
        if let Some(phase) = phase_of(patch) {
            merge_phase(core, phase, time_of(patch));
        }
        return;
    }
    let newer = (new_turn, &new_work) > (old_turn, &old_work);
    if newer && let Some(id) = new_work {
        core.insert("workId".to_owned(), Value::String(id));
        core.insert("phase".to_owned(), phase_of(patch).unwrap_or_default().as_str().into());
        core.insert("phaseTs".to_owned(), time_of(patch).into());
    }
}

fn time_of(fields: &Map<String, Value>) -> i64 {
    fields.get("phaseTs").and_then(Value::as_i64).unwrap_or(0)
}

/// The phase moves on by its ordinal; into and out of `BLOCKED` it moves by time.
fn merge_phase(core: &mut Map<String, Value>, phase: Phase, time: i64) {
    let current = core.get("phase").and_then(Value::as_str).and_then(Phase::named);
    let moves = match current {
        None => true,
        Some(current) if current == phase => time > time_of(core),
        Some(current) if current == Phase::Blocked || phase == Phase::Blocked => {
            (time, phase == Phase::Blocked) > (time_of(core), current == Phase::Blocked)
        }
        Some(current) => phase.ordinal() > current.ordinal(),
    };
    if moves {
        core.insert("phase".to_owned(), phase.as_str().into());
        if time != 0 {
            core.insert("phaseTs".to_owned(), time.max(time_of(core)).into());
        }
    }
}

fn set_max(fields: &mut Map<String, Value>, key: &str, value: &Value) {
    let current = fields.get(key).and_then(Value::as_i64);
    if value.as_i64() > current {
        fields.insert(key.to_owned(), value.clone());
    }
}

fn apply(
    fields: &mut Map<String, Value>,
    key: &str,
    value: &Value,
    path: &str,
    depth: usize,
    problems: &mut Vec<PatchProblem>,
) {
    match value {
        Value::Null => {
            fields.shift_remove(key);
        }
        Value::Array(_) => problems.push(PatchProblem::List(path.to_owned())),
        Value::Object(_) if depth >= MAX_DEPTH => problems.push(PatchProblem::TooDeep(path.to_owned())),
        Value::Object(patch) => {
            let inner = section_of(fields, key);
            for (name, value) in patch {
                apply(inner, name, value, &format!("{path}.{name}"), depth + 1, problems);
            }
        }
        Value::Number(_) if path == "cap.neo4j.lastCheckTs" => set_max(fields, key, value),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            fields.insert(key.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests;
