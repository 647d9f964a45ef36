//! The one end-to-end binary: the real executables, in a temporary home and project.

mod agent;
mod canary;
mod cli;
mod config;
mod doctor;
mod events;
mod explain;
mod ext;
mod init;
mod modules;
mod replay;
mod state;
mod trust;
