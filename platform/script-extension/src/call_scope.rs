//! What one call of an extension brings along for the questions that its code asks.

use crate::fetch::OpenBodies;
use crate::limits::ABANDONED_GRACE;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::provider::ModelEvent;
use dispatch_contracts::tool::ToolContext;
use dispatch_os::time::{self, Instant};
use futures_channel::mpsc::UnboundedSender;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// One call. Clones of what it holds speak for the same call.
#[derive(Default)]
pub(crate) struct CallScope {
    /// The call of a tool that this is, if it is one.
    pub(crate) tool: Option<ToolContext>,
    /// Cancelled when the result is no longer wanted.
    pub(crate) cancel: CancelToken,
    /// Where the events of a model go, if this is the call of one.
    pub(crate) events: Option<UnboundedSender<ModelEvent>>,
    /// The answers of servers that are read piece by piece.
    pub(crate) bodies: OpenBodies,
    abandoned: OnceLock<Instant>,
    has_reached_out: AtomicBool,
}

impl CallScope {
    /// The call of a tool.
    pub(crate) fn of_tool(tool: ToolContext) -> Self {
        Self { cancel: tool.cancel.clone(), tool: Some(tool), ..Self::default() }
    }

    /// The call of a model, whose events go into a channel.
    pub(crate) fn of_model(cancel: CancelToken, events: UnboundedSender<ModelEvent>) -> Self {
        Self { cancel, events: Some(events), ..Self::default() }
    }

    /// The code asked the host for something or told it something.
    pub(crate) fn reach_out(&self) {
        self.has_reached_out.store(true, Ordering::Relaxed);
    }

    /// Whether it did, so that the call is more than what it returned.
    pub(crate) fn has_reached_out(&self) -> bool {
        self.has_reached_out.load(Ordering::Relaxed)
    }

    /// Nobody waits for the call any more.
    pub(crate) fn abandon(&self) {
        let _ = self.abandoned.set(time::now());
        self.cancel.cancel();
    }

    /// Whether nobody waits, and the code had time enough to notice.
    pub(crate) fn is_overdue(&self) -> bool {
        self.abandoned.get().is_some_and(|since| time::since(*since) > ABANDONED_GRACE)
    }
}
