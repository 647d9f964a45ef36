//! `dispatch lsp`: any editor that speaks the Language Server Protocol reports its saves and shows what became of them.

mod capabilities;
mod code_lens;
mod diagnostics;
mod frame;
mod hook_lines;
mod outbox;
mod report;
mod resolve;
mod server;
mod session;
mod wire;

#[cfg(test)]
mod tests;

pub use server::{Ending, Wiring, serve};
