//! What a client is told about runs: a line in its log when one starts and ends, and its progress in between.

use super::capabilities::{ClientCapabilities, WillSave};
use super::wire::MessageTypeWire;
use crate::contract::{ExecutionRecord, RunId, Status};
use dispatch_os::time::parse_rfc3339;
use lsp_server::{Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};
use std::collections::HashMap;

/// What is shown of what a run printed: its end.
const MAX_OUTPUT_CHARS: usize = 4_000;
/// So many runs are followed at a time; of more than these nothing is told but their end.
const MAX_FOLLOWED: usize = 10_000;
/// Our own notification about how many runs there are.
const STATUS: &str = "dispatch/status";

/// Tells a client about runs.
pub(super) struct RunReporter {
    client: ClientCapabilities,
    runs: HashMap<RunId, ReportedRun>,
    /// The runs whose progress the client was asked to show, and their titles.
    asked: HashMap<RequestId, (RunId, String)>,
    last_failure: Option<Value>,
    requests: i32,
}

struct ReportedRun {
    status: Status,
    attempts: u32,
    progress: ProgressState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgressState {
    Unshown,
    Asked,
    Shown,
}

impl RunReporter {
    pub(super) fn new(client: ClientCapabilities) -> Self {
        Self { client, runs: HashMap::new(), asked: HashMap::new(), last_failure: None, requests: 0 }
    }

    /// Whether the client wants our own notifications.
    pub(super) const fn tells_status(&self) -> bool {
        self.client.status
    }

    /// How the client tells of a save to come.
    pub(super) const fn will_save(&self) -> WillSave {
        self.client.will_save
    }

    /// A question to the client.
    pub(super) fn request(&mut self, method: &str, params: Value) -> Request {
        self.requests = self.requests.wrapping_add(1);
        Request { id: RequestId::from(format!("dispatch-{}", self.requests)), method: method.to_owned(), params }
    }

    /// What is told about a change of a run.
    pub(super) fn news(&mut self, record: &ExecutionRecord) -> Vec<Message> {
        let before = self.runs.get(&record.id).map(|told| (told.status, told.attempts));
        if before == Some((record.status, record.attempts)) {
            return Vec::new();
        }
        let mut messages = match record.status {
            Status::Queued => self.waits(record, before.is_some()),
            Status::Running => self.started(record),
            _ => self.ended(record),
        };
        if self.client.status {
            messages.push(self.status());
        }
        messages
    }

    /// What follows from the client's answer to a question of ours.
    pub(super) fn answered(&mut self, response: &Response) -> Vec<Message> {
        let Some((run, title)) = self.asked.remove(&response.id) else { return Vec::new() };
        let told = self.runs.get_mut(&run);
        if response.response_result.is_err() {
            told.into_iter().for_each(|told| told.progress = ProgressState::Unshown);
            return Vec::new();
        }
        let begin = progress(&run, json!({ "kind": "begin", "title": title, "cancellable": false }));
        let Some(told) = told else {
            // It was over before the client answered, who may show a progress from its creation on (Helix does).
            return vec![begin, progress(&run, json!({ "kind": "end" }))];
        };
        told.progress = ProgressState::Shown;
        vec![begin]
    }

    fn waits(&mut self, record: &ExecutionRecord, again: bool) -> Vec<Message> {
        if let Some(told) = self.runs.get_mut(&record.id) {
            told.status = Status::Queued;
            told.attempts = record.attempts;
        } else {
            self.follow(record);
        }
        if !again || record.reason.is_empty() {
            return Vec::new();
        }
        vec![log(MessageTypeWire::Warning, &format!("{} waits: {}", title(record), record.reason))]
    }

    fn started(&mut self, record: &ExecutionRecord) -> Vec<Message> {
        self.follow(record);
        let attempt = if record.attempts > 1 { format!(" (attempt {})", record.attempts) } else { String::new() };
        let mut messages = vec![log(MessageTypeWire::Info, &format!("{} started{attempt}", title(record)))];
        let unshown = self.runs.get(&record.id).is_some_and(|told| told.progress == ProgressState::Unshown);
        if self.client.progress && unshown {
            let request = self.request("window/workDoneProgress/create", json!({ "token": token(&record.id) }));
            self.asked.insert(request.id.clone(), (record.id.clone(), title(record)));
            if let Some(told) = self.runs.get_mut(&record.id) {
                told.progress = ProgressState::Asked;
            }
            messages.push(request.into());
        }
        messages
    }

    fn ended(&mut self, record: &ExecutionRecord) -> Vec<Message> {
        let told = self.runs.remove(&record.id);
        let (kind, word) = match record.status {
            Status::Success => (MessageTypeWire::Info, "succeeded"),
            Status::Timeout => (MessageTypeWire::Error, "timed out"),
            Status::Canceled => (MessageTypeWire::Info, "was canceled"),
            Status::Refused => (MessageTypeWire::Error, "was refused"),
            _ => (MessageTypeWire::Error, "failed"),
        };
        if kind == MessageTypeWire::Error {
            self.last_failure = Some(json!({ "hook": record.hook_id, "run": record.id, "reason": record.reason }));
        }
        let failed = self.last_failure.as_ref().and_then(|failure| failure["hook"].as_str());
        if record.status == Status::Success && failed == Some(record.hook_id.as_str()) {
            self.last_failure = None;
        }
        let mut text = format!("{} {word}{}", title(record), seconds(record));
        if !record.reason.is_empty() {
            text.push_str(": ");
            text.push_str(&record.reason);
        }
        if let Some(output) = record.logs.as_deref().map(str::trim_end).filter(|output| !output.is_empty()) {
            text.push('\n');
            text.push_str(end_of(output));
        }
        let mut messages = vec![log(kind, &text)];
        if told.is_some_and(|told| told.progress == ProgressState::Shown) {
            messages.push(progress(&record.id, json!({ "kind": "end", "message": word })));
        }
        if self.client.lens_refresh {
            messages.push(self.request("workspace/codeLens/refresh", Value::Null).into());
        }
        messages
    }

    fn follow(&mut self, record: &ExecutionRecord) {
        if self.runs.len() >= MAX_FOLLOWED && !self.runs.contains_key(&record.id) {
            return;
        }
        let fresh =
            || ReportedRun { status: record.status, attempts: record.attempts, progress: ProgressState::Unshown };
        let told = self.runs.entry(record.id.clone()).or_insert_with(fresh);
        told.status = record.status;
        told.attempts = record.attempts;
    }

    fn status(&self) -> Message {
        let count = |status| self.runs.values().filter(|told| told.status == status).count();
        let params = json!({
            "running": count(Status::Running),
            "queued": count(Status::Queued),
            "lastFailure": self.last_failure,
        });
        Notification { method: STATUS.to_owned(), params }.into()
    }
}

/// A line for the client's log.
pub(super) fn log(kind: MessageTypeWire, text: &str) -> Message {
    let params = json!({ "type": kind, "message": text });
    Notification { method: "window/logMessage".to_owned(), params }.into()
}

fn progress(run: &RunId, value: Value) -> Message {
    Notification { method: "$/progress".to_owned(), params: json!({ "token": token(run), "value": value }) }.into()
}

fn token(run: &RunId) -> String {
    format!("dispatch/{run}")
}

fn title(record: &ExecutionRecord) -> String {
    match record.files.as_slice() {
        [] => format!("hook `{}`", record.hook_id),
        [file] => format!("hook `{}` for {}", record.hook_id, file.path),
        [file, more @ ..] => format!("hook `{}` for {} and {} more", record.hook_id, file.path, more.len()),
    }
}

fn seconds(record: &ExecutionRecord) -> String {
    let end = record.end_ts.as_deref().and_then(parse_rfc3339);
    let taken = parse_rfc3339(&record.start_ts).zip(end).map(|(start, end)| end.saturating_sub(start).max(0));
    taken.map_or_else(String::new, |ms| format!(" after {}.{} s", ms / 1000, ms % 1000 / 100))
}

fn end_of(text: &str) -> &str {
    let surplus = text.chars().count().saturating_sub(MAX_OUTPUT_CHARS);
    let start = text.char_indices().nth(surplus).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    fn words(messages: &[Message]) -> Vec<String> {
        let word = |message: &Message| match message {
            Message::Notification(notification) => match notification.method.as_str() {
                "window/logMessage" => {
                    format!("{} {}", notification.params["type"], notification.params["message"].as_str().unwrap())
                }
                "$/progress" => format!("progress {}", notification.params["value"]["kind"].as_str().unwrap()),
                other => {
                    let told = &notification.params;
                    format!("{other} {} {} {}", told["running"], told["queued"], told["lastFailure"]["reason"])
                }
            },
            Message::Request(request) => request.method.clone(),
            Message::Response(_) => "response".to_owned(),
        };
        messages.iter().map(word).collect()
    }

    fn all_of(client: ClientCapabilities) -> RunReporter {
        RunReporter::new(client)
    }

    #[test]
    fn a_run_is_told_from_its_start_to_its_end() {
        let mut reporter = all_of(ClientCapabilities { progress: true, ..ClientCapabilities::default() });
        assert_eq!(words(&reporter.news(&record("lint", "1", Status::Queued))), [""; 0]);
        let started = reporter.news(&record("lint", "1", Status::Running));
        assert_eq!(words(&started), ["3 hook `lint` for src/a.rs started", "window/workDoneProgress/create"]);
        assert!(reporter.news(&record("lint", "1", Status::Running)).is_empty(), "told once");
        let Message::Request(asked) = &started[1] else { panic!("a question") };
        let answer = Response { id: asked.id.clone(), response_result: Ok(Value::Null) };
        assert_eq!(words(&reporter.answered(&answer)), ["progress begin"]);
        assert!(reporter.answered(&answer).is_empty());
        let ended = ExecutionRecord { logs: Some("all fine\n".to_owned()), ..record("lint", "1", Status::Success) };
        assert_eq!(
            words(&reporter.news(&ended)),
            ["3 hook `lint` for src/a.rs succeeded after 2.5 s\nall fine", "progress end"]
        );
    }

    #[test]
    fn progress_is_ended_if_the_client_answered_too_late_and_not_shown_if_it_refused() {
        let mut reporter = all_of(ClientCapabilities { progress: true, ..ClientCapabilities::default() });
        let started = reporter.news(&record("lint", "1", Status::Running));
        let Message::Request(asked) = &started[1] else { panic!("a question") };
        assert_eq!(words(&reporter.news(&record("lint", "1", Status::Success))).len(), 1);
        let answer = Response { id: asked.id.clone(), response_result: Ok(Value::Null) };
        assert_eq!(words(&reporter.answered(&answer)), ["progress begin", "progress end"]);
        let started = reporter.news(&record("lint", "2", Status::Running));
        let Message::Request(asked) = &started[1] else { panic!("a question") };
        let refused = Response::new_err(asked.id.clone(), 1, String::new());
        assert!(reporter.answered(&refused).is_empty());
        assert_eq!(words(&reporter.news(&record("lint", "2", Status::Success))).len(), 1);
        let mut plain = all_of(ClientCapabilities::default());
        assert_eq!(plain.news(&record("lint", "1", Status::Running)).len(), 1);
    }

    #[test]
    fn failures_are_errors_and_waits_are_warnings() {
        let mut reporter =
            all_of(ClientCapabilities { lens_refresh: true, status: true, ..ClientCapabilities::default() });
        reporter.news(&record("lint", "1", Status::Running));
        let waits = ExecutionRecord { reason: "tried again in 2 s".to_owned(), ..record("lint", "1", Status::Queued) };
        assert_eq!(words(&reporter.news(&waits))[0], "2 hook `lint` for src/a.rs waits: tried again in 2 s");
        let again = ExecutionRecord { attempts: 2, ..record("lint", "1", Status::Running) };
        assert_eq!(words(&reporter.news(&again))[0], "3 hook `lint` for src/a.rs started (attempt 2)");
        let failed = ExecutionRecord { reason: "exit code 1".to_owned(), ..record("lint", "1", Status::Failed) };
        assert_eq!(
            words(&reporter.news(&failed)),
            [
                "1 hook `lint` for src/a.rs failed after 2.5 s: exit code 1",
                "workspace/codeLens/refresh",
                r#"dispatch/status 0 0 "exit code 1""#,
            ]
        );
        let other = words(&reporter.news(&record("fmt", "2", Status::Success)));
        assert_eq!(other.last().unwrap(), r#"dispatch/status 0 0 "exit code 1""#);
        let well = words(&reporter.news(&record("lint", "3", Status::Success)));
        assert_eq!(well.last().unwrap(), "dispatch/status 0 0 null", "a hook that succeeds again has not failed last");
    }

    #[test]
    fn of_a_long_output_the_end_is_shown() {
        let text = format!("{}ä", "x".repeat(MAX_OUTPUT_CHARS));
        assert_eq!(end_of(&text).chars().count(), MAX_OUTPUT_CHARS);
        assert!(end_of(&text).ends_with('ä'));
        assert_eq!(end_of("short"), "short");
    }
}
