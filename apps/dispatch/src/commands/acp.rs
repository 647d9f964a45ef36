//! `dispatch acp`: an editor drives our own agent over the Agent Client Protocol.

use crate::app::Status;
use crate::extension_reload::{ExtensionReloader, told_on_stderr};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use crate::stopping::asked_to_stop;
use dispatch_contracts::extension::Extension;
use ext_transport_http::contract::TRANSPORT;
use std::sync::Arc;

/// Serves until standard input ends or the program is asked to stop.
pub(crate) fn run(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>, printer: &Printer) -> Result<Status, Failure> {
    let running = Running::start(loaded, extensions, Threads::Two)?;
    let outcome = running.service(&TRANSPORT).and_then(|transport| {
        running.block_on(async {
            let _reloading = ExtensionReloader::start(&running, loaded, told_on_stderr());
            let (input, output) = (Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout()));
            let served = tokio::select! {
                ended = transport.acp(input, output) => ended.map_err(Failure::from),
                () = asked_to_stop() => Ok(()),
            };
            transport.close().await;
            served
        })
    });
    running.shutdown();
    if outcome.is_err() {
        printer.warn("the connection to the editor broke");
    }
    outcome.map(|()| Status::Done)
}
