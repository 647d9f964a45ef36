//! Who may ask: decisions about a request's head, as functions from values to values.

mod authority;
mod bearer;
mod origin;
mod rate;

pub(crate) use authority::{HostPolicy, check_host};
pub(crate) use bearer::{SUBPROTOCOL, shown_token};
pub(crate) use origin::{Caller, check_origin};
pub(crate) use rate::RateLimit;
