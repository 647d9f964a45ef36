//! The server as the protocol sees it: what it is, which tools it has, and which answer belongs to which call.

use super::{answer, roots, tools};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// What a model is told about the server as a whole.
const INSTRUCTIONS: &str = "Before you change files, call list_intents, then select_active_intent with the intent that \
your task belongs to. From then on change only files that match its owned_scope globs. If no intent fits, say so \
instead of working around it.";

/// One connection.
pub(super) struct Server {
    loaded: Arc<Loaded>,
    named: Option<PathBuf>,
    found: OnceLock<Workspace>,
}

impl Server {
    pub(super) fn new(loaded: Loaded, named: Option<PathBuf>) -> Self {
        Self { loaded: Arc::new(loaded), named, found: OnceLock::new() }
    }

    /// The workspace: named, else that of the current folder if it has something for us, else the client's.
    async fn workspace(&self, peer: &Peer<RoleServer>) -> Workspace {
        if let Some(found) = self.found.get() {
            return found.clone();
        }
        let here = match &self.named {
            Some(root) => Workspace::at(root),
            None => Workspace::of(&self.loaded),
        };
        let found = match self.named.is_some() || here.has_something() {
            true => here,
            false => roots::of_client(peer).await.unwrap_or(here),
        };
        self.found.get_or_init(|| found).clone()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("dispatch", env!("CARGO_PKG_VERSION")).with_title("Dispatch");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = match tools::Call::read(&request.name, request.arguments.unwrap_or_default()) {
            Ok(Some(call)) => call,
            Ok(None) => return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None)),
            Err(wrong) => return Ok(told_off(wrong)),
        };
        let workspace = self.workspace(&context.peer).await;
        let loaded = Arc::clone(&self.loaded);
        // The checks of a plan node may run for minutes, and the connection must stay alive meanwhile.
        let answered = tokio::task::spawn_blocking(move || answer::to(&call, &loaded, &workspace)).await;
        Ok(match answered {
            Ok(Ok(text)) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Ok(Err(failure)) => {
                let hints = failure.hints.iter().map(|hint| format!("Hint: {hint}"));
                told_off(failure.messages.iter().cloned().chain(hints).collect::<Vec<_>>().join("\n"))
            }
            Err(_) => told_off("the tool failed".to_owned()),
        })
    }
}

/// An error that the model sees, so that it can do better.
fn told_off(text: String) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(text)]).into()
}
