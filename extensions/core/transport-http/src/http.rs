//! The server: connections, who may use them, and what is answered.

mod body;
mod chat;
mod connection;
mod door;
mod events;
mod extra;
mod openapi;
mod read;
mod routes;
mod server;
mod socket;
mod stall;
mod write;

pub(crate) use server::Server;
