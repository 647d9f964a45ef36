//! `dispatch mcp`: serves intents and plans to an agent over MCP on standard input and output.

mod answer;
mod roots;
mod server;
mod tools;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use server::McpServer;
use std::path::PathBuf;

/// A longer message is dropped: a plan has at most a mebibyte, everything else is shorter.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct McpRequest {
    /// The workspace [default: that of the current folder, else the client's first root]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Serves until standard input ends.
pub(crate) fn run(loaded: Loaded, request: &McpRequest, printer: &Printer) -> Result<Status, Failure> {
    if let Some(root) = request.root.as_ref().filter(|root| !dispatch_os::files::is_dir(root)) {
        return Err(Failure::usage(format!("{} is not a folder", root.display())).hint("--root takes a workspace"));
    }
    let server = McpServer::new(loaded, request.root.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::internal(format!("cannot start the async runtime: {error}")))?;
    let served = runtime.block_on(serve(server));
    // A tool that still runs must not keep the process alive: its answer has no reader.
    runtime.shutdown_background();
    if let Err(why) = served {
        printer.warn(&format!("the client does not speak MCP: {why}"));
        return Ok(Status::No);
    }
    Ok(Status::Done)
}

async fn serve(server: McpServer) -> Result<(), String> {
    let (input, output) = rmcp::transport::io::stdio();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE_BYTES);
    match server.serve(transport).await {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string().chars().take(200).collect()),
    }
}
