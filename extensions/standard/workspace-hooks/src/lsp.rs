//! `dispatch lsp`: any editor that speaks the Language Server Protocol reports its saves and shows what became of them.

mod capabilities;
mod client_writer;
mod code_lens;
mod diagnostics;
mod document_events;
mod event_submission;
mod frame;
mod hook_lines;
mod open_documents;
mod person_messages;
mod protocol;
mod run_reports;
mod save_support;
mod server;
mod will_save;
mod wire;

#[cfg(test)]
mod tests;

pub use protocol::ClientExit;
pub use server::{LspPorts, serve};
pub(crate) use will_save::CONTENT_FILE;
