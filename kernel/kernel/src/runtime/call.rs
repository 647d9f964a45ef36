//! One tool call's life: judged, started, run, looked at again, cut to size, recorded.

use super::input::{OfferedTool, TurnInput};
use super::live_output::LiveOutput;
use super::recorder::Recorder;
use super::schedule::Claim;
use super::truncate::{Truncated, cut};
use crate::bus::WaitLog;
use crate::bus::isolate::{HandlerFailure, TimeLimit, isolate, isolate_call};
use crate::reconcile::{NO_OUTPUT, OUTCOME_UNKNOWN};
use crate::services::schema;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{ResultStatus, RowBody, ToolCall, ToolResult};
use dispatch_contracts::hooks::{Denial, Question, TOOL_AFTER, TOOL_BEFORE, ToolAfter, ToolBefore, TurnRef};
use dispatch_contracts::tool::{Resources, ToolContext, ToolError, ToolOutput};
use dispatch_contracts::turn::{Proposal, SinkError, TurnEvent};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use serde_json::{Map, Value};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What stands before the place of a full output in a result that was cut.
pub const FULL_OUTPUT_IN: &str = "the full output is in ";
/// What stands behind that place.
pub const PLACE_ENDS: &str = " ...]";

/// What all calls of a step share.
#[derive(Clone, Copy)]
pub(super) struct CallEnvironment<'a> {
    pub(super) input: &'a TurnInput<'a>,
    pub(super) recorder: &'a Recorder<'a>,
    pub(super) waits: &'a WaitLog,
    pub(super) step: u32,
}

/// A call on its way. Clones share what is known of its progress.
#[derive(Clone)]
pub(super) struct PendingCall {
    pub(super) index: u32,
    pub(super) call: ToolCall,
    pub(super) offered: OfferedTool,
    /// Whether the guards have seen it.
    pub(super) judged: bool,
    pub(super) started: Arc<AtomicBool>,
    pub(super) output: Arc<LiveOutput>,
}

/// How far a call came.
pub(super) enum CallProgress {
    /// It has its outcome, and that is recorded.
    Ended(ToolResult),
    /// A guard changed what it touches; it must wait again.
    Requeue(ToolCall, Claim),
}

impl<'a> CallEnvironment<'a> {
    /// Runs a call as far as it can go.
    pub(super) async fn run(self, mut pending: PendingCall, cancel: CancelToken) -> Result<CallProgress, SinkError> {
        if !pending.judged {
            let claimed = claim(&pending.offered, &pending.call.arguments);
            match self.judge(&pending.call, &pending.offered).await {
                Ok(judged) => pending.call = judged,
                Err(refusal) => return self.end(refusal).await.map(CallProgress::Ended),
            }
            let needed = claim(&pending.offered, &pending.call.arguments);
            if needed != claimed {
                return Ok(CallProgress::Requeue(pending.call, needed));
            }
        }
        let result = match self.check_arguments(&pending) {
            Some(refusal) => refusal,
            None => self.execute(&pending, cancel).await?,
        };
        self.end(result).await.map(CallProgress::Ended)
    }

    /// Asks the guards; the call as they left it, or their refusal.
    async fn judge(&self, call: &ToolCall, offered: &OfferedTool) -> Result<ToolCall, ToolResult> {
        let value = ToolBefore { turn: self.turn(), call: call.clone(), denied: None, questions: Vec::new() };
        match self.input.bus.apply(&TOOL_BEFORE, value, self.waits).await {
            Err(failed) => Err(result(call, ResultStatus::Denied, format!("This call was refused: {failed}."))),
            Ok(ToolBefore { denied: Some(denial), .. }) => Err(refused(call, &denial)),
            Ok(judged) => {
                let call = ToolCall { arguments: judged.call.arguments, ..call.clone() };
                self.approve(call, judged.questions, offered).await
            }
        }
    }

    /// Asks the approver whether the call may run.
    async fn approve(
        &self,
        call: ToolCall,
        questions: Vec<Question>,
        offered: &OfferedTool,
    ) -> Result<ToolCall, ToolResult> {
        let effect = isolate_call(|| offered.tool.effect(&call.arguments)).unwrap_or_default();
        let proposal = Proposal { call: call.clone(), effect, questions };
        match self.input.approver.refuse(proposal).await {
            Some(denial) => Err(refused(&call, &denial)),
            None => Ok(call),
        }
    }

    fn check_arguments(&self, pending: &PendingCall) -> Option<ToolResult> {
        let arguments = Value::Object(pending.call.arguments.clone());
        let violations = schema::check(&pending.offered.tool.spec().parameters, &arguments);
        let problems: Vec<String> = violations.iter().map(ToString::to_string).collect();
        let text = format!("This call was not run, because its arguments do not fit: {}.", problems.join("; "));
        (!problems.is_empty()).then(|| result(&pending.call, ResultStatus::NotRun, text))
    }

    async fn execute(&self, pending: &PendingCall, cancel: CancelToken) -> Result<ToolResult, SinkError> {
        let call = &pending.call;
        self.recorder.record(self.step, RowBody::CallStarted { index: pending.index, call: call.clone() }).await?;
        pending.started.store(true, Ordering::Relaxed);
        (self.input.emit)(TurnEvent::CallStarted { call: call.id.clone(), tool: call.name.clone() });
        let outcome = self.outcome(pending, cancel).await;
        let value = ToolAfter { turn: self.turn(), call: call.clone(), result: outcome.clone() };
        // The chain fails open, so an error here means that no handler could look at the result.
        let seen = self.input.bus.apply(&TOOL_AFTER, value, self.waits).await.map(|value| value.result);
        Ok(self.fit(seen.unwrap_or(outcome)).await)
    }

    /// Runs the tool under its time limit.
    async fn outcome(&self, pending: &PendingCall, cancel: CancelToken) -> ToolResult {
        let call = &pending.call;
        let context = ToolContext {
            call_id: call.id.clone(),
            session: self.input.session.clone(),
            workdir: self.input.workdir.clone(),
            cancel: cancel.clone(),
            sink: pending.output.sink(call.id.clone(), Arc::clone(&self.input.emit)),
        };
        let (tool, arguments) = (Arc::clone(&pending.offered.tool), call.arguments.clone());
        let answered = || async move { Ok::<_, Infallible>(tool.call(arguments, context).await) }.boxed();
        let work = isolate(self.input.clock, TimeLimit::None, answered).boxed();
        let limits = &self.input.limits;
        match select(work, self.input.clock.sleep_ms(limits.call_ms)).await {
            Either::Left((ended, _)) => self.ended(pending, ended),
            Either::Right(((), work)) => {
                cancel.cancel();
                match select(work, self.input.clock.sleep_ms(limits.cancel_grace_ms)).await {
                    Either::Left((ended, _)) => self.ended(pending, ended),
                    Either::Right(_) => unknown(call, &pending.output),
                }
            }
        }
    }

    fn ended(&self, pending: &PendingCall, ended: Result<Result<ToolOutput, ToolError>, HandlerFailure>) -> ToolResult {
        let call = &pending.call;
        match ended {
            Ok(Ok(output)) => {
                let text = if output.text.trim().is_empty() { NO_OUTPUT.to_owned() } else { output.text };
                ToolResult { images: output.images, ..result(call, ResultStatus::Succeeded, text) }
            }
            Ok(Err(ToolError(text))) => result(call, ResultStatus::Failed, text),
            Err(failure) => {
                let place = format!("tool {}", call.name);
                self.input.bus.report(&pending.offered.owner, &place, failure.kind, &failure.message);
                let text = format!("The tool crashed and may have done part of its work: it {}.", failure.message);
                result(call, ResultStatus::Failed, text)
            }
        }
    }

    /// Cuts a result to what the model reads, and keeps the rest where a tool can read it.
    async fn fit(&self, mut result: ToolResult) -> ToolResult {
        let Truncated::Parts { head, tail, missing } = cut(&result.text, self.input.limits.output_bytes) else {
            return result;
        };
        let kept = match self.input.spill.keep(result.call.as_str(), &result.text).await {
            Ok(place) => format!("{FULL_OUTPUT_IN}{place}"),
            Err(error) => error.to_string(),
        };
        result.text = format!("{head}\n[... {missing} bytes left out; {kept}{PLACE_ENDS}\n{tail}");
        result
    }

    /// Records an outcome and shows it.
    pub(super) async fn end(&self, mut result: ToolResult) -> Result<ToolResult, SinkError> {
        if result.text.trim().is_empty() {
            result.text = NO_OUTPUT.to_owned();
        }
        self.recorder.record(self.step, RowBody::CallEnded { result: result.clone() }).await?;
        (self.input.emit)(TurnEvent::CallEnded { call: result.call.clone(), status: result.status });
        Ok(result)
    }

    fn turn(&self) -> TurnRef {
        self.input.turn_ref()
    }
}

/// A result of text alone.
pub(super) fn result(call: &ToolCall, status: ResultStatus, text: impl Into<String>) -> ToolResult {
    ToolResult { call: call.id.clone(), status, text: text.into(), images: Vec::new() }
}

fn refused(call: &ToolCall, denial: &Denial) -> ToolResult {
    let text = format!("This call was refused ({}): {}", denial.code, denial.reason);
    result(call, ResultStatus::Denied, text)
}

/// The result of a call whose end was not seen, with what it printed until then.
pub(super) fn unknown(call: &ToolCall, output: &LiveOutput) -> ToolResult {
    let printed = output.kept();
    let seen =
        if printed.trim().is_empty() { String::new() } else { format!("\nIts output so far ended with:\n{printed}") };
    result(call, ResultStatus::Unknown, format!("{OUTCOME_UNKNOWN}{seen}"))
}

/// What a call needs for itself; everything, if its tool cannot say.
pub(super) fn claim(offered: &OfferedTool, arguments: &Map<String, Value>) -> Claim {
    let declared = isolate_call(|| (offered.tool.resources(arguments), offered.tool.spec().concurrency_safe));
    let (resources, safe) = declared.unwrap_or((Resources::Undeclared, false));
    Claim::new(resources, safe)
}
