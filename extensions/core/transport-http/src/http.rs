//! The HTTP server: connections, who may use them, and what is answered.

mod admission;
mod answers;
mod chat;
mod connection;
mod contributed;
mod describe;
mod events;
mod input;
mod openapi;
mod operation;
mod read;
mod routes;
mod server;
mod socket;
mod stall;
mod write;

pub(crate) use server::HttpServer;
