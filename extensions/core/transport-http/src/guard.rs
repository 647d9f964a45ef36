//! Decides who may send requests, from the head of a request.
//!
//! Pure.

mod authority;
mod bearer;
mod origin;
mod rate;
mod strangers;

pub(crate) use authority::{HostPolicy, check_host};
pub(crate) use bearer::{SUBPROTOCOL, shown_token};
pub(crate) use origin::{RequestOrigin, check_origin};
pub(crate) use rate::RateLimit;
pub(crate) use strangers::{ConnectionId, StrangerTable};
