//! The tests of redaction, as a caller sees it.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::expect_used, reason = "a test that cannot be set up must fail")]

mod assignments;
mod false_positives;
mod json;
mod key_blocks;
mod large;
mod output;
mod properties;
mod samples;
mod streams;
mod table;
mod user_patterns;
