//! Looks for model servers on this machine.

use crate::client::HttpClients;
use crate::endpoint::Endpoint;
use crate::local_server::LocalServer;
use crate::models;
use futures_util::future::join_all;
use serde_json::Value;
use std::time::Duration;

/// How long a server may take to list its models. A closed port answers at once.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
/// The largest list that is read while looking.
const MAX_PROBE_BYTES: usize = 1024 * 1024;

/// Where the well-known servers listen, in the order of preference.
const WELL_KNOWN: [(&str, u16); 4] = [("Ollama", 11434), ("LM Studio", 1234), ("llama.cpp", 8080), ("vLLM", 8000)];

/// The servers that run on this machine at their usual ports; those with a model come first. No
/// credential is sent. Needs a running tokio runtime with time and input/output.
pub async fn discover() -> Vec<LocalServer> {
    discover_at(&WELL_KNOWN).await
}

pub(crate) async fn discover_at(places: &[(&str, u16)]) -> Vec<LocalServer> {
    let clients = HttpClients::default();
    let probes = places.iter().map(|(name, port)| probe(&clients, name, *port));
    let mut found: Vec<LocalServer> = join_all(probes).await.into_iter().flatten().collect();
    found.sort_by_key(|server| server.models.is_empty());
    found
}

async fn probe(clients: &HttpClients, name: &str, port: u16) -> Option<LocalServer> {
    let base_url = format!("http://127.0.0.1:{port}/v1");
    let endpoint = Endpoint::at(&base_url).ok()?;
    let client = clients.for_endpoint(&endpoint).ok()?;
    let answer = client.get(endpoint.url("models")).timeout(PROBE_TIMEOUT).send().await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    let whole = crate::attempt::read_whole(answer, MAX_PROBE_BYTES).await.ok()?;
    let document: Value = serde_json::from_slice(&whole).ok()?;
    // Anything may listen on these ports: only a list of models counts, not any list.
    let is_list = document.get("data").or_else(|| document.get("models")).is_some();
    let models = models::read(&document).filter(|_| is_list)?;
    Some(LocalServer { name: name.to_owned(), base_url, models })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::provider::ModelInfo;
    use dispatch_support::{Reply, Script, ScriptedModel, Step};
    use serde_json::json;

    fn serving(models: Reply) -> ScriptedModel {
        ScriptedModel::start(Script { models, ..Script::default() })
    }

    #[tokio::test]
    async fn only_servers_with_a_list_of_models_are_found() {
        let empty = serving(Reply::json(200, &json!({ "data": [] })));
        let loaded = serving(Reply::json(200, &json!({ "data": [{ "id": "q", "max_model_len": 9 }] })));
        let other = serving(Reply::html(200, "<html>a web shop</html>"));
        let locked = serving(Reply::json(401, &json!({ "error": "who are you?" })));
        let slow = serving(Reply::steps([Step::UntilClosedMs(20_000)]));
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let places = [
            ("empty", empty.port()),
            ("other", other.port()),
            ("closed", closed),
            ("locked", locked.port()),
            ("slow", slow.port()),
            ("loaded", loaded.port()),
        ];
        let found = discover_at(&places).await;
        let model = ModelInfo { id: "q".to_owned(), context_tokens: Some(9) };
        let expected = [
            LocalServer { name: "loaded".to_owned(), base_url: loaded.base_url(), models: vec![model] },
            LocalServer { name: "empty".to_owned(), base_url: empty.base_url(), models: Vec::new() },
        ];
        assert_eq!(found, expected, "what has a model comes first");
        assert!(loaded.requests().iter().all(|request| request.header("authorization").is_none()));
    }
}
