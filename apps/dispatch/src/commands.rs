//! The commands, one file each.

pub(crate) mod acp;
pub(crate) mod allow_once;
pub(crate) mod canary;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
mod decision_text;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod ext;
pub(crate) mod hook;
pub(crate) mod init;
pub(crate) mod intent;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod phase;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod schema;
pub(crate) mod script_worker;
pub(crate) mod serve;
pub(crate) mod state;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod why;
