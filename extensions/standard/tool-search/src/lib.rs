//! Tools that search file contents and names.
//!
//! Both walk the workspace as git sees it: without ignored and hidden files, and never through a link. Each
//! file that is read or named is reached from the workspace's own descriptor, so a link that is put in the
//! way while the walk runs leads nowhere.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod contents;
pub mod contract;
mod extension;
mod names;
mod report;
mod stop_check;
mod tool;
mod walk;

pub use extension::extension;
