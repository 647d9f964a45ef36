//! One running program: its pipes, the calls that it works on, and why it ended.

use super::host_methods::{CALL, arguments};
use super::lines::{LineBuffer, LineTooLong};
use super::protocol::{self, ProgramMessage};
use crate::call_scope::CallScope;
use crate::host_calls::HostCalls;
use crate::limits::{
    MAX_LOGGED_LINE_BYTES, MAX_MESSAGE_BYTES, MAX_OPEN_QUESTIONS, MAX_WAITING_MESSAGES, PROGRAM_GRACE,
};
use dispatch_contracts::fault::FaultKind;
use dispatch_os::process::{
    Canceller, CaptureLimit, ChildEnd, ChildOutcome, ChildSpec, DescendantPolicy, OutputStream,
};
use dispatch_os::threads;
use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a call hears from the program.
pub(crate) enum CallMessage {
    /// It is done.
    Answered(Result<Value, String>),
    /// Its code asks the host.
    Asked {
        /// The program's id of the question.
        id: Value,
        operation: String,
        arguments: Vec<Value>,
    },
}

/// Why a program ended, in words that continue "The extension failed".
#[derive(Clone, Debug)]
pub(crate) struct ProgramEnd {
    pub(crate) reason: String,
    /// What it did wrong; `None` if that was counted already, or it did nothing wrong.
    pub(crate) fault: Option<FaultKind>,
}

impl ProgramEnd {
    fn fault(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), fault: Some(FaultKind::Error) }
    }
}

/// A program that was started. Clones of the handle are the same program.
pub(crate) struct RunningProgram {
    canceller: Canceller,
    host: HostCalls,
    state: Mutex<ProgramState>,
}

struct ProgramState {
    /// Until its standard input is closed.
    input: Option<SyncSender<Vec<u8>>>,
    last_id: u64,
    calls: BTreeMap<u64, OpenCall>,
    /// The last line that it wrote to standard error.
    last_words: String,
    end: Option<ProgramEnd>,
}

struct OpenCall {
    messages: UnboundedSender<CallMessage>,
    scope: Arc<CallScope>,
    questions: usize,
}

impl RunningProgram {
    /// Starts a command line in a folder. That it cannot be started shows as its end.
    pub(crate) fn start(command: &[String], folder: PathBuf, host: HostCalls) -> Result<Arc<Self>, String> {
        let (name, arguments) = command.split_first().ok_or("there is no program")?;
        let spec = ChildSpec::new(name.as_str())
            .args(arguments.iter().map(String::as_str))
            .working_folder(folder)
            .grace(PROGRAM_GRACE)
            .capture(CaptureLimit::NOTHING)
            .descendants(DescendantPolicy::Guarded);
        let cannot = |error: std::io::Error| format!("cannot start its program: {error}");
        let (spec, mut pipe) = spec.open_stdin().map_err(cannot)?;
        let (input, written) = sync_channel::<Vec<u8>>(MAX_WAITING_MESSAGES);
        let (calls, last_words) = (BTreeMap::new(), String::new());
        let state = ProgramState { input: Some(input), last_id: 0, calls, last_words, end: None };
        let running = Arc::new(Self { canceller: Canceller::new(), host, state: Mutex::new(state) });
        threads::spawn("extension-program-input", move || {
            while let Ok(message) = written.recv() {
                if pipe.write_all(&message).is_err() {
                    break;
                }
            }
        })
        .map_err(cannot)?;
        let program = Arc::clone(&running);
        threads::spawn("extension-program", move || program.supervise(spec)).map_err(cannot)?;
        Ok(running)
    }

    fn lock(&self) -> MutexGuard<'_, ProgramState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what it writes, until it ends.
    fn supervise(&self, spec: ChildSpec) {
        let mut output = LineBuffer::new(MAX_MESSAGE_BYTES);
        let mut errors = LineBuffer::new(MAX_LOGGED_LINE_BYTES);
        let outcome = spec.run_with(&self.canceller, &mut |stream, chunk| match stream {
            OutputStream::Stdout => {
                if output.push(chunk, |line| self.take(line)) == Err(LineTooLong) {
                    let mb = MAX_MESSAGE_BYTES / 1024 / 1024;
                    self.end(ProgramEnd::fault(format!("its program wrote a line of more than {mb} MB")));
                }
            }
            // The rest of a line that is too long is another line.
            OutputStream::Stderr => drop(errors.push(chunk, |line| self.log_error_line(line))),
        });
        drop(spec);
        let end = self.natural_end(&outcome);
        self.end(end);
    }

    fn natural_end(&self, outcome: &ChildOutcome) -> ProgramEnd {
        if let ChildEnd::FailedToStart(failure) = &outcome.end {
            let hint = failure.hint().map(|hint| format!(" (hint: {hint})"));
            return ProgramEnd::fault(format!("{failure}{}", hint.unwrap_or_default()));
        }
        let last_words = self.lock().last_words.clone();
        let said = if last_words.is_empty() { String::new() } else { format!("; it last wrote `{last_words}`") };
        ProgramEnd::fault(format!("its program ended: {}{said}", outcome.end))
    }

    fn log_error_line(&self, line: &[u8]) {
        let text = self.host.hide_secrets(&String::from_utf8_lossy(line));
        self.host.log("info", &text, Map::new());
        self.lock().last_words = text;
    }

    /// One message of the program.
    fn take(&self, line: &[u8]) {
        if self.ended().is_some() {
            return;
        }
        match protocol::parse(line) {
            Ok(ProgramMessage::Answer { id, outcome }) => {
                // The answer to a call that was given up comes too late.
                let call = self.lock().calls.remove(&id);
                if let Some(call) = call {
                    let _ = call.messages.unbounded_send(CallMessage::Answered(outcome));
                }
            }
            Ok(ProgramMessage::Question { id, method, params }) => {
                if let Err(refusal) = self.ask(&id, &method, &params) {
                    self.send(protocol::answer(&id, Err(refusal)));
                }
            }
            Ok(ProgramMessage::Notice { method, params }) => self.note(&method, &params),
            Err(wrong) => {
                let hint = "only messages go to standard output; print to standard error";
                self.end(ProgramEnd::fault(format!(
                    "its program wrote to standard output what it may not: {wrong} (hint: {hint})"
                )));
            }
        }
    }

    /// Hands a question to the call that it belongs to, unless it can be answered at once.
    fn ask(&self, id: &Value, method: &str, params: &Map<String, Value>) -> Result<(), String> {
        let mut arguments = arguments(method, params)?;
        if method == "events.emit" {
            let event = arguments.first().and_then(Value::as_str).unwrap_or_default();
            let event = protocol::owned(self.host.host().extension().as_str(), event);
            arguments.splice(..1, [event.into()]);
        }
        let scope = self.begin_question(params)?;
        if let Some(answer) = self.host.answer_at_once(method, &arguments, &scope) {
            self.finish_question(params);
            self.send(protocol::answer(id, answer));
            return Ok(());
        }
        let (id, operation) = (id.clone(), method.to_owned());
        let state = self.lock();
        if let Some(call) = call_of(params).and_then(|call| state.calls.get(&call)) {
            let _ = call.messages.unbounded_send(CallMessage::Asked { id, operation, arguments });
        }
        Ok(())
    }

    fn begin_question(&self, params: &Map<String, Value>) -> Result<Arc<CallScope>, String> {
        let call = call_of(params).ok_or("a question needs `call`, the id of the request that it belongs to")?;
        let mut state = self.lock();
        let open = state.calls.get_mut(&call).ok_or_else(|| format!("the call {call} is over"))?;
        if open.questions >= MAX_OPEN_QUESTIONS {
            return Err(format!("more than {MAX_OPEN_QUESTIONS} questions wait for an answer"));
        }
        open.questions += 1;
        Ok(Arc::clone(&open.scope))
    }

    fn finish_question(&self, params: &Map<String, Value>) {
        if let Some(call) = call_of(params) {
            self.question_is_answered(call);
        }
    }

    /// One question less waits in a call.
    pub(crate) fn question_is_answered(&self, call: u64) {
        if let Some(open) = self.lock().calls.get_mut(&call) {
            open.questions = open.questions.saturating_sub(1);
        }
    }

    /// What needs no answer: it belongs to a call, or it is a line for the log.
    fn note(&self, method: &str, params: &Map<String, Value>) {
        let scope = call_of(params).and_then(|call| Some(Arc::clone(&self.lock().calls.get(&call)?.scope)));
        let answer = arguments(method, params).and_then(|arguments| {
            let answer = self.host.answer_at_once(method, &arguments, &scope.unwrap_or_default());
            answer.unwrap_or_else(|| Err(format!("`{method}` needs an id, because it has an answer")))
        });
        if let Err(refusal) = answer {
            self.host.log("warn", &format!("its program told what was not understood: {refusal}"), Map::new());
        }
    }

    /// Begins a call under a new id.
    pub(crate) fn open(&self, scope: &Arc<CallScope>) -> Result<(u64, UnboundedReceiver<CallMessage>), ProgramEnd> {
        let mut state = self.lock();
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        state.last_id += 1;
        let (id, (messages, heard)) = (state.last_id, unbounded());
        state.calls.insert(id, OpenCall { messages, scope: Arc::clone(scope), questions: 0 });
        Ok((id, heard))
    }

    /// Whether a call waits for its answer.
    pub(crate) fn is_open(&self, id: u64) -> bool {
        self.lock().calls.contains_key(&id)
    }

    /// Forgets a call; an answer to it is ignored.
    pub(crate) fn close(&self, id: u64) {
        self.lock().calls.remove(&id);
    }

    /// Writes a message. A program that does not read is ended.
    pub(crate) fn send(&self, message: Vec<u8>) {
        let sent = match &self.lock().input {
            Some(input) => input.try_send(message),
            None => return,
        };
        if let Err(TrySendError::Full(_)) = sent {
            let reason = format!("its program does not read its standard input: {MAX_WAITING_MESSAGES} messages wait");
            self.end(ProgramEnd::fault(reason));
        }
    }

    /// Closes its standard input, which asks it to end.
    pub(crate) fn close_input(&self) {
        self.lock().input = None;
    }

    /// Why it ended, if it did. Whoever asks first is told what it did wrong; it is counted once.
    pub(crate) fn ended(&self) -> Option<ProgramEnd> {
        self.lock().end.clone()
    }

    /// The same for a call that failed by it: the fault is told to one of them.
    pub(crate) fn take_end(&self) -> ProgramEnd {
        let mut state = self.lock();
        match &mut state.end {
            Some(end) => {
                let taken = end.clone();
                end.fault = None;
                taken
            }
            None => ProgramEnd { reason: "its program gave up the call".to_owned(), fault: Some(FaultKind::Error) },
        }
    }

    /// Ends it: all calls fail for this reason, unless there was one before.
    pub(crate) fn end(&self, end: ProgramEnd) {
        let calls = {
            let mut state = self.lock();
            state.end.get_or_insert(end);
            state.input = None;
            std::mem::take(&mut state.calls)
        };
        drop(calls);
        self.canceller.cancel();
    }
}

fn call_of(params: &Map<String, Value>) -> Option<u64> {
    params.get(CALL).and_then(Value::as_u64)
}
