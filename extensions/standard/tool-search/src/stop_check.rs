//! Says when a search has to stop: the call was cancelled, or its time is up.

use dispatch_contracts::tool::ToolContext;
use dispatch_os::time::Deadline;

use crate::report::{MAX_TIME, StopReason};

/// Asked between files and within a file after each match.
pub(crate) struct StopCheck<'a> {
    context: &'a ToolContext,
    deadline: Deadline,
}

impl<'a> StopCheck<'a> {
    /// The time of the search begins now.
    pub(crate) fn start(context: &'a ToolContext) -> Self {
        Self { context, deadline: Deadline::after(MAX_TIME) }
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        if self.context.cancelled() {
            return Some(StopReason::Cancelled);
        }
        self.deadline.expired().then_some(StopReason::Time)
    }
}
