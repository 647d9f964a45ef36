//! The HTTP server: connections, who may use them, and what is answered.

mod admission;
mod answering;
mod answers;
mod chat;
mod commands;
mod connection;
mod contributed;
mod describe;
mod events;
mod incomplete_input;
mod input;
mod open_connections;
mod openapi;
mod operation;
mod raw;
mod read;
mod routes;
mod server;
mod socket;
mod stall;
mod write;

pub(crate) use routes::own_route_names;
pub(crate) use server::HttpServer;
