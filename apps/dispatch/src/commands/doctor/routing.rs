//! The doctor's lines about routing: webhooks that cannot work or let anybody in, routing hooks that wait for approval,
//! messages that were set aside, and replies of which nobody knows whether they arrived.

use super::queue::has_database;
use super::{DoctorFinding, note, wrong};
use crate::plain::one_line;
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_broker::contract::{HookListing, HookState, ROUTES};
use ext_event_ledger::contract::{CHANNELS, ChannelProblem};
use ext_session_orchestrator::contract::{DispatchView, OUTBOX, ReplyFilter, ReplyState, ReplyView, SESSIONS};
use std::sync::Arc;

const CHANNEL: &str = "channel";
const ROUTE: &str = "route";
const QUEUE: &str = "queue";
const OUTBOX_CHECK: &str = "outbox";
/// How many messages or replies are named.
const NAMED: usize = 10;
/// What is shown of a reason.
const REASON_CHARS: usize = 160;

/// What is wrong with routing. A database that is not there is not made.
pub(super) fn findings(loaded: &Loaded, extensions: &[Arc<dyn Extension>]) -> Vec<DoctorFinding> {
    let extensions = extensions.to_vec();
    let running = if has_database(loaded) {
        Running::look_at_events(loaded, extensions)
    } else {
        Running::look_at_no_events(loaded, extensions)
    };
    // What does not start has a line of its own.
    let Ok(running) = running else { return Vec::new() };
    let found = running.block_on(all(&running));
    running.shutdown();
    found
}

async fn all(running: &Running) -> Vec<DoctorFinding> {
    let mut found = Vec::new();
    // A service that is not there belongs to an extension that is switched off, which has a line of its own.
    if let Ok(channels) = running.service(&CHANNELS) {
        for adapter in channels.all() {
            found.extend(adapter.problems().await.iter().map(|problem| of_channel(adapter.channel(), problem)));
        }
    }
    if let Ok(routes) = running.service(&ROUTES) {
        match routes.list().await {
            Ok(hooks) => found.extend(hooks.iter().filter_map(of_hook)),
            Err(error) => found.push(wrong(ROUTE, error.to_string(), "`dispatch route list` lists the routing hooks")),
        }
    }
    if let Ok(sessions) = running.service(&SESSIONS) {
        // A database that does not answer has a line of its own.
        let parked = sessions.parked().await.unwrap_or_default();
        found.extend(named(&parked, QUEUE, "dispatch queue retry ID", of_parked));
    }
    if let Ok(outbox) = running.service(&OUTBOX) {
        let filter = ReplyFilter { state: Some(ReplyState::Unknown), ..ReplyFilter::default() };
        let unknown = outbox.list(filter).await.unwrap_or_default();
        found.extend(named(&unknown, OUTBOX_CHECK, "dispatch outbox list --state unknown", of_unknown));
    }
    found
}

/// A line for each of the first ones, and one for how many there are beside.
fn named<T>(
    all: &[T],
    check: &'static str,
    command: &str,
    finding: impl Fn(&T) -> DoctorFinding,
) -> Vec<DoctorFinding> {
    let more = all.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| note(check, format!("and {more} more"), command));
    all.iter().take(NAMED).map(finding).chain(more).collect()
}

fn of_channel(channel: &str, found: &ChannelProblem) -> DoctorFinding {
    let detail = format!("{channel} `{}`: {}", found.account, found.problem);
    if found.may_be_meant { note(CHANNEL, detail, &found.fix) } else { wrong(CHANNEL, detail, &found.fix) }
}

fn of_hook(hook: &HookListing) -> Option<DoctorFinding> {
    let path = hook.path.display();
    match hook.state {
        HookState::Enabled | HookState::Disabled => None,
        HookState::Untrusted => Some(note(
            ROUTE,
            format!("the routing hook {path} waits for approval and sees no event"),
            format!("look at it, then `dispatch trust {path}`"),
        )),
        HookState::Broken => {
            let reason = one_line(hook.reason.as_deref().unwrap_or("it cannot run"), REASON_CHARS);
            let help = format!("correct it; `dispatch route test {path} --event ID` runs it");
            Some(wrong(ROUTE, format!("the routing hook {path}: {reason}"), help))
        }
    }
}

fn of_parked(view: &DispatchView) -> DoctorFinding {
    let reason = one_line(&view.reason, REASON_CHARS);
    let detail = format!("the message {} of session {} was set aside: {reason}", view.id, view.session);
    note(QUEUE, detail, format!("`dispatch queue retry {}` lets it wait again", view.id))
}

fn of_unknown(reply: &ReplyView) -> DoctorFinding {
    let reason = one_line(&reply.reason, REASON_CHARS);
    note(
        OUTBOX_CHECK,
        format!("the reply {} to {} may have arrived: {reason}", reply.id, reply.channel),
        format!("`dispatch outbox settle {} --as sent`, or `--as not-sent` to send it again", reply.id),
    )
}
