//! The one end-to-end binary: the real executables, in a temporary home and project.

mod cli;
mod config;
mod doctor;
mod ext;
mod trust;
