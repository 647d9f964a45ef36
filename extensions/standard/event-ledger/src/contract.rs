//! What others may use: events and how they are stored, persons, channels and what was done with an event.

mod channel;
mod event;
mod ledger;
mod person;
mod receipt;
mod reply;

pub use channel::{
    AccountEvents, AccountState, AccountStatus, CHANNELS, ChannelAdapter, ChannelError, ChannelProblem, Channels,
    DeliveryContext, Inbox, Intake, OutboundAbilities, OutboundMessage, ReconcileOutcome, SendOutcome,
};
pub use event::{Event, EventOrigin, EventStatus, NewEvent, PeerKind};
pub use ledger::{AdapterPosition, Appended, ChannelCount, EVENT_LEDGER, EventFilter, EventLedger, LedgerError};
pub use person::{Identity, Person};
pub use receipt::{DispatchLine, EventReceipt, EventReceipts, HookLine, SendLine};
pub use reply::KeptReply;
