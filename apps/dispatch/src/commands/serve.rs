//! `dispatch serve`: serves our own agent to other programs until it is stopped.

use crate::app::Status;
use crate::extension_reload::{ExtensionReloader, told_on_stderr};
use crate::failure::Failure;
use crate::idle_memory::give_memory_back_when_idle;
use crate::printer::Printer;
use crate::running::Running;
use crate::settings::Loaded;
use crate::stopping::asked_to_stop;
use core::net::SocketAddr;
use dispatch_contracts::extension::Extension;
use dispatch_os::environment;
use dispatch_os::memory::keep_little;
use ext_transport_http::contract::{Reach, TRANSPORT, Transport, TransportError};
use ext_workspace_hooks::contract::{RUNS, Workers, workspace_of};
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct ServeRequest {
    /// The address to listen on; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4747", conflicts_with = "stdio")]
    listen: SocketAddr,

    /// Let other machines connect, if the address can be reached from there; they need the token too
    #[arg(long, conflicts_with = "stdio")]
    allow_remote: bool,

    /// Speak JSON lines on standard input and output instead of opening a port
    #[arg(long)]
    stdio: bool,
}

/// Serves until the program is asked to stop, or until standard input ends.
pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &ServeRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    keep_little();
    let running = Running::serve(loaded, extensions)?;
    let outcome = running.service(&TRANSPORT).and_then(|transport| {
        running.block_on(async {
            let _idle_memory = tokio::spawn(give_memory_back_when_idle());
            take_up_events(&running, loaded).await;
            let _reloading = ExtensionReloader::start(&running, loaded, told_on_stderr());
            let served = if request.stdio {
                over_streams(transport.as_ref()).await
            } else {
                over_network(transport.as_ref(), request, printer).await
            };
            transport.close().await;
            served
        })
    });
    running.shutdown();
    outcome.map(|()| Status::Done)
}

/// Starts what events ask for that were stored when a server died, or while none was there.
async fn take_up_events(running: &Running, loaded: &Loaded) {
    let Ok(runs) = running.service(&RUNS) else { return };
    let workspace = workspace_of(&loaded.start);
    let is_busy = runs.catch_up(&workspace).await;
    if let (Ok(true), Ok(program)) = (is_busy, environment::current_program()) {
        // The next event of the workspace starts a worker too.
        let _ = Workers::new(&loaded.dirs.state).ensure(&workspace, &program);
    }
}

async fn over_streams(transport: &dyn Transport) -> Result<(), Failure> {
    let (input, output) = (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()));
    tokio::select! {
        ended = transport.stdio(input, output) => ended.map_err(Failure::from),
        () = asked_to_stop() => Ok(()),
    }
}

async fn over_network(transport: &dyn Transport, request: &ServeRequest, printer: &Printer) -> Result<(), Failure> {
    let reach = if request.allow_remote { Reach::Network } else { Reach::Loopback };
    let bound = transport.listen(request.listen, reach).await?;
    printer.note(&format!("the token is in {}", bound.token_file.display()));
    printer.note(&format!("the token that answers questions is in {}", bound.approval_token_file.display()));
    printer.out(&format!("listening on http://{}", bound.addr));
    asked_to_stop().await;
    printer.note("closing");
    Ok(())
}

impl From<TransportError> for Failure {
    fn from(error: TransportError) -> Self {
        let failure = match &error {
            TransportError::NotLoopback { .. } => {
                Self::usage(error.to_string()).hint("--allow-remote lets other machines connect")
            }
            TransportError::Bind { .. } | TransportError::TokenFile { .. } | TransportError::InvalidToken { .. } => {
                Self::configuration(error.to_string())
            }
            TransportError::Stream(_) => Self::internal(error.to_string()),
        };
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
