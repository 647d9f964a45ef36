//! The MCP server: its description, its tools, and the dispatch of calls.

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

/// The instructions of the server for the model.
const INSTRUCTIONS: &str = "Before you change files, call list_intents, then select_active_intent with the intent that \
your task belongs to. From then on change only files that match its owned_scope globs. If no intent fits, say so \
instead of working around it.";

/// One connection.
pub(super) struct McpServer {
    loaded: Arc<Loaded>,
    named: Option<PathBuf>,
    found: OnceLock<Workspace>,
}

impl McpServer {
    pub(super) fn new(loaded: Loaded, named: Option<PathBuf>) -> Self {
        Self { loaded: Arc::new(loaded), named, found: OnceLock::new() }
    }

    /// The workspace: `--root`, else that of the current folder if it has rules or intents, else the client's.
    async fn workspace(&self, peer: &Peer<RoleServer>) -> Workspace {
        if let Some(found) = self.found.get() {
            return found.clone();
        }
        let here = match &self.named {
            Some(root) => Workspace::at(&self.loaded, root),
            None => Workspace::of(&self.loaded),
        };
        let found = match self.named.is_some() || here.has_something() {
            true => here,
            false => roots::of_client(&self.loaded, peer).await.unwrap_or(here),
        };
        self.found.get_or_init(|| found).clone()
    }
}

impl ServerHandler for McpServer {
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
        let call = match tools::McpCall::read(&request.name, request.arguments.unwrap_or_default()) {
            Ok(Some(call)) => call,
            Ok(None) => return Err(ErrorData::invalid_params(format!("unknown tool `{}`", request.name), None)),
            Err(wrong) => {
                let workspace = self.workspace(&context.peer).await;
                return Ok(tool_error(format!("{wrong}{}", answer::open_intents(&request.name, &workspace))));
            }
        };
        let workspace = self.workspace(&context.peer).await;
        let loaded = Arc::clone(&self.loaded);
        // The validations of a plan node may run for minutes, and the connection must stay alive.
        let answered = tokio::task::spawn_blocking(move || answer::to(&call, &loaded, &workspace)).await;
        Ok(match answered {
            Ok(Ok(text)) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Ok(Err(failure)) => {
                let hints = failure.hints.iter().map(|hint| format!("Hint: {hint}"));
                tool_error(failure.messages.iter().cloned().chain(hints).collect::<Vec<_>>().join("\n"))
            }
            Err(_) => tool_error("the tool failed".to_owned()),
        })
    }
}

/// An error that the model sees.
fn tool_error(text: String) -> CallToolResponse {
    CallToolResult::error(vec![ContentBlock::text(text)]).into()
}
