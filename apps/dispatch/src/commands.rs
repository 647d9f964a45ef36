//! The commands, one file each.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod ext;
pub(crate) mod script_worker;
pub(crate) mod trust;
