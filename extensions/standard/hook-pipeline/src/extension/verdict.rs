//! What the pipeline decided, as the kernel's guard chain understands it. Pure.

use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{Denial, Question, ToolBefore};
use dispatch_hook_dialects::Answer;
use dispatch_hook_module::Decision;
use serde_json::Value;

use crate::run::Outcome;

/// What a rule without a code of its own is called.
const NO_CODE: &str = "POLICY";
/// A module wants the agent to stop, which our own agent does by not running the call.
const HALT: &str = "HALT";
const OUT_OF_TIME: &str = "BUDGET_EXCEEDED";

/// Puts the decision into the call. Hands back text for the model that goes with a call that passes.
pub(super) fn apply(outcome: &Outcome, value: &mut ToolBefore) -> Result<Vec<String>, HandlerError> {
    let answer = &outcome.answer;
    if let Some(denial) = denial(outcome) {
        value.denied = Some(denial);
        return Ok(Vec::new());
    }
    if answer.decision == Decision::Ask {
        value.questions.push(Question { code: code(answer), reason: reason(answer) });
    }
    match &answer.updated_input {
        Some(Value::Object(arguments)) => value.call.arguments = arguments.clone(),
        Some(_) => return Err(HandlerError("a rewrite left no arguments".to_owned())),
        None => {}
    }
    Ok(answer.context.clone())
}

fn denial(outcome: &Outcome) -> Option<Denial> {
    let answer = &outcome.answer;
    if answer.decision == Decision::Deny {
        return Some(Denial { code: code(answer), reason: with_context(reason(answer), answer) });
    }
    if let Some(why) = &answer.halt {
        return Some(Denial { code: HALT.to_owned(), reason: with_context(why.clone(), answer) });
    }
    // Our own agent can wait, so a guard that was not asked has not agreed.
    outcome.out_of_time_at.as_ref().map(|module| Denial {
        code: OUT_OF_TIME.to_owned(),
        reason: format!("Time ran out before `{module}` was asked; try again."),
    })
}

/// What the model reads in place of the tool's result.
pub(super) fn new_result(outcome: &Outcome) -> Option<String> {
    match outcome.answer.updated_output.as_ref()? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Everything the model should read where nothing can be refused: an objection, then context.
pub(super) fn texts(outcome: &Outcome) -> Vec<String> {
    let answer = &outcome.answer;
    let objection = (answer.decision == Decision::Deny).then(|| match &answer.code {
        Some(code) => format!("{code}: {}", reason(answer)),
        None => reason(answer),
    });
    objection.into_iter().chain(answer.context.iter().cloned()).collect()
}

fn code(answer: &Answer) -> String {
    answer.code.clone().unwrap_or_else(|| NO_CODE.to_owned())
}

fn reason(answer: &Answer) -> String {
    answer.reason.clone().unwrap_or_else(|| "A rule of this workspace objects.".to_owned())
}

fn with_context(reason: String, answer: &Answer) -> String {
    std::iter::once(reason).chain(answer.context.iter().cloned()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
