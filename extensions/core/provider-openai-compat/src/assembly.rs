//! Puts tool calls together from the pieces that servers send, each in its own way.
//!
//! Pure.

use crate::arguments::ObjectWatch;
use serde_json::Value;

/// How many calls one reply may hold; further pieces are dropped.
pub(crate) const MAX_CALLS: usize = 1024;

/// A call that is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompleteCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// The calls of one reply, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct CallAssembly {
    calls: Vec<PendingCall>,
    /// Calls that were given away already; always the first ones.
    given: usize,
}

#[derive(Debug, Default)]
struct PendingCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    watch: ObjectWatch,
}

/// One piece of a call, as a server sent it.
#[derive(Debug, Default)]
struct CallFragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl CallAssembly {
    /// Takes one element of `tool_calls`, or an old `function_call`, and gives the calls that are
    /// complete now.
    pub(crate) fn push(&mut self, element: &Value) -> Vec<CompleteCall> {
        let piece = CallFragment::read(element);
        match self.target(&piece) {
            Some(at) => {
                if let Some(call) = self.calls.get_mut(at) {
                    call.add(piece);
                }
            }
            None if self.calls.len() < MAX_CALLS => {
                let mut call = PendingCall { index: piece.index, ..PendingCall::default() };
                call.add(piece);
                self.calls.push(call);
            }
            None => {}
        }
        self.take_complete()
    }

    /// Gives every call that is left: the model has stopped.
    pub(crate) fn finish(&mut self) -> Vec<CompleteCall> {
        let rest = self.calls.get_mut(self.given..).unwrap_or_default();
        let whole = rest.iter_mut().filter(|call| !call.is_nothing()).map(PendingCall::take).collect();
        self.given = self.calls.len();
        whole
    }

    /// Which call a piece belongs to; `None` begins a new one.
    fn target(&self, piece: &CallFragment) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        if let Some(index) = piece.index {
            let at = self.calls.iter().rposition(|call| call.index == Some(index))?;
            let call = self.calls.get(at)?;
            // A server that gives all its calls one index tells them apart by id alone.
            let is_other = !piece.id.is_empty() && !call.id.is_empty() && piece.id != call.id;
            return (!is_other).then_some(at);
        }
        if !piece.id.is_empty() {
            let known = self.calls.iter().rposition(|call| call.id == piece.id);
            // The same id on a piece that brings a whole call again is a second call.
            return known.filter(|at| self.calls.get(*at).is_some_and(|call| !call.is_begun_again_by(piece)));
        }
        let open = self.calls.get(last)?;
        let begins = !piece.name.is_empty() && (!open.arguments.is_empty() || open.watch.is_closed());
        (!begins).then_some(last)
    }

    fn take_complete(&mut self) -> Vec<CompleteCall> {
        let mut complete = Vec::new();
        let last = self.calls.len().saturating_sub(1);
        while let Some(call) = self.calls.get_mut(self.given) {
            let is_past = self.given < last && call.watch.is_closed();
            if call.name.is_empty() || !(is_past || call.watch.is_closed_with_content()) {
                break;
            }
            complete.push(call.take());
            self.given += 1;
        }
        complete
    }
}

impl PendingCall {
    fn add(&mut self, piece: CallFragment) {
        if self.id.is_empty() {
            self.id = piece.id;
        }
        // Some servers repeat the whole name on each piece; a name never grows behind its arguments.
        if self.name != piece.name && self.arguments.is_empty() {
            self.name.push_str(&piece.name);
        }
        if self.watch.is_closed()
            && !self.watch.is_closed_with_content()
            && piece.arguments.trim_start().starts_with('{')
        {
            // `{}` was a stand-in for what comes now.
            self.arguments.clear();
            self.watch = ObjectWatch::default();
        }
        self.watch.push(&piece.arguments);
        self.arguments.push_str(&piece.arguments);
    }

    fn take(&mut self) -> CompleteCall {
        let arguments = std::mem::take(&mut self.arguments);
        let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
        CompleteCall { id: self.id.clone(), name: self.name.clone(), arguments }
    }

    fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.arguments.trim().is_empty()
    }

    fn is_begun_again_by(&self, piece: &CallFragment) -> bool {
        self.watch.is_closed() && !piece.name.is_empty() && !piece.arguments.is_empty()
    }
}

impl CallFragment {
    fn read(element: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        // The old form has the function's fields at the top.
        let function = element.get("function").filter(|function| function.is_object()).unwrap_or(element);
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            // Some servers send the object itself instead of its text.
            Some(value) => value.to_string(),
        };
        Self {
            index: element.get("index").and_then(Value::as_u64),
            id: text(element.get("id")),
            name: text(function.get("name")),
            arguments,
        }
    }
}

#[cfg(test)]
mod tests;
