//! The scripted model: a server on the loopback address that asks an agent for one step after the other.
//!
//! Which step is next follows from the request alone: it is the number of tool results in the conversation. So a
//! request that is repeated gets the same step again. A request that offers no tools (a title, a summary) gets words.

use crate::error::LiveError;
use crate::http_exchange::{HttpRequest, read_request, write_reply};
use crate::model_request::ModelRequest;
use crate::step::ModelStep;
use crate::wire::{WireProtocol, model_list, token_count};
use dispatch_os::network::{SocketAddr, TcpListener, TcpStream, connect, listen_on_loopback};
use dispatch_os::threads;
use serde_json::{Value, json};
use std::io::BufReader;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most requests that are kept.
const REQUEST_LIMIT: usize = 1000;
const LAST_WORDS: &str = "All done.";
const SIDE_WORDS: &str = "ok";
const WAKE_TIMEOUT: Duration = Duration::from_secs(1);

/// The running server. Dropping it stops it.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<ModelState>,
}

#[derive(Debug)]
struct ModelState {
    plan: Vec<ModelStep>,
    requests: Mutex<Vec<ModelRequest>>,
    stopped: AtomicBool,
}

impl ScriptedModel {
    /// Starts a server that asks for these steps, then ends the conversation.
    ///
    /// # Errors
    /// When there is no free port or no thread to serve it.
    pub fn start(plan: Vec<ModelStep>) -> Result<Self, LiveError> {
        let listener = listen_on_loopback().map_err(LiveError::Model)?;
        let address = listener.local_addr().map_err(LiveError::Model)?;
        let shared = Arc::new(ModelState { plan, requests: Mutex::default(), stopped: AtomicBool::new(false) });
        let accepting = Arc::clone(&shared);
        threads::spawn("scripted-model", move || accepting.accept(&listener)).map_err(LiveError::Model)?;
        Ok(Self { address, shared })
    }

    /// The address without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, in the order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.lock().clone()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // Wakes the thread that waits for connections.
        let _ = connect(&self.address, WAKE_TIMEOUT);
    }
}

impl ModelState {
    fn lock(&self) -> MutexGuard<'_, Vec<ModelRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for connection in listener.incoming() {
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            let Ok(stream) = connection else { continue };
            let shared = Arc::clone(self);
            // Without a thread the connection closes, and the agent tries again.
            let _ = threads::spawn("scripted-reply", move || shared.serve(stream));
        }
    }

    fn serve(&self, stream: TcpStream) {
        let Ok(mut client) = stream.try_clone() else { return };
        let mut reader = BufReader::new(stream);
        while let Ok(Some(request)) = read_request(&mut reader, &mut client) {
            let (status, kind, body) = self.answer(&request);
            if write_reply(&mut client, status, kind, body.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &HttpRequest) -> (u16, &'static str, String) {
        const JSON: &str = "application/json";
        let path = request.target.split('?').next().unwrap_or_default();
        if request.method != "POST" {
            return (200, JSON, model_list(path).to_string());
        }
        let Some(protocol) = WireProtocol::of_path(path) else {
            return (200, JSON, token_count().to_string());
        };
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return (400, JSON, json!({ "error": { "message": "the body is not JSON" } }).to_string());
        };
        let (number, step) = self.next_step(protocol, &body);
        if !protocol.is_streamed(path, &body) {
            return (200, JSON, protocol.reply(&step, number, &body).to_string());
        }
        let mut events = String::new();
        for (name, data) in protocol.events(&step, number, &body) {
            if let Some(name) = name {
                events.push_str(&format!("event: {name}\n"));
            }
            events.push_str(&format!("data: {data}\n\n"));
        }
        (200, "text/event-stream", events)
    }

    /// The step that a request gets, and the number of the request.
    fn next_step(&self, protocol: WireProtocol, body: &Value) -> (usize, ModelStep) {
        let (offered, results) = (protocol.offered(body), protocol.results(body));
        let wanted = match self.plan.get(results.len()) {
            _ if offered.is_empty() => ModelStep::Words(SIDE_WORDS.to_owned()),
            Some(step) => step.clone(),
            None => ModelStep::Words(LAST_WORDS.to_owned()),
        };
        let not_offered = wanted.tool().filter(|tool| !offered.iter().any(|one| one == tool)).map(str::to_owned);
        let step = match &not_offered {
            Some(tool) => ModelStep::Words(format!("The tool {tool} is not offered.")),
            None => wanted,
        };
        let mut requests = self.lock();
        if requests.len() < REQUEST_LIMIT {
            requests.push(ModelRequest { offered, results, not_offered, body: body.clone() });
        }
        (requests.len(), step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn post(model: &ScriptedModel, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(model.address).unwrap();
        let body = body.to_string();
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    #[test]
    fn steps_follow_the_results_and_a_missing_tool_is_noted() {
        let plan =
            vec![ModelStep::call("shell", json!({ "command": "echo one" })), ModelStep::call("absent", json!({}))];
        let model = ScriptedModel::start(plan).unwrap();
        let tools = json!([{ "function": { "name": "shell" } }]);
        let ask = |results: &[&str], tools: &Value| {
            let messages: Vec<Value> = results.iter().map(|text| json!({ "role": "tool", "content": text })).collect();
            post(&model, "/v1/chat/completions", &json!({ "messages": messages, "tools": tools, "stream": true }))
        };
        assert!(ask(&[], &tools).contains("echo one"));
        assert!(ask(&[], &tools).contains("echo one"), "a repeated request gets the same step");
        assert!(ask(&["one"], &tools).contains("absent is not offered"));
        assert!(ask(&["one", "two"], &tools).contains(LAST_WORDS));
        assert!(ask(&[], &json!([])).contains(SIDE_WORDS));
        let requests = model.requests();
        assert_eq!(requests.len(), 5);
        assert_eq!(requests[2].not_offered.as_deref(), Some("absent"));
        assert_eq!(requests[3].results, ["one", "two"]);
        assert!(post(&model, "/v1/messages/count_tokens", &json!({})).contains("input_tokens"));
    }
}
