//! The providers in a real extension host, against real sockets.

mod behaviour;
mod failures;
mod origins;
mod rig;
