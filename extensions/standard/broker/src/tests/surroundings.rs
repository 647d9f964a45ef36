//! What stands around the simulated nodes: people who write and repeat themselves, a model that thinks for a seeded time,
//! and channels that lose, delay and forget what they are given.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Chunk, Message, Role};
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::{Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError};
use dispatch_sim::{SeededRandom, SimClock};
use ext_event_ledger::contract::{
    AccountStatus, ChannelAdapter, OutboundAbilities, OutboundMessage, ReconcileOutcome, SendOutcome,
};
use futures_util::{StreamExt, stream};
use serde_json::Map;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A channel that can neither recognise a repetition nor say what became of a message.
pub(super) const PLAIN: &str = "plain";
/// A channel that can say what became of a message.
pub(super) const KNOWS: &str = "knows";
/// A channel whose receiver recognises a repetition.
pub(super) const IDEMPOTENT: &str = "idem";
/// How long a stopped node sleeps before it looks whether it goes on.
const FROZEN_LOOK_MS: u64 = 50;
/// Longer than any attempt to send may take.
const TOO_LONG_MS: u64 = 70_000;

/// One handing-over of a message to an adapter.
#[derive(Clone, Debug)]
pub(super) struct SendCall {
    pub(super) message: OutboundMessage,
    pub(super) channel: String,
    pub(super) has_arrived: bool,
    /// Whether the adapter, or its reconciling afterwards, ruled out that it arrived.
    pub(super) is_ruled_out: bool,
    in_flight: bool,
}

/// Everything outside the nodes.
pub(super) struct Surroundings {
    pub(super) clock: SimClock,
    pub(super) random: Arc<SeededRandom>,
    /// The events that a node acknowledged, by channel and external id, with the id that it said.
    pub(super) acknowledged: Mutex<BTreeMap<(String, String), String>>,
    pub(super) calls: Mutex<Vec<SendCall>>,
    /// The words of each request to the model.
    pub(super) requests: Mutex<Vec<Vec<String>>>,
    pub(super) pace_ms: u64,
}

impl Surroundings {
    pub(super) fn chance(&self, one_in: u64) -> bool {
        self.random.below(one_in) == 0
    }

    fn begin(&self, channel: &str, message: OutboundMessage) -> usize {
        let mut calls = self.calls.lock().unwrap();
        let channel = channel.to_owned();
        calls.push(SendCall { message, channel, has_arrived: false, is_ruled_out: false, in_flight: true });
        calls.len() - 1
    }

    fn change(&self, call: usize, change: impl FnOnce(&mut SendCall)) {
        change(&mut self.calls.lock().unwrap()[call]);
    }
}

/// A call is under way for as long as this is there, also if the node dies.
struct UnderWay {
    around: Arc<Surroundings>,
    call: usize,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.around.change(self.call, |call| call.in_flight = false);
    }
}

/// One node's way to a channel.
pub(super) struct SimAdapter {
    pub(super) channel: &'static str,
    pub(super) around: Arc<Surroundings>,
    pub(super) frozen: Arc<AtomicBool>,
}

impl SimAdapter {
    /// A stopped node sends nothing until it goes on.
    async fn pause(&self, at_most_ms: u64) {
        self.around.clock.sleep_ms(self.around.random.below(at_most_ms)).await;
        while self.frozen.load(Ordering::Relaxed) {
            self.around.clock.sleep_ms(FROZEN_LOOK_MS).await;
        }
    }

    async fn send_once(&self, message: OutboundMessage) -> SendOutcome {
        let call = self.around.begin(self.channel, message);
        let _under_way = UnderWay { around: Arc::clone(&self.around), call };
        self.pause(40).await;
        let unknown = || SendOutcome::Unknown { reason: "no answer".to_owned() };
        match self.around.random.below(12) {
            0 => {
                self.around.change(call, |call| call.is_ruled_out = true);
                return SendOutcome::NotSent { reason: "busy".to_owned(), again: true };
            }
            1 => return unknown(),
            2 => {
                self.around.change(call, |call| call.has_arrived = true);
                return unknown();
            }
            3 => {
                self.around.change(call, |call| call.has_arrived = true);
                self.around.clock.sleep_ms(TOO_LONG_MS).await;
            }
            _ => self.around.change(call, |call| call.has_arrived = true),
        }
        self.pause(40).await;
        SendOutcome::Sent { receipt: Map::new() }
    }

    async fn find_out(&self, message: OutboundMessage) -> ReconcileOutcome {
        self.pause(20).await;
        let mut calls = self.around.calls.lock().unwrap();
        let mut own: Vec<&mut SendCall> = calls.iter_mut().filter(|call| call.message.id == message.id).collect();
        if own.iter().any(|call| call.has_arrived) {
            return ReconcileOutcome::Sent { receipt: Map::new() };
        }
        // What is under way can still arrive.
        if own.iter().any(|call| call.in_flight) {
            return ReconcileOutcome::Unresolved;
        }
        own.iter_mut().for_each(|call| call.is_ruled_out = true);
        ReconcileOutcome::NotSent
    }
}

impl ChannelAdapter for SimAdapter {
    fn channel(&self) -> &str {
        self.channel
    }

    fn abilities(&self) -> OutboundAbilities {
        OutboundAbilities { sends: true, idempotent: self.channel == IDEMPOTENT, reconcile: self.channel == KNOWS }
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        Vec::new()
    }

    fn send(&self, message: OutboundMessage) -> BoxFuture<'_, SendOutcome> {
        Box::pin(self.send_once(message))
    }

    fn reconcile(&self, message: OutboundMessage) -> BoxFuture<'_, ReconcileOutcome> {
        Box::pin(self.find_out(message))
    }
}

/// A model that repeats the words it was not answered yet.
#[derive(Clone)]
pub(super) struct EchoModel(pub(super) Arc<Surroundings>);

impl Provider for EchoModel {
    fn stream(&self, request: ModelRequest, _cancel: CancelToken) -> ModelStream {
        let around = Arc::clone(&self.0);
        around.requests.lock().unwrap().push(request.messages.iter().flat_map(words).collect());
        let is_said = |message: &&Message| message.role == Role::User;
        let open = request.messages.iter().rev().skip_while(|message| !is_said(message)).take_while(is_said);
        let open = open.flat_map(words);
        let text = format!("re {}", open.collect::<Vec<_>>().join(" "));
        let calls = !request.tools.is_empty() && around.chance(3);
        let reply = async move {
            around.clock.sleep_ms(around.random.below(around.pace_ms)).await;
            stream::iter(said(text, calls))
        };
        stream::once(reply).flatten().boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(async { Ok(vec![ModelInfo { id: "seeded".to_owned(), context_tokens: None }]) })
    }
}

fn said(text: String, calls: bool) -> Vec<Result<ModelEvent, ProviderError>> {
    let text = ModelEvent::TextDelta { text };
    if !calls {
        return vec![Ok(text), Ok(ModelEvent::Finished { finish: Finish::Stop })];
    }
    let call = ModelEvent::ToolCall { id: String::new(), name: "web_search".to_owned(), arguments: "{}".to_owned() };
    vec![Ok(text), Ok(call), Ok(ModelEvent::Finished { finish: Finish::ToolCalls })]
}

/// The marks of events in a message.
fn words(message: &Message) -> Vec<String> {
    let texts = message.chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Text { text } => Some(text.as_str()),
        _ => None,
    });
    // What a thread said before may have gone to another session, or to none.
    let lines = texts.flat_map(str::lines).filter(|line| !line.contains(": hello "));
    lines.flat_map(marks).collect()
}

/// The marks of events in a text: `mark-N`.
pub(super) fn marks(text: &str) -> Vec<String> {
    text.split_whitespace().filter(|word| word.starts_with("mark-")).map(str::to_owned).collect()
}
