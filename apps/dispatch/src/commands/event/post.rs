//! `dispatch event post`: a message of one's own, as an event of any channel.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::stopping::asked_to_stop;
use dispatch_os::files::read_stream_at_most;
use ext_event_ledger::contract::{
    Appended, EventLedger, EventReceipt, HookLine, KeptReply, LedgerError, NewEvent, PeerKind,
};
use ext_session_orchestrator::contract::{DispatchId, Outbox, ReplyFilter, ReplyState, ReplyView};
use serde_json::{Value, json};
use std::time::Duration;

/// The longest text that is read from standard input.
const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;
/// How often it is looked whether the event was dealt with.
const LOOK: Duration = Duration::from_millis(200);
/// After so many looks without a decision a person is told what may be missing.
const LOOKS_BEFORE_NOTE: u32 = 50;
/// The states in which a dispatch or a message still changes by itself.
const OPEN_STATES: [&str; 4] = ["pending", "running", "waiting", "sending"];

/// The outcomes of a hook that looked at the event and said what it wants.
const DECISIONS: [&str; 3] = ["fired", "passed", "hook_already_disabled"];

#[derive(Debug, clap::Args)]
pub(crate) struct PostRequest {
    /// What it says; `-` for standard input
    text: String,
    /// The kind of channel it counts as
    #[arg(long, value_name = "CHANNEL", default_value = "cli")]
    channel: String,
    /// Who sends it, by the channel's own name
    #[arg(long, value_name = "ID")]
    from: String,
    /// The conversation; default: the sender
    #[arg(long, value_name = "ID")]
    peer: Option<String>,
    /// Whether the conversation is with one peer or with many
    #[arg(long, value_name = "KIND", value_enum, default_value_t = PeerKindName::Dm)]
    peer_kind: PeerKindName,
    /// The thread in the conversation
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// The account of the channel
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Your own name for it; the same one again is the same event
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Wait until it was routed, answered and sent, and print the replies
    #[arg(long)]
    wait: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum PeerKindName {
    /// One peer
    Dm,
    /// Many
    Group,
}

impl From<PeerKindName> for PeerKind {
    fn from(name: PeerKindName) -> Self {
        match name {
            PeerKindName::Dm => Self::Dm,
            PeerKindName::Group => Self::Group,
        }
    }
}

impl PostRequest {
    /// Whether somebody waits for the answer.
    pub(super) const fn waits(&self) -> bool {
        self.wait
    }
}

pub(super) async fn run(
    ledger: &dyn EventLedger,
    outbox: Option<&dyn Outbox>,
    request: &PostRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let appended = ledger.append(event(request)?).await?;
    let replies = match outbox.filter(|_| request.wait) {
        Some(outbox) => Some(answers(ledger, outbox, &appended.event.id, printer).await?),
        None => None,
    };
    match Format::from(request.json) {
        Format::Json => {
            let mut said = json!({ "event": appended.event.id, "fresh": appended.fresh });
            if let Some(replies) = replies {
                said["replies"] = json!(replies);
            }
            printer.json(&said)?;
        }
        Format::Text => {
            printer.out(&told(&appended));
            replies.iter().flatten().for_each(|reply| printer.out(&reply.content));
        }
    }
    Ok(Status::Done)
}

/// Waits for the replies to an event: those that are kept for their readers, and those that reached nobody, of which a
/// person is told why.
async fn answers(
    ledger: &dyn EventLedger,
    outbox: &dyn Outbox,
    id: &str,
    printer: &Printer,
) -> Result<Vec<KeptReply>, Failure> {
    wait(ledger, id, printer).await?;
    let receipt = ledger.receipt(id).await?;
    if let Some(note) = not_routed(&receipt).or_else(|| not_decided(&receipt)) {
        printer.note(&note);
    }
    let mut replies = ledger.kept_replies(id).await?;
    let dispatches = receipt.dispatches.iter().map(|dispatch| DispatchId::new(dispatch.id.as_str())).collect();
    let mut written = outbox.list(ReplyFilter { dispatches: Some(dispatches), ..ReplyFilter::default() }).await?;
    written.reverse();
    written.retain(|reply| !replies.iter().any(|kept| kept.id == reply.id));
    for reply in written {
        if reply.state != ReplyState::Sent {
            printer.note(&format!("the reply {} is {}: {}", reply.id, reply.state.word(), reply.reason));
        }
        replies.push(shown(reply, id));
    }
    Ok(replies)
}

/// A reply that went to a channel, as those are printed that are kept.
fn shown(reply: ReplyView, event: &str) -> KeptReply {
    let field = |name: &str| reply.delivery.get(name).and_then(Value::as_str).map(str::to_owned);
    KeptReply {
        sequence: 0,
        peer_id: field("peerId").unwrap_or_default(),
        thread_id: field("threadId"),
        reply_to_id: Some(event.to_owned()),
        content_type: "text".to_owned(),
        timestamp: reply.at_ms,
        id: reply.id,
        content: reply.text,
    }
}

fn event(request: &PostRequest) -> Result<NewEvent, Failure> {
    let content = if request.text == "-" {
        let bytes = read_stream_at_most(std::io::stdin(), "standard input", MAX_TEXT_BYTES)?;
        String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not valid UTF-8"))?
    } else {
        request.text.clone()
    };
    Ok(NewEvent {
        channel: request.channel.clone(),
        account_id: request.account.clone().unwrap_or_default(),
        external_id: request.id.clone(),
        from: request.from.clone(),
        peer_kind: request.peer_kind.into(),
        peer_id: request.peer.clone(),
        thread_id: request.thread.clone(),
        content,
        ..NewEvent::default()
    })
}

/// Waits until nothing further follows from the event; ctrl-C ends the wait, not the event.
async fn wait(ledger: &dyn EventLedger, id: &str, printer: &Printer) -> Result<(), LedgerError> {
    let mut looks = 0_u32;
    loop {
        let receipt = ledger.receipt(id).await?;
        if is_over(&receipt) {
            return Ok(());
        }
        looks = looks.saturating_add(1);
        if looks == LOOKS_BEFORE_NOTE {
            printer.note(still_open(&receipt));
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = asked_to_stop() => return Ok(()),
        }
    }
}

/// What a person can look at while it takes long.
fn still_open(receipt: &EventReceipt) -> &'static str {
    match receipt.dispatches.is_empty() {
        true => "the event is stored and not routed yet; `dispatch route list` lists the hooks",
        false => {
            "the event was routed and the answer is not there yet; `dispatch approvals list` shows what waits for you"
        }
    }
}

fn is_over(receipt: &EventReceipt) -> bool {
    let is_open = |state: &str| OPEN_STATES.contains(&state);
    receipt.is_decided
        && !receipt.dispatches.iter().any(|dispatch| is_open(&dispatch.state))
        && !receipt.sends.iter().any(|send| is_open(&send.state))
}

/// Why the event reached no session; `None` if it did or nothing is decided.
fn not_routed(receipt: &EventReceipt) -> Option<String> {
    if !receipt.is_decided || !receipt.dispatches.is_empty() {
        return None;
    }
    Some(match receipt.hooks.as_slice() {
        [] => "no session: there is no routing hook; `dispatch route new NAME` makes one".to_owned(),
        hooks => format!("no session: no routing hook fired{}", hooks.iter().map(hook_line).collect::<String>()),
    })
}

/// The hooks that could not say anything about an event that others routed; `None` if there are none.
fn not_decided(receipt: &EventReceipt) -> Option<String> {
    let is_silent = |hook: &&HookLine| !DECISIONS.contains(&hook.outcome.as_str());
    let silent: String = receipt.hooks.iter().filter(is_silent).map(hook_line).collect();
    (!silent.is_empty()).then(|| format!("a routing hook decided nothing{silent}"))
}

fn hook_line(hook: &HookLine) -> String {
    match &hook.reason {
        Some(reason) => format!("\n  {}: {}: {reason}", hook.hook, hook.outcome),
        None => format!("\n  {}: {}", hook.hook, hook.outcome),
    }
}

fn told(appended: &Appended) -> String {
    let id = &appended.event.id;
    if appended.fresh { format!("stored {id}") } else { format!("{id} was stored before") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_a_session_is_explained() {
        let hook = |outcome: &str, reason: Option<&str>| HookLine {
            hook: "triage".to_owned(),
            outcome: outcome.to_owned(),
            reason: reason.map(str::to_owned),
            ms: 1,
            at_ms: None,
        };
        let receipt = EventReceipt { is_decided: true, ..EventReceipt::default() };
        assert!(not_routed(&receipt).is_some_and(|note| note.contains("route new")));
        let hooks = vec![hook("untrusted", Some("it is not approved")), hook("passed", None)];
        let note = not_routed(&EventReceipt { hooks, ..receipt.clone() }).unwrap();
        assert_eq!(
            note.lines().collect::<Vec<_>>(),
            ["no session: no routing hook fired", "  triage: untrusted: it is not approved", "  triage: passed"]
        );
        let hooks = vec![hook("fired", None), hook("invalid", Some("routing: no"))];
        let note = not_decided(&EventReceipt { hooks, ..receipt.clone() }).unwrap();
        assert_eq!(note, "a routing hook decided nothing\n  triage: invalid: routing: no");
        assert_eq!(not_decided(&EventReceipt { hooks: vec![hook("passed", None)], ..receipt.clone() }), None);
        assert_eq!(not_routed(&EventReceipt { is_decided: false, ..receipt }), None);
    }
}
